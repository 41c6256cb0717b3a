/* The whole input is read first; a dry pass of the decoder checks it before a second one prints. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RUN = 1000000 };

typedef struct {
    unsigned char *data;
    size_t size;
} Buffer;

static Buffer slurp(FILE *stream)
{
    Buffer b = {NULL, 0};
    size_t capacity = 0;
    int c;
    while ((c = fgetc(stream)) != EOF) {
        if (b.size == capacity) {
            capacity = capacity ? 2 * capacity : 4096;
            b.data = realloc(b.data, capacity);
            if (b.data == NULL) exit(3);
        }
        b.data[b.size++] = (unsigned char)c;
    }
    return b;
}

static bool needs_escape(unsigned char c)
{
    return c == '\\' || isdigit(c);
}

static void encode(Buffer in)
{
    size_t i = 0;
    while (i < in.size) {
        size_t j = i;
        while (j < in.size && j - i < MAX_RUN && in.data[j] == in.data[i]) j++;
        if (j - i >= 2) printf("%lu", (unsigned long)(j - i));
        if (needs_escape(in.data[i])) putchar('\\');
        putchar(in.data[i]);
        i = j;
    }
}

/* Decodes one item at *at; moves *at behind it.  False if the item is malformed. */
static bool item(Buffer in, size_t *at, long *count, unsigned char *value)
{
    size_t i = *at, first = i;
    *count = 0;
    for (; i < in.size && isdigit(in.data[i]); i++) {
        *count = *count * 10 + in.data[i] - '0';
        if (*count > MAX_RUN) return false;
    }
    if (i > first && (in.data[first] == '0' || *count < 2)) return false;
    if (i == first) *count = 1;
    if (i < in.size && in.data[i] == '\\') {
        i++;
        if (i == in.size || !needs_escape(in.data[i])) return false;
    }
    if (i == in.size) return false;
    *value = in.data[i];
    *at = i + 1;
    return true;
}

static bool decode(Buffer in, bool print)
{
    size_t at = 0;
    long count;
    unsigned char value;
    while (at < in.size) {
        if (!item(in, &at, &count, &value)) return false;
        while (print && count-- > 0) putchar(value);
    }
    return true;
}

int main(int argc, char *argv[])
{
    const char *command = argc == 2 ? argv[1] : "";
    if (strcmp(command, "encode") == 0) {
        encode(slurp(stdin));
    } else if (strcmp(command, "decode") == 0) {
        Buffer in = slurp(stdin);
        if (!decode(in, false)) {
            fprintf(stderr, "decode: the input is malformed\n");
            return 1;
        }
        decode(in, true);
    } else {
        fprintf(stderr, "usage: %s encode|decode\n", argv[0]);
        return 2;
    }
    return 0;
}
