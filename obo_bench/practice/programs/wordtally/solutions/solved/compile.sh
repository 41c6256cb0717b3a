#!/bin/sh
# Nothing to compile: the program is a Python script.
set -e
cp src/wordtally executable
chmod 755 executable
