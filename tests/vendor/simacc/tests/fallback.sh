# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# What the device does not take: refused by name, or, where the configuration allows it, run by another target, which is said.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
tenon() { command=$1; shift; "$TENON" "$command" --config simacc.ini "$@"; }
fail() { echo "fallback.sh: $*"; cat "$out/log"; exit 1; }
pass() { tenon opt "$here/before.py" -t simacc "$@" -o "$out/after.py" >"$out/log" 2>&1; }
said() { grep -q "$1" "$out/log" || fail "not said: $1"; }

# the pass
for to in cpu null; do
    pass -p "FallbackKernels{to=\"$to\"}" || fail "the pass"
    said "warning: wide runs on the target '$to': 'simacc' does not take it: it computes with float64; the device has float32, int32, int64 and bool"
    said "warning: bytes runs on the target '$to': .* it computes with uint8"
    grep -q plain "$out/log" && fail "plain is taken"
    "$TENON" diff "$out/after.py" "$here/after_$to.py" >"$out/log" 2>&1 || fail "to=$to"
done
pass -p "FallbackKernels,FallbackKernels{to=\"null\"}" || fail "twice"
"$TENON" diff "$out/after.py" "$here/after_cpu.py" >"$out/log" 2>&1 || fail "what falls back already is left alone"
pass -p FallbackKernels --set tenon.fallback=false && fail "not allowed, and yet done"
said "the target 'simacc' does not take the tensor program 'wide': it computes with float64"
said "the target 'simacc' does not take the tensor program 'bytes': it computes with uint8"
said "hint: \[tenon\] fallback = true (or --set tenon.fallback=true) runs such programs on the target 'cpu'"
pass -p "FallbackKernels{to=simacc}" || fail "to itself"
"$TENON" diff "$out/after.py" "$here/before.py" >"$out/log" 2>&1 || fail "to itself: nothing changes"

# the whole way
tenon compile "$here/sort.py" -t simacc --set tenon.fallback=false -o "$out/no.tno" >"$out/log" 2>&1 && fail "compiled without leave"
said "the target 'simacc' does not take the tensor program 'sort': it is more than loops over blocks"
test ! -e "$out/no.tno" || fail "an artifact was written"
for to in cpu null; do
    set -- --set "pipeline.simacc.insert.to=before FallbackKernels: FallbackKernels{to=\"$to\"}"
    tenon diff "$here/sort.py" --exec -t simacc "$@" >"$out/log" 2>&1 || fail "other results with $to"
    tail -n 1 "$out/log" | grep -q '^2 functions run, [1-9].* 0 differ' || fail "nothing was compared"
    said "sort runs on the target '$to'"
done
tenon compile "$here/sort.py" -t simacc --set "pipeline.simacc.insert.to=before FallbackKernels: FallbackKernels{to=nobody}" -o "$out/no.tno" >"$out/log" 2>&1 &&
    fail "a target that is not there"
said "nobody"
tenon compile "$here/sort.py" -t simacc --set "target.other.kind=simacc" --set "pipeline.simacc.insert.to=before FallbackKernels: FallbackKernels{to=other}" -o "$out/no.tno" >"$out/log" 2>&1 &&
    fail "two codes for one device"
said "cannot fall back to 'other': both run on the device 'simacc'"
tenon compile "$here/sort.py" -t simacc -o "$out/sort.tno" >"$out/log" 2>&1 || fail "does not compile"
tenon show model "$out/sort.tno" >"$out/log" 2>&1
said "runs on device 'simacc'"
said "fallback on device 'cpu': [1-9][0-9]* bytes of format elf"
said "required features of the fallback:"
tenon run "$out/sort.tno" >"$out/log" 2>&1 || fail "does not run"
tenon run "$out/sort.tno" --no-native >"$out/log" 2>&1 && fail "machine code of the fallback is machine code"
said "machine code"
echo "fallback.sh: the pass, its option, refusals; the same results on cpu and null"
