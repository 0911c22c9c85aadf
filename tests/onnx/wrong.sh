# SPDX-License-Identifier: Apache-2.0
# Wrong uses of ONNX operators (wrong.txt) are refused at their node with the text that stands there, and the hint.
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/cases"
"$top_builddir/tests/onnx/write_cases" "$top_srcdir/tests/onnx/wrong.txt" "$work/cases" || exit 1
failed=0
for c in "$work"/cases/*; do
    name=$(basename "$c")
    "$TENON" compile "$c/model.onnx" -t null -o "$work/out.tno" 2> "$work/err"
    status=$?
    if [ $status -ne 1 ] || ! grep -qF "$(cat "$c/error")" "$work/err" ||
        ! grep -q "^model.onnx: node .* ([A-Z]" "$work/err"; then
        echo "FAIL $name: exit status $status, expected '$(cat "$c/error")' at the node:"
        cat "$work/err"
        failed=1
    elif [ -f "$c/hint" ] && ! grep -qxF "  hint: $(cat "$c/hint")" "$work/err"; then
        echo "FAIL $name: wanted the hint '$(cat "$c/hint")':"
        cat "$work/err"
        failed=1
    fi
done
exit $failed
