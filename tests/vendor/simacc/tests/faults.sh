# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# A device that dies, hangs or talks nonsense gives an error that says so, at every command, and leaves no process behind.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
cat >"$out/add.py" <<'END'
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.add(x, x)
            R.output(y)
        return y
END
fail() { echo "faults.sh: $*"; cat "$out/log"; exit 1; }
"$TENON" compile "$out/add.py" -t simacc --config simacc.ini -o "$out/add.tno" >"$out/log" 2>&1 || fail "does not compile"
run() { # fault, seconds for an answer
    timeout 60 "$TENON" run "$out/add.tno" --config simacc.ini --set "device.simacc.fault=$1" --set "device.simacc.timeout=$2" >"$out/log" 2>&1
    status=$?
    pid=$(sed -n 's/.*process of the simacc device (\([0-9]*\)).*/\1/p' "$out/log" | head -n 1)
    [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null || fail "$1: process $pid is still there"
}
run none:0 60
[ $status = 0 ] || fail "does not run"
for n in 1 2 3 4 5 6 7 8; do
    for fault in die crash hang garble; do
        run $fault:$n $([ $fault = hang ] && echo 0.3 || echo 60)
        [ $status -lt 124 ] || fail "$fault at command $n: status $status"
        if [ $status != 0 ]; then
            case $fault in
            die) what="ended with status 3, at the command '" ;;
            crash) what="was ended by signal 11 (Segmentation fault), at the command '" ;;
            hang) what="did not answer the command '.*' within 0.3 s, and was ended" ;;
            *) what="with what is no answer to it" ;;
            esac
            grep -q "the process of the simacc device.*$what" "$out/log" || fail "$fault at command $n: not said: $what"
        elif [ $n -lt 6 ]; then
            fail "$fault at command $n: no error"
        fi
    done
done
run slow:4 30
[ $status = 0 ] || fail "an answer that is late is an answer"
"$TENON" run "$out/add.tno" --config simacc.ini --set device.simacc.memory=20 >"$out/log" 2>&1 && fail "more memory than there is"
grep -q "no memory for .* bytes: the simacc device has 20, of which" "$out/log" || fail "memory: not said"
"$TENON" run "$out/add.tno" --config simacc.ini --set device.simacc.cc=no-such-compiler >"$out/log" 2>&1 && fail "without a compiler"
grep -q "cannot start the C compiler 'no-such-compiler': No such file" "$out/log" || fail "compiler: not said"
for bad in memory=x timeout=0 timeout=never; do
    "$TENON" run "$out/add.tno" --config simacc.ini --set "device.simacc.$bad" >"$out/log" 2>&1 && fail "$bad is taken"
    grep -q "not a number of bytes and of seconds" "$out/log" || fail "$bad: not said"
done
mkdir "$out/apart" && cp "$BUILD"/*.so "$BUILD"/*.plugin "$out/apart/" && chmod -R go-w "$out/apart"
"$TENON" run "$out/add.tno" --plugin-path "$out/apart" >"$out/log" 2>&1 && fail "without its process"
grep -q "simulated by $out/apart/simacc_device: No such file" "$out/log" || fail "no process: not said"
echo "faults.sh: a device that dies, crashes, hangs, talks nonsense, is late, small, without compiler, not there"
