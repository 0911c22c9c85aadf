# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# What the pass gives to the library, and that results are the interpreter's.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
fail() { echo "dispatch.sh: $*"; cat "$out/log"; exit 1; }
site="--config onelib.ini --set pipeline.cpu.library_dispatch=LibraryDispatch"
"$TENON" opt "$here/model.py" -t cpu -p LibraryDispatch --verify --config onelib.ini -o "$out/after.py" >"$out/log" 2>&1 || fail "the pass"
grep -v external_mods "$out/after.py" >"$out/log"
[ "$(grep -c 'R.call_dps_packed(' "$out/log")" = 2 ] || fail "neighbours are not one function"
[ "$(grep -c 'R.matmul(' "$out/log")" = 5 ] || fail "a batched product, or one whose sum is float64, is not left to the target"
grep 'external_mods' "$out/after.py" | grep -q '"constants": \[' || { cp "$out/after.py" "$out/log"; fail "constants are not told of"; }
"$TENON" diff "$here/model.py" --exec -t cpu $site >"$out/log" 2>&1 || fail "other results"
grep -q '^1 functions run, [1-9][0-9]* elements compared, .* 0 differ' "$out/log" || fail "nothing was compared"
"$TENON" show placement "$here/model.py" -t cpu $site >"$out/log" 2>&1 || fail "what goes where is not shown"
for line in '^library onelib: 7$' '^  *3 relax.matmul' '^kernels of the target: 3 operators$' '1 relax.matmul .*onelib.dense: its check refuses this one' '1 relax.matmul .*onelib.dense: .*dtype' \
    '^tensor programs: 3$' '1 relax.tanh  *no pattern is for this operator$'; do
    grep -q "$line" "$out/log" || fail "what goes where: no line '$line'"
done
"$TENON" compile "$here/model.py" -t cpu $site -o "$out/model.tno" >"$out/log" 2>&1 || fail "does not compile"
"$TENON" show model "$out/model.tno" --config onelib.ini >"$out/log" 2>&1
grep -q onelib "$out/log" || fail "the artifact does not say what it needs"
"$TENON" run "$out/model.tno" --config onelib.ini >"$out/log" 2>&1 || fail "does not run"
echo "dispatch.sh: two functions for the library, with the same results"
