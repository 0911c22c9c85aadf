#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of operators has a section for each operator, with what it is and gives, and every argument and attribute
# says what it is for.
page=$(mktemp) || exit 99
trap 'rm -f "$page" "$page.ops" "$page.sections"' EXIT
"$TENON" show ops >"$page" && "$TENON" list ops >"$page.ops" || exit 1
status=0
sed -n 's/^relax\.\([^ ]*\).*/\1/p' "$page.ops" | LC_ALL=C sort >"$page.ops.sorted"
mv "$page.ops.sorted" "$page.ops"
sed -n -e '/^## Structural/d' -e 's/^## //p' -e 's/^| `relax\.\([^`]*\)` |.*/\1/p' "$page" | LC_ALL=C sort >"$page.sections"
[ "$(wc -l <"$page.ops")" -ge 200 ] || { echo "less than 200 operators are listed"; status=1; }
diff "$page.ops" "$page.sections" || { echo "the page's sections and rows (>) are not the operators (<)"; status=1; }
awk '/^## Structural/ { exit bad }
     /^## / { if (op != "" && !result) { print op ": no result"; bad = 1 } op = $2; result = 0; head = NR }
     head && NR == head + 2 && !/[a-z]/ { print op ": not described"; bad = 1 }
     /^Result: ./ { result = 1 }
     /^\| `.*\|  *\|$/ { print op ": nothing is said of " $0; bad = 1 }
     END { if (!result) { print op ": no result"; bad = 1 } exit bad }' "$page" || status=1
exit $status
