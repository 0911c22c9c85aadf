# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# What the library says comes out by name, and a job that never ends is waited for no longer than it may take.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
fail() { echo "errors.sh: $*"; cat "$out/log"; exit 1; }
"$TENON" compile "$here/mlp.py" -t cpu --config vend.ini --set pipeline.cpu.library_dispatch=VendDispatch -o "$out/mlp.tno" >"$out/log" 2>&1 || fail "does not compile"
run() { timeout 60 "$TENON" run "$out/mlp.tno" --config vend.ini >"$out/log" 2>&1; }
run || fail "does not run"
wrong() { # fault, what is said
    VEND_FAULT=$1 run && fail "$1: no error"
    [ $? -lt 124 ] || fail "$1: hangs"
    grep -q "vend: '.*_vend': $2" "$out/log" || fail "$1: not said: $2"
}
wrong VEND_LOST:1 'job 1 of 5: VEND_LOST (the accelerator was lost)'
wrong VEND_LOST:4 'job 4 of 5: VEND_LOST (the accelerator was lost)'
wrong VEND_LOST:6 'job 1 of 1: VEND_LOST (the accelerator was lost)'
wrong VEND_NO_MEMORY:2 'job 2 of 5: VEND_NO_MEMORY (no memory)'
export VEND_PLUGIN_TIMEOUT_MS=300
wrong VEND_TIMEOUT:2 'submitting a job: VEND_TIMEOUT (not done in time)'
export VEND_PLUGIN_TIMEOUT_MS=3000
wrong VEND_TIMEOUT:7 'waiting for its jobs: VEND_TIMEOUT (not done in time)'
cat >"$out/large.py" <<'END'
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 2), "float32"), w: R.Tensor((2, 8388609), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y
END
"$TENON" run "$out/large.py" -t cpu --config vend.ini --set pipeline.cpu.library_dispatch=VendDispatch >"$out/log" 2>&1 && fail "larger than the library takes"
grep -q "submitting a job: VEND_TOO_LARGE (a matrix has more than 16777216 elements)" "$out/log" || fail "too large: not said"
echo "errors.sh: lost, without memory, late, too large"
