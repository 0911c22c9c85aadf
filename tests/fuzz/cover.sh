# SPDX-License-Identifier: Apache-2.0
# libFuzzer over each reader, in a build with clang: cover.sh SECONDS SRCDIR [TARGET...]. What it finds lies in
# crash-*, leak-* and timeout-* here.
set -u
t=$1 top_srcdir=$2
shift 2
TENON_PLUGIN_PATH=$PWD/plugins-stage TENON_SYSCONFDIR=$top_srcdir/conf TENON_DATADIR=$top_srcdir/conf/data
export TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR
bad=0
for target in ${*:-$(tests/fuzz/fuzz_readers)}; do
    corpus=fuzz-corpus/$target
    mkdir -p "$corpus"
    most=65536
    case $target in compile_*) mkdir -p "$corpus.cases"; most=4000 ;; esac
    if [ "$target" = artifact ]; then
        for m in branch constants elementwise host_scalars loop matmul symbolic tuples; do
            tools/tenon compile "$top_srcdir/tests/runtime/modules/$m.py" -t null -o "$corpus/$m.tno" >/dev/null 2>&1
        done
    elif [ "$target" = compile_onnx ]; then
        test ! -x tests/onnx/write_cases || tests/onnx/write_cases "$top_srcdir/tests/onnx/cases.txt" "$corpus.cases" >/dev/null
        for m in "$corpus.cases"/*/model.onnx; do cp "$m" "$corpus/$(basename "$(dirname "$m")").onnx"; done
    else
        tests/fuzz/fuzz_readers "$target" -w "$corpus" || exit 1
    fi
    echo "$target:"
    FUZZ_TARGET=$target tests/fuzz/fuzz_readers_lf -max_total_time="$t" -print_final_stats=1 -max_len="$most" -timeout=20 -rss_limit_mb=4096 \
        "$corpus" 2>"fuzz-$target.log"
    rc=$?
    grep -E 'number_of_executed_units|average_exec_per_sec|ERROR|SUMMARY' "fuzz-$target.log"
    [ $rc = 0 ] || [ $rc = 77 ] || { bad=1; tail -n 40 "fuzz-$target.log"; }
done
exit $bad
