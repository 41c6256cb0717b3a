#!/bin/sh
set -e
cc -o executable encode.c
