#include <stdio.h>

int main(void)
{
    return puts("a bracket is missing here";
}
