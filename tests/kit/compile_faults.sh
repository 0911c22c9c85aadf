# SPDX-License-Identifier: Apache-2.0
# Allocations of compilations fail: a sample that SEED draws (or the commit), all of them in `make check-long`.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work"
points=15
test -z "${TENON_LONG:-}" || points=0
seed=${SEED:-$(cd "$top_srcdir" && git rev-parse --short=7 HEAD 2>/dev/null | tr a-f 1-6)}
seed=${seed:-1}
echo "seed $seed"
set --
for m in branch constants matmul symbolic tuples; do set -- "$@" "$top_srcdir/tests/runtime/modules/$m.py"; done
if test -f "$TENON_PLUGIN_PATH/onnx.so" && mkdir "$work/cases" &&
    tests/onnx/write_cases "$top_srcdir/tests/onnx/cases.txt" "$work/cases" >/dev/null; then
    for m in attention_causal lp_pool_dilations_ceil quantize_blocks; do
        test ! -f "$work/cases/$m/model.onnx" || set -- "$@" "$work/cases/$m/model.onnx"
    done
fi
bad=0
for target in null opencl cpu; do
    test -f "$TENON_PLUGIN_PATH/$target.so" || continue
    tests/kit/compile_faults $points "$seed" $target "$@" >"$work/log" || bad=1
    cat "$work/log"
    ! grep -v '^FAIL \|runs with failures' "$work/log" || { echo "FAIL: the C compiler wrote to this program's output"; bad=1; }
done
exit $bad
