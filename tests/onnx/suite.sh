# SPDX-License-Identifier: Apache-2.0
# The ONNX backend cases of the system package on the reference interpreter: none fails, crashes or hangs, and a case whose
# expected output was altered by one bit in one byte does fail.
data=${ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
test -d "$data/node" || exit 77
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
"$TENON" --help 2>&1 | grep -q onnx-test || exit 77
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

"$TENON" onnx-test --interp -q --timeout "${TESTS_TIMEOUT:-300}" "$data/node" "$data/simple" "$data/pytorch-operator" \
    "$data/pytorch-converted" >"$tmp/out"
grep -v '^SKIP' "$tmp/out"
last=$(tail -n 1 "$tmp/out")
passed=${last%% passed*}
failed=$(grep -c '^FAIL' "$tmp/out")
test "$failed" -eq 0 || { echo "$failed cases failed" >&2; exit 1; }
test "$passed" -ge 1001 || { echo "only $passed cases passed" >&2; exit 1; }

mkdir "$tmp/altered" && cp -r "$data/node/test_add" "$tmp/altered/" && chmod -R u+w "$tmp/altered" || exit 1
pb=$tmp/altered/test_add/test_data_set_0/output_0.pb
size=$(wc -c <"$pb")
# the exponent's byte of the last element
last_byte=$(od -An -tu1 -j $((size - 1)) "$pb" | tr -d ' ')
printf "\\$(printf %o $((last_byte ^ 1)))" | dd of="$pb" bs=1 seek=$((size - 1)) conv=notrunc 2>/dev/null
if "$TENON" onnx-test --interp "$tmp/altered" >"$tmp/out"; then
    echo "a case with an altered output passed" >&2
    exit 1
fi
grep -q 'FAIL test_add' "$tmp/out"
