#!/bin/sh
set -e
cp counts executable
chmod 755 executable
