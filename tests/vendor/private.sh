#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make check-vendor: a copy of the sources is built and installed to a prefix of its own and deleted, and the newcomer
# (newcomer.sh) works with what is left; so does one who uses autotools (tenon.m4).
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tenon-vendor.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL TENON_PLUGIN_PATH LD_LIBRARY_PATH
mkdir "$tmp/source" && tar -C "$top_srcdir" --exclude=./build --exclude=./.git --exclude='./*-build' -cf - . | tar -C "$tmp/source" -xf - || exit 99
cp "$top_srcdir/tests/vendor/newcomer.sh" "$tmp/"
mkdir "$tmp/source/build" && cd "$tmp/source/build" || exit 99
{ ../configure -q CC="$CC" CFLAGS="-O1" --prefix="$tmp/prefix" && "${MAKE:-make}" -s -j2 && "${MAKE:-make}" -s install; } >"$tmp/log" 2>&1 ||
    { tail -n 30 "$tmp/log"; exit 1; }
cd "$tmp" && rm -rf source
grep -rl "$tmp/source" prefix && { echo "private.sh: these files name the deleted sources"; exit 1; }
sh newcomer.sh "$tmp/prefix" || exit 1
