# SPDX-License-Identifier: Apache-2.0
# Models made for this project give the results that NumPy gives, none skipped: nodes of opset 18 to 28
# (cases.txt, made by make_cases.py) on the reference interpreter and on the cpu target; models in which
# values decide extents (select_cases.txt, made by make_select_cases.py), most of them with inputs of any
# extents; models with functions and branches (graph_cases.txt, made by make_graph_cases.py): these two
# also verified at every pass and with nothing bound at compile time. Several in a process give the same, and of those that a stopped process leaves each has its verdict.
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
run() { # cases unwanted options...
    cases=$1 unwanted=$2
    shift 2
    "$TENON" onnx-test "$@" -q -j 2 --atol 1e-6 --timeout "${TESTS_TIMEOUT:-300}" "$work/$cases" > "$work/out"
    echo "$cases $*: $(grep ' passed, ' "$work/out")"
    grep -E '^(FAIL|SKIP)' "$work/out"
    if ! grep -q '^[1-9][0-9]* passed' "$work/out" || grep -qE "^(FAIL|SKIP)$unwanted" "$work/out"; then
        failed=1
    fi
}
for cases in cases select_cases graph_cases stops; do
    mkdir "$work/$cases"
    "$top_builddir/tests/onnx/write_cases" "$top_srcdir/tests/onnx/$cases.txt" "$work/$cases" || exit 1
done
run cases '' --interp
run select_cases '|bound at compile time' --interp
run graph_cases '|bound at compile time' --interp
if [ -f "$TENON_PLUGIN_PATH/cpu.so" ]; then
    run cases '' -t cpu
    run select_cases '|bound at compile time' -t cpu --verify
    run graph_cases '|bound at compile time' -t cpu --verify
fi
for how in --interp '-t cpu'; do # programs that say why they stop
    "$TENON" onnx-test $how "$work/stops" > "$work/out"
    grep -q '^FAIL branch_that_cannot_be_compiled: .*the then branch could not be compiled (.*NoSuchOperator' "$work/out" &&
        grep -q '^FAIL rank_that_does_not_fit: .*the program was compiled for the else branch' "$work/out" || {
        cat "$work/out"
        failed=1
    }
    [ -f "$TENON_PLUGIN_PATH/cpu.so" ] || break
done
set -- onnx-test --interp "$work/select_cases" --atol 1e-6
"$TENON" "$@" > "$work/alone"
"$TENON" "$@" -j 2 --batch 5 > "$work/out"
cmp "$work/alone" "$work/out" || failed=1
"$TENON" "$@" -j 2 --batch 5 --timeout 1e-9 > "$work/out"
[ "$(grep -c '^FAIL .*no result within' "$work/out")" -eq "$(ls "$work/select_cases" | wc -l)" ] || failed=1
exit $failed
