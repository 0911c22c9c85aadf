# SPDX-License-Identifier: Apache-2.0
# Broken ONNX models: 400 in `make check`, 40,000 (split by SHARD) in `make check-long`.
set -u
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
count=400 first=1
if [ -n "${TENON_LONG:-}" ]; then
    count=40000
    if [ -n "${SHARD:-}" ]; then
        count=$((40000 / ${SHARD#*/}))
        first=$((1 + (${SHARD%/*} - 1) * count))
    fi
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
for cases in cases select_cases wrong; do
    mkdir "$work/$cases"
    "$top_builddir/tests/onnx/write_cases" "$top_srcdir/tests/onnx/$cases.txt" "$work/$cases" || exit 1
done
"$top_builddir/tests/onnx/fuzz_onnx" --seed $first --count $count "$work"/*/*
