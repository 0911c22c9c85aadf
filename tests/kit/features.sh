# SPDX-License-Identifier: Apache-2.0
# Whatever instructions the cpu target may use, results are the same: random kernels and cases of the ONNX suite for x86-64-v2, v3, v4
# and this machine's features and for vectors of each width, a sample of them or, with TENON_LONG, all, then also with DNNLDispatch. For x86-64-v4, where the
# processor lacks it, kernels are compiled only, and a model is refused when it is loaded, with what is missing.
test "$(uname -m)" = x86_64 || exit 77
test -f "$TENON_PLUGIN_PATH/cpu.so" -a -x "$top_builddir/tests/kit/t_random" || exit 77
data=${ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0
rounds=4 every=120 tests='t_random t_rows'
[ -z "$TENON_LONG" ] || rounds=300 every=1 tests="$tests t_kernels"

kernels() { # words of the environment
    for t in $tests; do
        env "$@" TENON_ROUNDS=$rounds "$top_builddir/tests/kit/$t" >"$tmp/out" 2>&1 && continue
        echo "FAIL $* $t"
        tail -n 40 "$tmp/out"
        failed=1
    done
}

if [ -d "$data/node" ]; then
    mkdir "$tmp/cases"
    ls -d "$data"/node/* "$data"/simple/* "$data"/pytorch-operator/* "$data"/pytorch-converted/* |
        awk -v every=$every 'NR % every == 0' | while read -r c; do ln -s "$c" "$tmp/cases/"; done
fi
suite() { # what runs, further options
    said=$1
    shift
    [ -d "$tmp/cases" ] && [ -f "$TENON_PLUGIN_PATH/onnx.so" ] || return 0
    "$TENON" onnx-test -t cpu -q "$@" --timeout "${TESTS_TIMEOUT:-300}" "$tmp/cases" >"$tmp/out" 2>&1
    echo "$said: $(grep ' passed, ' "$tmp/out")"
    if grep '^FAIL' "$tmp/out" || ! grep -q '^[1-9][0-9]* passed' "$tmp/out"; then
        failed=1
    fi
}

printf '[pipeline cpu]\nlibrary_dispatch = DNNLDispatch\n' >"$tmp/dnnl.ini"
levels='x86-64-v2 x86-64-v3 native'
! grep -qw avx512vl /proc/cpuinfo || levels="$levels x86-64-v4"
for level in $levels; do
    kernels TENON_TEST_MCPU=$level
    suite "$level" --set target.cpu.mcpu=$level
    [ -z "$TENON_LONG" ] || ! [ -f "$TENON_PLUGIN_PATH/dnnl_rt.so" ] ||
        suite "$level with DNNLDispatch" --config "$tmp/dnnl.ini" --set target.cpu.mcpu=$level
done
# widths that a level would not choose: the C compiler makes vectors of any from those that it has
for bytes in 16 32 64; do
    kernels TENON_TEST_VECTOR_BYTES=$bytes
done

cat >"$tmp/model.py" <<'MODEL'
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((16, 64), "float32"), w: R.Tensor((64, 64), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w), axis=-1)
            R.output(y)
        return y
MODEL
"$TENON" compile "$tmp/model.py" -o "$tmp/v4.tno" --set target.cpu.mcpu=x86-64-v4 || failed=1
if grep -qw avx512vl /proc/cpuinfo; then
    "$TENON" run "$tmp/v4.tno" || failed=1
else
    kernels TENON_TEST_MCPU=x86-64-v4 TENON_TEST_ONLY_COMPILE=1
    if "$TENON" run "$tmp/v4.tno" 2>"$tmp/out"; then
        echo "FAIL code for x86-64-v4 is loaded by a processor without it"
        failed=1
    fi
    grep -q "the processor lacks 'avx512f'.*needs \[.*avx512vl.*this machine has \[" "$tmp/out" || { cat "$tmp/out"; failed=1; }
fi
exit $failed
