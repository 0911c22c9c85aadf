# SPDX-License-Identifier: Apache-2.0
# Random graphs through random orders of passes: 200 in `make check`, 20,000 (split by SHARD) in
# `make check-long`; and five wrong passes, each of which has to be caught and named.
set -u
count=200 first=1
if [ -n "${TENON_LONG:-}" ]; then
    count=20000
    if [ -n "${SHARD:-}" ]; then
        count=$((20000 / ${SHARD#*/}))
        first=$((1 + (${SHARD%/*} - 1) * count))
    fi
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
fuzz="$top_builddir/tests/fuzz/fuzz_passes"
"$fuzz" --seed $first --count $count --keep "$tmp" || failed=1
for pass in BreakDropBinding BreakBroadcast BreakTranspose BreakStorage BreakBound; do
    "$fuzz" --broken $pass --count 60 || failed=1
done
for f in "$tmp"/*.py; do
    [ -f "$f" ] && cat "$f"
done
exit $failed
