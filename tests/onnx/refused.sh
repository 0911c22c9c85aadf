# SPDX-License-Identifier: Apache-2.0
# Models whose symbolic extents do not fit (refused.txt) are refused when they run, at their node and with both values, on the cpu
# target and on OpenCL where there is a device.
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/cases"
"$top_builddir/tests/onnx/write_cases" "$top_srcdir/tests/onnx/refused.txt" "$work/cases" || exit 1
targets=cpu
"$TENON" list devices | grep -A 1 '^opencl ' | grep -q '^    0: .* / .*, driver ' && targets="cpu opencl"
failed=0
for c in "$work"/cases/*; do
    name=$(basename "$c")
    for target in $targets; do
        set --
        i=0
        while [ -f "$c/test_data_set_0/input_$i.pb" ]; do
            set -- "$@" -i "#$i=$c/test_data_set_0/input_$i.pb"
            i=$((i + 1))
        done
        "$TENON" run "$c/model.onnx" -t $target "$@" > "$work/out" 2> "$work/err"
        status=$?
        if [ $status -ne 1 ] || ! grep -qF "$(cat "$c/error")" "$work/err" || ! grep -q "node .* ([A-Z]" "$work/err"; then
            echo "FAIL $name on $target: exit status $status, expected '$(cat "$c/error")' at the node:"
            cat "$work/err"
            failed=1
        fi
    done
done
exit $failed
