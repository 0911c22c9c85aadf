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
