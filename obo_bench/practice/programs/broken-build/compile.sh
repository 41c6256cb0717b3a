#!/bin/sh
# A build that breaks as real ones do: the compiler refuses the program.
set -e
cc -o executable main.c
