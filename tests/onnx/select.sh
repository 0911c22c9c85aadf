# SPDX-License-Identifier: Apache-2.0
# Models in which values decide extents (select_cases.txt, made by make_select_cases.py), most of them with inputs of any
# extents: on the reference interpreter, on the cpu target, and verified at every pass; nothing is bound at compile time.
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/cases"
"$top_builddir/tests/onnx/write_cases" "$top_srcdir/tests/onnx/select_cases.txt" "$work/cases" || exit 1
failed=0
for how in --interp "-t cpu --verify"; do
    if [ "$how" != --interp ] && [ ! -f "$TENON_PLUGIN_PATH/cpu.so" ]; then
        continue
    fi
    # shellcheck disable=SC2086
    "$TENON" onnx-test $how -q -j 2 --atol 1e-6 --timeout "${TESTS_TIMEOUT:-300}" "$work/cases" > "$work/out"
    grep -vE '^PASS' "$work/out"
    grep -qE '^(FAIL|SKIP)|bound at compile time' "$work/out" && failed=1
done
exit $failed
