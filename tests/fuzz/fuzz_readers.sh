# SPDX-License-Identifier: Apache-2.0
# The readers of files and payloads on their seeds, and on mutations of them: ROUNDS (2,000; 200,000 in
# `make check-long`) each; with T, for so many seconds each. Artifacts for seeds are compiled here.
set -u
fuzz=tests/fuzz/fuzz_readers
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/artifact"
for m in branch constants elementwise host_scalars long_names loop matmul symbolic tuples; do
    "$TENON" compile "$top_srcdir/tests/runtime/modules/$m.py" -t null -o "$work/artifact/$m.tno" >/dev/null 2>&1 ||
        echo "no artifact of $m"
done
rounds=${ROUNDS:-2000}
test -z "${TENON_LONG:-}" || rounds=${ROUNDS:-200000}
bad=0
for target in ${FUZZ_TARGETS:-$($fuzz 2>/dev/null)}; do
    seeds=
    test ! -d "$work/$target" || seeds=$work/$target
    test ! -d "$top_srcdir/tests/fuzz/readers/$target" || seeds="$seeds $top_srcdir/tests/fuzz/readers/$target"
    if [ -n "${T:-}" ]; then set -- -t "$T"; else set -- -r "$rounds"; fi
    $fuzz "$target" "$@" -s "${SEED:-1}" $seeds || bad=1
done
exit $bad
