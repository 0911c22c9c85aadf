#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a folder whose name has a blank, configure says at once that nothing can be built there.
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/a b" && cd "$tmp/a b" || exit 99
"$top_srcdir/configure" >"$tmp/log" 2>&1 && { echo "blank.sh: configure takes it"; exit 1; }
grep -q "cannot be built in '$tmp/a b': .*move it" "$tmp/log" && ! grep -q 'checking for inih' "$tmp/log" || { cat "$tmp/log"; exit 1; }
