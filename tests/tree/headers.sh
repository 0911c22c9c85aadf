#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public header is installed, and compiles alone as C11 and C++17 without a warning (-Wpedantic), with nothing but the
# installed headers in reach.
status=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tenon-headers.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$top_srcdir" || exit 99
list=$top_builddir/tests/tree/headers.list
for h in $(find include/tenon -name '*.h' -o -name '*.def' | LC_ALL=C sort); do
    grep -qx "$h" "$list" || { echo "$h: not in include/local.mk, so it is not installed"; status=1; }
done
for h in $(sort "$list" | uniq -d); do echo "$h: listed twice"; status=1; done
for h in $(cat "$list"); do
    [ -f "$h" ] || [ -f "$top_builddir/$h" ] || { echo "$h: listed, but there is no such file"; status=1; }
    mkdir -p "$tmp/$(dirname "$h")" && cp "$h" "$tmp/$h"
done
flags="-Wall -Wextra -Wundef -Werror -fsyntax-only -I$tmp/include"
for h in $(grep '\.h$' "$list"); do
    name=${h#include/}
    printf '#include "%s"\n#include "%s"\n' "$name" "$name" > "$tmp/one.c"
    $CC -std=c11 -Wpedantic $flags "$tmp/one.c" || { echo "$h: not clean C11"; status=1; }
    if [ "$CXX17" != no ]; then
        cp "$tmp/one.c" "$tmp/one.cc"
        "$CXX17" -std=c++17 -Wpedantic $flags "$tmp/one.cc" || { echo "$h: not clean C++17"; status=1; }
    fi
done
exit $status
