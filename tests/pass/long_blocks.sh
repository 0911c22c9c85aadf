# SPDX-License-Identifier: Apache-2.0
# Blocks of 20,000 bindings: one whose first binding waits for the last goes through the passes that
# group bindings on a small stack; one of which a pass changes each binding takes memory for the block, not for a copy of it a binding.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
awk 'BEGIN {
    print "@I.ir_module\nclass Module:\n    @R.function"
    print "    def main(x: R.Tensor((4, 4), \"float32\"), w: R.Tensor((4, 4), \"float32\")):"
    print "        with R.dataflow():\n            a = R.matmul(x, w)\n            v0 = R.matmul(w, w)"
    for (i = 1; i < 20000; i++)
        printf "            v%d = R.matmul(v%d, w)\n", i, i - 1
    print "            gv = R.add(a, v19999)\n            R.output(gv)\n        return gv"
}' > "$tmp/long.py"
ulimit -s 2048 || exit 77
failed=0
try() { # pass list, what the result has to hold
    if ! "$TENON" opt "$tmp/long.py" -p "$1" -o "$tmp/out.py" 2> "$tmp/log"; then
        echo "FAIL: $1 (status $?)"
        head -5 "$tmp/log"
        failed=1
    elif ! grep -q "gv.* = .*cls.$2[,(].*v19999" "$tmp/out.py"; then
        echo "FAIL: $1: no $2"
        failed=1
    fi
}
try "LegalizeOps, AnnotateTIROpPattern, FuseOps, FuseTIR" fused_matmul_add
awk 'BEGIN {
    print "@I.ir_module\nclass Module:\n    @R.function"
    print "    def main(x: R.Tensor((4, 4), \"float32\")):\n        with R.dataflow():\n            v0 = R.add(x, x)"
    for (i = 1; i < 20000; i++)
        printf "            v%d = R.reshape(v%d, R.shape([%s]))\n", i, i - 1, i % 2 ? "2, 8" : "4, 4"
    print "            gv = R.reshape(v19999, R.shape([16]))\n            R.output(gv)\n        return gv"
}' > "$tmp/shapes.py"
passes="LegalizeOps, RewriteDataflowReshape"
limit=1500000
grep -q fsanitize=address "$top_builddir/Makefile" && limit=unlimited
if ! (ulimit -v $limit; "$TENON" opt "$tmp/shapes.py" -p "$passes" -o "$tmp/out.py" 2> "$tmp/log"); then
    echo "FAIL: $passes within 1.5 GB"
    head -5 "$tmp/log"
    failed=1
elif [ "$(grep -c R.reshape "$tmp/out.py")" -lt 19999 ]; then
    echo "FAIL: $passes: tensor programs that only reshape are left"
    failed=1
fi
exit $failed
