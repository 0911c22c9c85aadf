#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The reference of the public headers is made without a warning, and holds what the libraries export.
command -v doxygen >/dev/null || { echo "doxygen is not installed"; exit 77; }
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tenon-doxygen.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
sed "s|^OUTPUT_DIRECTORY .*|OUTPUT_DIRECTORY = $tmp|" "$top_builddir/docs/Doxyfile" >"$tmp/Doxyfile"
doxygen "$tmp/Doxyfile" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
[ ! -s "$tmp/log" ] || { cat "$tmp/log"; exit 1; }
words() { grep -oh '\<tn[bklr]*_[a-z0-9_]*\>' "$@" | LC_ALL=C sort -u; }
words "$tmp"/html/*.html >"$tmp/have"
cat "$top_srcdir"/include/tenon/*/*.h | words >"$tmp/public"
for map in core/base/libtenon-base core/libtenon kit/libtenon-kit runtime/libtenon-rt lm/libtenon-lm; do cat "$top_srcdir/$map.map"; done |
    words | LC_ALL=C comm -12 - "$tmp/public" | LC_ALL=C comm -23 - "$tmp/have" >"$tmp/lacks"
[ ! -s "$tmp/lacks" ] || { echo "not in the reference:"; cat "$tmp/lacks"; exit 1; }
echo "$(wc -l <"$tmp/have") names"
