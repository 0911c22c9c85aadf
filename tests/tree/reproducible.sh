#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two builds in different folders install equal files.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tenon-builds.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL TENON_PLUGIN_PATH LD_LIBRARY_PATH
for d in one a/longer/path; do
    mkdir -p "$tmp/$d" && cd "$tmp/$d" || exit 99
    { "$top_srcdir/configure" -q CC="$CC" CFLAGS="-O1 -g" --prefix=/usr && "${MAKE:-make}" -s -j2 &&
        "${MAKE:-make}" -s install DESTDIR="$tmp/$d/root"; } >"$tmp/log" 2>&1 || { tail "$tmp/log"; exit 1; }
done
diff -r "$tmp/one/root" "$tmp/a/longer/path/root"
