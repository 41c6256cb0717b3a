/* wordtally: line, word and byte counts of standard input, or its most frequent words. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
    char *text;
    size_t length;
    long count;
};

static char *text;
static size_t size;
static struct word *words;
static size_t used;

static void *grow(void *block, size_t bytes)
{
    block = realloc(block, bytes);
    if (!block) {
        fputs("wordtally: out of memory\n", stderr);
        exit(3);
    }
    return block;
}

static void read_all(void)
{
    size_t room = 65536, got;

    text = grow(NULL, room);
    while ((got = fread(text + size, 1, room - size, stdin)) > 0) {
        size += got;
        if (size == room)
            text = grow(text, room *= 2);
    }
}

static void split(void)
{
    size_t at = 0, start, room = 0;

    while (at < size) {
        while (at < size && isspace((unsigned char)text[at]))
            at++;
        start = at;
        while (at < size && !isspace((unsigned char)text[at]))
            at++;
        if (at == start)
            break;
        if (used == room)
            words = grow(words, (room = room ? room * 2 : 256) * sizeof *words);
        words[used].text = text + start;
        words[used].length = at - start;
        words[used++].count = 1;
    }
}

static int by_bytes(const void *left, const void *right)
{
    const struct word *a = left, *b = right;
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->text, b->text, shorter);

    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_count(const void *left, const void *right)
{
    const struct word *a = left, *b = right;

    if (a->count != b->count)
        return a->count < b->count ? 1 : -1;
    return by_bytes(left, right);
}

static void merge_equal(void)
{
    size_t i, kept = 0;

    qsort(words, used, sizeof *words, by_bytes);
    for (i = 0; i < used; i++)
        if (kept && by_bytes(&words[kept - 1], &words[i]) == 0)
            words[kept - 1].count++;
        else
            words[kept++] = words[i];
    used = kept;
}

static int usage(void)
{
    fputs("usage: executable [-t N [-i]]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    long top = -1, lines = 0;
    int fold = 0, i;
    size_t at;
    char *end;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-i") == 0) {
            fold = 1;
        } else if (strcmp(argv[i], "-t") == 0 && i + 1 < argc && isdigit((unsigned char)argv[i + 1][0])) {
            top = strtol(argv[++i], &end, 10);
            if (*end)
                return usage();
        } else {
            return usage();
        }
    }
    read_all();
    for (at = 0; at < size; at++) {
        lines += text[at] == '\n';
        if (fold && text[at] >= 'A' && text[at] <= 'Z')
            text[at] += 'a' - 'A';
    }
    split();
    if (top < 0) {
        printf("%ld %zu %zu\n", lines, used, size);
        return 0;
    }
    merge_equal();
    qsort(words, used, sizeof *words, by_count);
    for (at = 0; at < used && (long)at < top; at++)
        printf("%ld %.*s\n", words[at].count, (int)words[at].length, words[at].text);
    return 0;
}
