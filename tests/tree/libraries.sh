#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copies into PREFIX/lib the libraries that Tenon needs and that a bare system does not have.
# Usage: libraries.sh PREFIX
set -e
prefix=$1
find "$prefix" \( -name '*.so*' -o -path '*/bin/*' \) -type f | while read -r f; do
    LD_LIBRARY_PATH=$prefix/lib ldd "$f" 2>/dev/null | sed -n 's/^[[:space:]]*\([^ ]*\) => \(\/[^ ]*\) .*/\1 \2/p'
done | LC_ALL=C sort -u | while read -r name path; do
    case $name in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux* | libgcc_s.so.*) ;;
    libtenon*) ;;
    *) cp -L "$path" "$prefix/lib/$name" ;;
    esac
done
