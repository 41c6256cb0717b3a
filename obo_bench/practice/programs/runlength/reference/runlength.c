/* runlength: run-length codec, standard input to standard output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 1000000L

static char *output;
static size_t length, room;

static void put(int byte, long times)
{
    if (length + times > room) {
        room = (length + times) * 2;
        output = realloc(output, room);
        if (!output) {
            fputs("runlength: out of memory\n", stderr);
            exit(3);
        }
    }
    memset(output + length, byte, times);
    length += times;
}

static int special(int byte)
{
    return byte == '\\' || (byte >= '0' && byte <= '9');
}

static void put_run(int byte, long times)
{
    char number[16];
    int i;

    if (times > 1) {
        sprintf(number, "%ld", times);
        for (i = 0; number[i]; i++)
            put(number[i], 1);
    }
    if (special(byte))
        put('\\', 1);
    put(byte, 1);
}

static int encode(void)
{
    int last = getchar(), byte;
    long times = 1;

    if (last == EOF)
        return 1;
    while ((byte = getchar()) != EOF) {
        if (byte == last && times < LONGEST) {
            times++;
            continue;
        }
        put_run(last, times);
        last = byte;
        times = 1;
    }
    put_run(last, times);
    return 1;
}

static int decode(void)
{
    int byte;
    long times;

    while ((byte = getchar()) != EOF) {
        times = 0;
        if (byte == '0')
            return 0;
        while (byte >= '0' && byte <= '9') {
            times = times * 10 + (byte - '0');
            if (times > LONGEST)
                return 0;
            byte = getchar();
        }
        if (times == 1)
            return 0;
        if (byte == '\\' && !special(byte = getchar()))
            return 0;
        if (byte == EOF)
            return 0;
        put(byte, times ? times : 1);
    }
    return 1;
}

int main(int argc, char **argv)
{
    int encoding = argc == 2 && strcmp(argv[1], "encode") == 0;

    if (!encoding && !(argc == 2 && strcmp(argv[1], "decode") == 0)) {
        fputs("usage: executable encode|decode\n", stderr);
        return 2;
    }
    if (!(encoding ? encode() : decode())) {
        fputs("runlength: malformed input\n", stderr);
        return 1;
    }
    fwrite(output, 1, length, stdout);
    return 0;
}
