# SPDX-License-Identifier: Apache-2.0
# The ONNX backend cases of the system package on the cpu target: a random tenth of them with every
# optional pass off (all of them in check-long), and another tenth with each pass executed before and
# after. SEED picks the tenths; it is printed.
data=${ONNX_TESTDATA:-/usr/share/libonnx-testdata/data}
test -d "$data/node" || exit 77
test -f "$TENON_PLUGIN_PATH/onnx.so" || exit 77
seed=${SEED:-$(date +%Y%m%d)}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
echo "SEED=$seed"

pick() { # share salt folder: links to that share of the cases
    mkdir "$work/$3"
    ls -d "$data"/node/* "$data"/simple/* "$data"/pytorch-operator/* "$data"/pytorch-converted/* |
        awk -v share="$1" -v seed="$seed" -v salt="$2" \
            'BEGIN { srand(seed * 10 + salt) } rand() < share' |
        while read -r d; do ln -s "$d" "$work/$3/$(basename "$(dirname "$d")")-$(basename "$d")"; done
}
run() { # what folder options...
    what=$1 folder=$2
    shift 2
    "$TENON" onnx-test "$work/$folder" -t cpu -j 2 -q --timeout "${TESTS_TIMEOUT:-300}" "$@" > "$work/out"
    echo "$what: $(tail -n 1 "$work/out")"
    if grep '^FAIL' "$work/out"; then
        exit 1
    fi
    passed=$(tail -n 1 "$work/out")
    test "${passed%% passed*}" -gt 50 || exit 1
}
share=0.1
test -z "${TENON_LONG:-}" || share=1
pick $share 1 plain
run "optional passes off" plain --config "$top_srcdir/tests/onnx/plain.ini"
pick 0.1 2 verified
run "passes verified" verified --verify --verify-budget 100000000
