#!/bin/sh
set -e
cp figures executable
chmod 755 executable
