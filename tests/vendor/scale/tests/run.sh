# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# The function runs by name and is verified by its meaning; the site's factor reaches init; a wrong one is told of.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
fail() { echo "run.sh: $*"; cat "$out/log"; exit 1; }
same="$TENON diff $here/model.py --exec --config scale.ini"
"$TENON" run "$here/model.py" -t cpu --verify --config scale.ini >"$out/log" 2>&1 || fail "does not run, verified"
$same -t cpu >"$out/log" 2>&1 || fail "other results than the meaning's"
grep -q '^1 functions run, 6 elements compared, .* 0 differ' "$out/log" || fail "nothing was compared"
$same -t null >"$out/log" 2>&1 || fail "other results on another device"
$same -t cpu --set plugin.scale_rt.factor=3 >"$out/log" 2>&1 && fail "the setting has no effect"
$same -t cpu --set plugin.scale_rt.factor=much >"$out/log" 2>&1 && fail "a wrong setting is taken"
grep -q "factor is 'much'" "$out/log" && grep -q 'hint: give a number' "$out/log" || fail "not said what is wrong"
"$TENON" list packed --config scale.ini >"$out/log" 2>&1
grep -q '^scale.by  *scale_rt$' "$out/log" || fail "not listed"
"$TENON" list plugins --config scale.ini --set plugin.scale_rt.factr=3 >"$out/log" 2>&1
grep -q "did you mean 'factor'" "$out/log" || fail "a misspelt setting is not told of"
echo "run.sh: an external function with a meaning, and a setting"
