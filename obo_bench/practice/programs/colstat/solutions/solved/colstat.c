/* One pass over the lines; nothing is kept but the running figures. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *column;
static int separator = -1;      /* -1: white space */
static long position = -1;      /* 0-based */

static void stop(int status, const char *why)
{
    fprintf(stderr, "colstat: %s\n", why);
    exit(status);
}

static int is_number(const char *s)
{
    if (*s == '\0')
        return 0;
    while (isdigit((unsigned char)*s))
        s++;
    return *s == '\0';
}

/* Cuts the next field off *line, trimmed; NULL when there is none. */
static char *field(char **line)
{
    char *start = *line, *end;

    if (start == NULL)
        return NULL;
    if (separator < 0) {
        while (isspace((unsigned char)*start))
            start++;
        if (*start == '\0')
            return NULL;
        for (end = start; *end && !isspace((unsigned char)*end); end++)
            ;
        *line = *end ? end + 1 : NULL;
        *end = '\0';
        return start;
    }
    end = strchr(start, separator);
    *line = end ? end + 1 : NULL;
    if (end == NULL)
        end = start + strlen(start);
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    while (isspace((unsigned char)*start))
        start++;
    return start;
}

static void read_header(char *line)
{
    long i;
    char *name;

    if (is_number(column))
        return;
    for (i = 0; (name = field(&line)) != NULL; i++)
        if (strcmp(name, column) == 0) {
            position = i;
            return;
        }
    stop(1, "no such column name");
}

static long long value_of(char *line)
{
    long i;
    char *text = NULL, *digits, *end;
    long long value;

    for (i = 0; i <= position; i++)
        if ((text = field(&line)) == NULL)
            stop(1, "a row is too short");
    digits = text + (*text == '+' || *text == '-');
    errno = 0;
    value = strtoll(text, &end, 10);
    if (!is_number(digits) || *end || errno)
        stop(1, "a value is not an integer");
    return value;
}

int main(int argc, char **argv)
{
    static const char *commands[] = {"count", "sum", "min", "max", "mean"};
    long long value, sum = 0, least = 0, greatest = 0;
    long rows = 0;
    int command, header = 0, i;
    char *line = NULL;
    size_t room = 0;

    for (command = 0; command < 5; command++)
        if (argc > 1 && strcmp(argv[1], commands[command]) == 0)
            break;
    if (command == 5)
        stop(2, "unknown command");
    for (i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-H") == 0)
            header = 1;
        else if (strcmp(argv[i], "-d") == 0 && i + 1 < argc && strlen(argv[i + 1]) == 1)
            separator = argv[++i][0];
        else if (column == NULL && strcmp(argv[i], "-d") != 0)
            column = argv[i];
        else
            stop(2, "bad arguments");
    }
    if (column == NULL || strcmp(column, "0") == 0 || (!header && !is_number(column)))
        stop(2, "name one column");
    if (is_number(column))
        position = atol(column) - 1;
    while (getline(&line, &room, stdin) > 0) {
        if (line[strspn(line, " \t\r\n\v\f")] == '\0')
            continue;
        if (header) {
            read_header(line);
            header = 0;
            continue;
        }
        value = value_of(line);
        if (rows == 0 || value < least)
            least = value;
        if (rows == 0 || value > greatest)
            greatest = value;
        sum += value;
        rows++;
    }
    if (position < 0)
        stop(1, "no such column name");
    if (rows == 0 && command >= 2)
        stop(1, "there are no rows");
    if (command == 4)
        printf("%.2f\n", (double)sum / rows);
    else
        printf("%lld\n", command == 0 ? rows : command == 1 ? sum : command == 2 ? least : greatest);
    return 0;
}
