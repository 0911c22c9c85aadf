# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# The INI file puts the pass before the library dispatch of two targets; without the file nothing changes.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
fail() { echo "pipeline.sh: $*"; cat "$out/log"; exit 1; }
for t in cpu null; do
    "$TENON" show pipeline $t --config swish.ini >"$out/log" 2>&1 || fail "no pipeline of $t"
    grep -n 'FindSwish' "$out/log" | grep -q 'swish.ini' || fail "$t: the pass stands there, by swish.ini"
    [ "$(grep -n FindSwish "$out/log" | cut -d: -f1)" -lt "$(grep -n LegalizeOps "$out/log" | cut -d: -f1)" ] || fail "$t: it stands first"
    "$TENON" show pipeline $t --plugin-path "$BUILD" >"$out/log" 2>&1 || fail "no pipeline of $t"
    grep -q FindSwish "$out/log" && fail "$t: it stands there without the file"
    "$TENON" diff "$here/before.py" --exec -t $t --config swish.ini >"$out/log" 2>&1 || fail "$t: other results"
    grep -q '^1 functions run, [1-9][0-9]* elements compared, .* 0 differ' "$out/log" || fail "$t: nothing was compared"
    "$TENON" opt "$here/before.py" -t $t -p @library_dispatch --config swish.ini -o "$out/after.py" >"$out/log" 2>&1 || fail "$t: the phase"
    grep -c 'R.nn.silu' "$out/after.py" >"$out/log"
    grep -q '^3$' "$out/log" || fail "$t: not three operators at the end of the phase"
done
"$TENON" show pipeline null --config swish.ini --set "pipeline.null.insert.swish=" >"$out/log" 2>&1
grep -q FindSwish "$out/log" && fail "an empty insert removes it"
echo "pipeline.sh: before the libraries of two targets, by the file alone"
