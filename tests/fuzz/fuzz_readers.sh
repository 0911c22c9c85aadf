# SPDX-License-Identifier: Apache-2.0
# The readers of files and payloads on their seeds, and on mutations of them: ROUNDS (2,000; 200,000, split by SHARD, in
# `make check-long`; of whole compilations and imports 300 and 20,000) each; with T, for so many seconds each. Seeds
# that need a compiler are made here.
set -u
fuzz=tests/fuzz/fuzz_readers
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/artifact"
for m in branch constants elementwise host_scalars long_names loop matmul symbolic tuples; do
    "$TENON" compile "$top_srcdir/tests/runtime/modules/$m.py" -t null -o "$work/artifact/$m.tno" >/dev/null 2>&1 ||
        echo "no artifact of $m"
done
# Whole compilations take longer than readings.
mkdir "$work/compile_text"
cp "$top_srcdir"/tests/runtime/modules/*.py "$work/compile_text"
test ! -x tests/onnx/write_cases || mkdir "$work/cases" "$work/compile_onnx"
test ! -d "$work/cases" || tests/onnx/write_cases "$top_srcdir/tests/onnx/cases.txt" "$work/cases" >/dev/null
for m in "$work"/cases/*/model.onnx; do
    case $m in *[05]/model.onnx | *e/model.onnx) cp "$m" "$work/compile_onnx/$(basename "$(dirname "$m")").onnx" ;; esac
done
bad=0
shard=${SHARD:-1/1}
shard=${shard%/*}
for target in ${FUZZ_TARGETS:-$($fuzz 2>/dev/null)}; do
    seeds=
    test ! -d "$work/$target" || seeds=$work/$target
    test ! -d "$top_srcdir/tests/fuzz/readers/$target" || seeds="$seeds $top_srcdir/tests/fuzz/readers/$target"
    case $target in
    compile_* | tokenizer_folder | llama_gguf | llama2c | huggingface | mlc) rounds=300 long=20000 ;;
    *) rounds=2000 long=200000 ;;
    esac
    test -z "${TENON_LONG:-}" || rounds=$long
    test -z "${TENON_LONG:-}" || test -z "${SHARD:-}" || rounds=$((long / ${SHARD#*/}))
    rounds=${ROUNDS:-$rounds}
    if [ -n "${T:-}" ]; then set -- -t "$T"; else set -- -r "$rounds"; fi
    $fuzz "$target" "$@" -s "${SEED:-$shard}" $seeds || bad=1
done
exit $bad
