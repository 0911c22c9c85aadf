#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The list `provides` of a manifest, read from source files: what a sed expression prints of each. A file of which it prints nothing
# is an error, for its passes or operators would be compiled but never found.
# Usage: provides.sh SRCDIR EXPRESSION FILE...
src=$1 expression=$2
shift 2
[ $# -gt 0 ] || { echo "provides.sh: no files to read names from" >&2; exit 1; }
echo 'provides ='
for f; do
    lines=$(${SED:-sed} -n "$expression" "$src/$f") || exit 1
    [ -n "$lines" ] || { echo "$f: no name is found in it for the manifest: nothing in it matches $expression" >&2; exit 1; }
    printf '%s\n' "$lines"
done
