# SPDX-License-Identifier: Apache-2.0
# Operators that select, group and suppress, as machine code: one artifact with symbolic extents an
# operator, run on random inputs whose results formulas gave, and verified at every pass once.
test -f "$TENON_PLUGIN_PATH/cpu.so" || exit 77
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
"$top_builddir/tests/ops/write_selection" "$tmp" || exit 1
failed=0
ran=0
for module in "$tmp"/*.py; do
    name=$(basename "$module" .py)
    if ! "$TENON" compile "$module" -t cpu --verify -o "$tmp/$name.tno" 2>"$tmp/log"; then
        cat "$tmp/log"
        failed=1
        continue
    fi
    for case in "$tmp/$name"-[0-9]*; do
        arguments=
        for f in "$case"/*.npy; do
            i=$(basename "$f" .npy)
            case $i in
            in-*) arguments="$arguments -i #${i#in-}=$f" ;;
            out-*) arguments="$arguments --expect #${i#out-}=$f" ;;
            esac
        done
        if ! "$TENON" run "$tmp/$name.tno" $arguments --rtol 1e-5 --atol 1e-5 >"$tmp/log" 2>&1; then
            echo "$(basename "$case"):"
            cat "$tmp/log"
            failed=1
        fi
        ran=$((ran + 1))
    done
done
test "$ran" -ge 500 || { echo "only $ran cases ran" >&2; exit 1; }
exit $failed
