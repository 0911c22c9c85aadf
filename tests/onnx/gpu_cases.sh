# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of GPU targets over ONNX's backend cases. link_cases puts what is run into $work/cases: of the system package
# ($data) those of $short, of the project's own the names that match one of the patterns given; all of both in check-long
# (TENON_LONG), where SHARD (i/n) splits the package's. onnx_run runs them.
data=${ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
test -d "$data/node" || exit 77
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

package_cases() { # one a line
    if [ -n "${TENON_LONG:-}" ]; then
        ls -d "$data"/node/* "$data"/simple/* "$data"/pytorch-operator/* "$data"/pytorch-converted/*
    else
        for c in $short; do echo "$data/$c"; done
    fi
}
link_cases() { # patterns of own cases...
    mkdir "$work/cases" "$work/own"
    package_cases | awk -v shard="${SHARD:-}" 'BEGIN { if (split(shard, s, "/") != 2) s[2] = 1 } NR % s[2] == s[1] % s[2]' |
        while read -r d; do
            [ ! -d "$d" ] || ln -s "$d" "$work/cases/$(basename "$(dirname "$d")")-$(basename "$d")"
        done
    "$top_builddir/tests/onnx/write_cases" "$top_srcdir/tests/onnx/cases.txt" "$work/own"
    for d in "$work"/own/*; do
        wanted=${TENON_LONG:-}
        for pattern; do
            case $(basename "$d") in
            $pattern) wanted=yes ;;
            esac
        done
        [ -z "$wanted" ] || ln -s "$d" "$work/cases/"
    done
}
# Ends the test when a case fails; $work/passed-TARGET has the names of those that pass.
onnx_run() { # target options...
    "$TENON" onnx-test "$work/cases" -j 2 --batch 25 --timeout "${TESTS_TIMEOUT:-300}" -t "$@" > "$work/out" || true
    echo "$1: $(tail -n 1 "$work/out")"
    grep '^FAIL' "$work/out" && exit 1
    sed -n 's/^PASS \([^ :]*\).*/\1/p' "$work/out" > "$work/passed-$1"
}
# The same cases pass on the targets as on the cpu, and not just a few.
passes_as_cpu() { # targets...
    test "$(wc -l < "$work/passed-cpu")" -gt 20
    for t; do
        diff "$work/passed-cpu" "$work/passed-$t" || { echo "these pass on one of the targets alone: cpu, $t"; exit 1; }
    done
}
