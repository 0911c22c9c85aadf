# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# What VendDispatch gives to the library, and that results are the interpreter's: on the host's memory, and on a device with its own.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
fail() { echo "dispatch.sh: $*"; cat "$out/log"; exit 1; }
"$TENON" opt "$here/mlp.py" -t cpu -p VendDispatch --verify --config vend.ini -o "$out/after.py" >"$out/log" 2>&1 || fail "the pass"
sed '/external_mods/d' "$out/after.py" >"$out/log"
[ "$(grep -c 'R.call_dps_packed(' "$out/log")" = 4 ] || fail "not four calls of the library"
for payload in '"relu": 1' '"x": 5' '"b": -1' '"inputs": 5'; do
    grep 'external_mods' "$out/after.py" | grep -q "$payload" || { cp "$out/after.py" "$out/log"; fail "no $payload"; }
done
grep -q 'a, v, out_dtype' "$out/log" || fail "batched operands are not left alone"
grep -q 'z: .*R.matmul(x, w, out_dtype="float64")' "$out/log" || fail "a sum in float64 is not left alone"
"$TENON" diff "$here/mlp.py" "$out/after.py" --exec --config vend.ini >"$out/log" 2>&1 || fail "the meaning is another"

same() { # target, folders of plugins; the cpu gets what the target has no numbers for
    "$TENON" diff "$here/mlp.py" --exec -t "$1" --plugin-path "$2" --set "pipeline.$1.library_dispatch=VendDispatch" \
        --set tenon.fallback=true >"$out/log" 2>&1 ||
        fail "other results on $1"
    grep -q '^3 functions run, [1-9][0-9]* elements compared, .* 0 differ' "$out/log" || fail "nothing was compared on $1"
    "$TENON" compile "$here/mlp.py" -t "$1" --plugin-path "$2" --set "pipeline.$1.library_dispatch=VendDispatch" \
        --set tenon.fallback=true -o "$out/$1.tno" >"$out/log" 2>&1 || fail "does not compile for $1"
    "$TENON" show model "$out/$1.tno" --plugin-path "$2" >"$out/log" 2>&1
    grep -q vend "$out/log" || fail "the artifact for $1 does not say that it needs vend"
    where="$where $1"
}
same cpu "$BUILD"
same null "$BUILD"
[ ! -x ../simacc/build/simacc_device ] || same simacc "$BUILD:../simacc/build"
if [ -d ../swish/build ]; then # a pass of another plugin, that its file puts before the library's
    "$TENON" opt ../swish/tests/before.py -t cpu -p @library_dispatch --config ../swish/swish.ini --plugin-path "$BUILD:../swish/build" \
        --set pipeline.cpu.library_dispatch=VendDispatch -o "$out/after.py" >"$out/log" 2>&1 || fail "with swish"
    [ "$(grep -c 'R.nn.silu(\|R.call_dps_packed(' "$out/after.py")" = 5 ] || fail "with swish: not three operators and two products"
    where="$where, behind swish"
fi
echo "dispatch.sh: four functions for the library; the same results on$where"
