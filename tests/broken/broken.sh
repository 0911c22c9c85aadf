# SPDX-License-Identifier: Apache-2.0
# A pass that breaks a module is caught by --verify and named, and the reproducer that it leaves
# fails again under `tenon opt`.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
say() {
    echo "FAIL: $*"
    [ -f "$tmp/log" ] && cat "$tmp/log"
    failed=1
}
mkdir "$tmp/plugins"
cp "$top_builddir/tests/broken/.libs/broken.so" "$tmp/plugins/broken.so"
abi=$(sed -n 's/^abi = //p' "$top_builddir/plugins-stage/transform.plugin")
sed -e "s|@VERSION@|0.1.0|;s|@ABI@|$abi|" "$top_srcdir/tests/broken/broken.plugin.in" > "$tmp/plugins/broken.plugin"
chmod go-w "$tmp/plugins" "$tmp/plugins"/*
TENON_PLUGIN_PATH="$tmp/plugins:$TENON_PLUGIN_PATH"
export TENON_PLUGIN_PATH

catches() { # pass list...
    wrong=$1 list=$2
    rm -f "$tmp/broken.py"
    if "$TENON" opt "$top_srcdir/tests/broken/module.py" -p "$list" --verify --reproducer "$tmp/broken.py" \
        > /dev/null 2> "$tmp/log"; then
        say "$wrong was not caught"
        return
    fi
    grep -q "pass $wrong \(changes what\|breaks\) 'main'" "$tmp/log" || say "$wrong is not named"
    [ -f "$tmp/broken.py" ] || { say "$wrong: no reproducer"; return; }
    rest=$(sed -n "1s/^# tenon opt FILE -p '\(.*\)'$/\1/p" "$tmp/broken.py")
    case $rest in
    "$wrong"*) ;;
    *) say "the reproducer of $wrong begins with '$rest'" ;;
    esac
    if "$TENON" opt "$tmp/broken.py" -p "$rest" --verify > /dev/null 2> "$tmp/log"; then
        say "the reproducer of $wrong does not fail"
    fi
    grep -q "pass $wrong \(changes what\|breaks\) 'main'" "$tmp/log" || say "replayed, $wrong is not named"
}
catches BreakDropBinding "BreakDropBinding, LegalizeOps, FuseOps"
catches BreakTranspose "BreakTranspose, LegalizeOps"
catches BreakBroadcast "LegalizeOps, BreakBroadcast, ToNonDataflow"
catches BreakBound "LegalizeOps, AnnotateTIROpPattern, BreakBound"
catches BreakStorage "LegalizeOps, ToNonDataflow, RemovePurityChecking, CallTIRRewrite,
    StaticPlanBlockMemory{mode=arena}, BreakStorage, LowerAllocTensor"
catches BreakSignature "BreakSignature, LegalizeOps"

# nothing is found where nothing is wrong
"$TENON" opt "$top_srcdir/tests/broken/module.py" -p "LegalizeOps, AnnotateTIROpPattern, FuseOps, FuseTIR" --verify \
    > /dev/null 2> "$tmp/log" || say "right passes are refused"
grep -q "[1-9][0-9]* functions verified" "$tmp/log" || say "nothing was verified"
"$TENON" opt "$top_srcdir/tests/broken/module.py" -p ReverseParameters --verify > /dev/null 2> "$tmp/log" ||
    say "a right change of the signature is refused"
grep -q "1 functions verified" "$tmp/log" || say "a function of another signature was not verified"
# a pass that has something else compared than what it was given and what it made is named as well
for wrong in BreakReference BreakCaller BreakInputs; do
    "$TENON" opt "$top_srcdir/tests/broken/module.py" -p "$wrong, LegalizeOps" --verify > /dev/null 2> "$tmp/log" &&
        say "$wrong was not caught"
    grep -q "pass $wrong adapts what it is compared with for 'main'" "$tmp/log" || say "$wrong is not named"
done
# nothing verified is no success, and said: a pass that says that others cover its function, one that changes what a function
# computes on purpose, a module without public functions
nothing() { # what is said, file, passes
    "$TENON" opt "$2" -p "$3" --verify > /dev/null 2> "$tmp/log" && say "$3: success without a function verified"
    grep -q "$1" "$tmp/log" || say "$3: '$1' is not told"
    grep -q "nothing verified:" "$tmp/log" || say "$3: it is not told that nothing was verified"
}
nothing "others cover it, but none was compared" "$top_srcdir/tests/broken/module.py" BreakCover
nothing "marked for training uses the moving averages" "$top_srcdir/tests/broken/training.py" DecomposeOpsForInference
nothing "marked for inference uses the batch's statistics" "$top_srcdir/tests/broken/inference.py" DecomposeOpsForTraining
sed 's/@R.function/@R.function(private=True)/' "$top_srcdir/tests/broken/module.py" > "$tmp/private.py"
nothing "it has no public function to run" "$tmp/private.py" LegalizeOps
# a pass that changes nothing needs nothing verified
"$TENON" opt "$top_srcdir/tests/broken/module.py" -p FoldBatchNorm --verify > /dev/null 2> "$tmp/log" ||
    say "a pass that changes nothing fails with --verify"
# what is marked for training keeps its meaning in every target's list
for target in cpu opencl gpu_generic cuda; do
    [ -f "$TENON_PLUGIN_PATH/$target.so" ] || [ -f "$top_builddir/plugins-stage/$target.so" ] || continue
    "$TENON" opt "$top_srcdir/tests/broken/training.py" -t $target -p @legalize -o "$tmp/legal.py" 2> "$tmp/log" ||
        say "a batch_norm for training is not legalized for $target"
    "$TENON" diff "$top_srcdir/tests/broken/training.py" "$tmp/legal.py" --exec > "$tmp/log" 2>&1 ||
        say "a batch_norm for training computes something else for $target"
    "$TENON" opt "$top_srcdir/tests/broken/training.py" -t $target -p @legalize --verify -o "$tmp/legal.py" 2> "$tmp/log" ||
        say "a batch_norm for training is not verified for $target"
done
# inputs are drawn where the operators have a meaning
for target in cpu opencl; do
    [ -f "$top_builddir/plugins-stage/$target.so" ] || continue
    "$TENON" opt "$top_srcdir/tests/broken/sampling.py" -t $target -p "DispatchSampling, LegalizeOps" --verify > /dev/null \
        2> "$tmp/log" || say "a right DispatchSampling for $target is refused"
    grep -q "[12] functions verified" "$tmp/log" || say "DispatchSampling for $target was not verified"
done
# tensor programs alone are run, too
"$TENON" opt "$top_srcdir/tests/broken/program.py" -p "Simplify" --verify > /dev/null 2> "$tmp/log" ||
    say "a right pass over tensor programs is refused"
"$TENON" opt "$top_srcdir/tests/broken/program.py" -p "BreakBound" --verify > /dev/null 2> "$tmp/log" &&
    say "BreakBound was not caught in a module of tensor programs"
grep -q "pass BreakBound changes what 'twice'" "$tmp/log" || say "BreakBound is not named in a module of tensor programs"
# float16 gets the tolerance of its roundings, and no more
"$TENON" opt "$top_srcdir/tests/broken/half.py" -p DecomposeOpsForTraining --verify > /dev/null 2> "$tmp/log" ||
    say "what float16 rounds counts as a wrong pass"
"$TENON" opt "$top_srcdir/tests/broken/half.py" -p "LegalizeOps, BreakBroadcast" --verify > /dev/null 2> "$tmp/log" &&
    say "BreakBroadcast was not caught in float16"
grep -q "pass BreakBroadcast changes what 'main'" "$tmp/log" || say "BreakBroadcast is not named in float16"

# within a whole compilation: the pass, its place in the list and where it comes from
printf '[pipeline cpu]\ninsert.wrong = after LegalizeOps: BreakBroadcast\n' > "$tmp/wrong.ini"
if "$TENON" compile "$top_srcdir/tests/broken/module.py" --config "$tmp/wrong.ini" --verify -o "$tmp/model.tno" \
    2> "$tmp/log"; then
    say "a compilation with a wrong pass succeeds"
fi
grep -q "BreakBroadcast (number [0-9]* of .*wrong.ini:2" "$tmp/log" || say "the place of the wrong pass is not told"
exit $failed
