# SPDX-License-Identifier: Apache-2.0
# Random models at vectors of 16, 32 and 64 bytes, in several settings, against the interpreter: a sample of half a minute whose seed
# follows from the commit, 4,000 graphs (split by SHARD) in `make check-long`. TENON_SEED and TENON_ROUNDS choose others.
set -u
test -f "$TENON_PLUGIN_PATH/cpu.so" || exit 77
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
commit=$(git -C "$top_srcdir" rev-parse --verify --quiet HEAD 2>/dev/null || echo 1)
seed=${TENON_SEED:-$((0x$(printf %.7s "$commit") % 1000000 * 1000))}
count=${TENON_ROUNDS:-1000} seconds=30
if [ -n "${TENON_LONG:-}" ]; then
    count=${TENON_ROUNDS:-4000} seconds=0
    if [ -n "${SHARD:-}" ]; then
        count=$((count / ${SHARD#*/}))
        seed=$((seed + (${SHARD%/*} - 1) * count))
    fi
fi
echo "seed $seed"
"$top_builddir/tests/fuzz/fuzz_models" --seed "$seed" --count "$count" --seconds "$seconds" --keep "$tmp" || exit 1
