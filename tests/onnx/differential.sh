# SPDX-License-Identifier: Apache-2.0
# Random ONNX models against ONNX Runtime (tests/onnx/differential), where $DIFFERENTIAL_ENV is a Python environment that has it: a
# sample seeded by the commit, or with TENON_LONG 20,000 on the cpu target.
python="${DIFFERENTIAL_ENV:-/nonexistent}/bin/python"
test -f "$TENON_PLUGIN_PATH/onnx.so" && "$python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null || exit 77
seed=$(git -C "$top_srcdir" rev-parse --short=6 HEAD 2>/dev/null) && seed=$((0x$seed % 1000000 * 100)) || seed=1
count=40
if [ -n "$TENON_LONG" ]; then
    count=20000
    seed=1
fi
echo "seed $seed"
exec "$python" -B "$top_srcdir/tests/onnx/differential/run.py" --tenon "$TENON" --count $count --seed $seed --timeout "${TESTS_TIMEOUT:-300}"
