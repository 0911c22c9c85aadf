# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Whatever the order of work of different streams, results are the same: modules with kernels here and on the cpu, many seeds.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
fail() { echo "order.sh: $*"; cat "$out/log"; exit 1; }
"$TENON" compile "$here/sort.py" -t simacc --config simacc.ini -o "$out/sort.tno" >"$out/log" 2>&1 || fail "does not compile"
run() { "$TENON" run "$out/sort.tno" --config simacc.ini --seed 7 "$@" >"$out/log" 2>&1; }
mkdir "$out/want"
run --set device.simacc.delay=0 -o "$out/want" || fail "does not run"
for seed in 1 2 3 4 5 6 7 8 9 10; do
    mkdir "$out/$seed"
    run --set "device.simacc.delay=$seed" -o "$out/$seed" || fail "does not run with seed $seed"
    diff -r "$out/want" "$out/$seed" >"$out/log" || fail "other results with seed $seed"
done
run --set device.simacc.delay=3 --profile-kernels || fail "is not timed"
run --set device.simacc.delay=late && fail "a seed that is no number is taken"
grep -q "delay = late: a number, 0 for none" "$out/log" || fail "delay: not said"
echo "order.sh: the same results for ten orders of work"
