#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/operators.md is what the operators' schemas say now. BLESS=1 writes it anew.
page="$top_srcdir/docs/operators.md"
made=tests/oracle/operators.md.made
mkdir -p tests/oracle
"$TENON" show ops >"$made" || exit 1
if [ "$BLESS" = 1 ]; then
    cp "$made" "$page"
fi
if cmp -s "$made" "$page"; then
    rm -f "$made"
    exit 0
fi
diff "$page" "$made" | head -n 40
echo "FAIL docs/operators.md is not what the schemas say; write it anew: tenon show ops > docs/operators.md"
exit 1
