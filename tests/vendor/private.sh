#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make check-vendor: a copy of the sources is built and installed to a prefix of its own and deleted, and the newcomer
# (newcomer.sh) works with what is left; so do the plugins of this folder (plugins.sh).
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tenon-vendor.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL TENON_PLUGIN_PATH LD_LIBRARY_PATH
mkdir "$tmp/source" && tar -C "$top_srcdir" --exclude=./build --exclude=./.git --exclude='./*-build' -cf - . | tar -C "$tmp/source" -xf - || exit 99
cp "$top_srcdir/tests/vendor/newcomer.sh" "$top_srcdir/tests/vendor/field.sh" "$top_srcdir/tests/vendor/tutorial.py" "$top_srcdir/docs/first-plugin.md" "$tmp/"
cp -R "$top_srcdir/tests/vendor" "$tmp/vendor"
cd "$tmp" || exit 99
# as the tutorial says
CC="$CC" CFLAGS="-O1" "${PYTHON:-python3}" tutorial.py first-plugin.md --install "$tmp/source" "$tmp" || exit 1
rm -rf source
grep -rl "$tmp/source" tenon && { echo "private.sh: these files name the deleted sources"; exit 1; }
sh field.sh "$tmp/tenon" || [ $? = 77 ] || exit 1
sh newcomer.sh "$tmp/tenon" || exit 1
sh vendor/plugins.sh "$tmp/tenon" || exit 1
