/* Encodes runs, without escapes; cannot decode. */
#include <stdio.h>
#include <string.h>

int main(int argc, char *argv[])
{
    int c, next, n = 1;

    if (argc != 2 || strcmp(argv[1], "encode") != 0)
        return 2;
    for (c = getchar(); c != EOF; c = next) {
        next = getchar();
        if (next == c) {
            n++;
            continue;
        }
        if (n > 1)
            printf("%d", n);
        putchar(c);
        n = 1;
    }
    return 0;
}
