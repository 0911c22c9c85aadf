# SPDX-License-Identifier: Apache-2.0
# The node cases of ONNX's backend tests (package libonnx-testdata) through the whole compiler, targets cpu and null: none may
# crash, hang or leak, at least MINIMUM pass, and none that compiles gives another answer. A case with one output byte altered
# fails.
MINIMUM=860
data=${ONNX_TEST_DATA:-}
if [ -z "$data" ]; then
    data=$(dpkg -L libonnx-testdata 2>/dev/null | grep -m 1 '/node$' || true)
fi
if [ ! -d "$data" ]; then
    echo "libonnx-testdata is not installed"
    exit 77
fi
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in cpu null; do
    "$TENON" onnx-test "$data" -t $target -j 2 --quiet --timeout "${TESTS_TIMEOUT:-300}" > "$work/out" 2> "$work/err" || true
    echo "$target:"
    tail -n 40 "$work/out"
    summary=$(tail -n 1 "$work/out")
    passed=${summary%% passed*}
    if grep -qE 'killed|crash|timed out|Sanitizer' "$work/out" "$work/err"; then
        echo "a case crashed or hung"
        grep -E 'killed|crash|timed out|Sanitizer' "$work/out" "$work/err" | head
        exit 1
    fi
    if [ "$passed" -lt "$MINIMUM" ]; then
        echo "only $passed cases pass, at least $MINIMUM are expected"
        exit 1
    fi
    wrong=$(grep '^FAIL ' "$work/out" | grep -v ': compile: ' || true)
    if [ -n "$wrong" ]; then
        echo "$wrong"
        echo "these cases compile and give another answer"
        exit 1
    fi
done
cp -r "$data/test_relu" "$work/altered"
chmod -R u+w "$work/altered"
size=$(wc -c < "$work/altered/test_data_set_0/output_0.pb")
# the last value, a zero of float32 written with the lowest byte first, becomes 2
printf '\100' | dd of="$work/altered/test_data_set_0/output_0.pb" bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
if "$TENON" onnx-test "$work/altered" -t cpu > "$work/out"; then
    echo "a case with an altered output byte passes"
    cat "$work/out"
    exit 1
fi
tail -n 1 "$work/out"
