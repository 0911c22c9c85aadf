# SPDX-License-Identifier: Apache-2.0
# Nodes of opset 18 to 26 (cases.txt, made by make_cases.py) give the results that NumPy gives: on
# the reference interpreter and on the cpu target, none skipped.
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/cases"
"$top_builddir/tests/onnx/write_cases" "$top_srcdir/tests/onnx/cases.txt" "$work/cases" || exit 1
failed=0
for how in --interp "-t cpu"; do
    if [ "$how" != --interp ] && [ ! -f "$TENON_PLUGIN_PATH/cpu.so" ]; then
        continue
    fi
    # shellcheck disable=SC2086
    "$TENON" onnx-test $how -q -j 2 --atol 1e-6 --timeout "${TESTS_TIMEOUT:-300}" "$work/cases" > "$work/out"
    grep -vE '^PASS' "$work/out"
    grep -qE '^(FAIL|SKIP)' "$work/out" && failed=1
done
exit $failed
