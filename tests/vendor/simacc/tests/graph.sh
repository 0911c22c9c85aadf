# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# A module that RewriteCUDAGraph cut: its kernels are captured in the first run, replayed in others, with the same results.
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
fail() { echo "graph.sh: $*"; cat "$out/log"; exit 1; }
cat >"$out/net.py" <<'END'
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            a = R.exp(w)
            b = R.tanh(a)
            c = R.negative(b)
            d = R.sin(c)
            y = R.add(d, x)
            R.output(y)
        return y
END
tenon() { command=$1; shift; "$TENON" "$command" --config simacc.ini "$@" >"$out/log" 2>&1; }
tenon opt "$out/net.py" -t simacc --pass-config relax.backend.use_cuda_graph=true -o "$out/cut.py" \
    -p "LegalizeOps,ToNonDataflow,RemovePurityChecking,CallTIRRewrite,StaticPlanBlockMemory,RewriteCUDAGraph" || fail "the pass"
grep -q 'cuda_graph.run_or_capture' "$out/cut.py" || fail "nothing is captured"
mkdir "$out/want"
tenon run "$out/net.py" -t simacc --seed 5 -o "$out/want" || fail "as it is"
want=$(ls "$out"/want/*.npy)
tenon compile "$out/cut.py" -t simacc -o "$out/cut.tno" || fail "does not compile"
for seed in 0 1 2 3 4 5; do
    for runs in 1 2 7; do
        tenon bench "$out/cut.tno" --seed 5 --runs $runs --set "device.simacc.delay=$seed" --expect "output0=$want" ||
            fail "$runs runs with seed $seed"
        grep -q 'not compared' "$out/log" && fail "nothing was compared"
    done
done
echo "graph.sh: captured and replayed in six orders of work"
