# SPDX-License-Identifier: Apache-2.0
# libFuzzer over each reader, in a build with clang: cover.sh SECONDS SRCDIR [TARGET...]; with EXECUTIONS in the
# environment, so many of each, however long they take (SECONDS 0). What it finds lies in crash-*, leak-* and
# timeout-* here.
#
# What costs more than a reader itself is left out: libFuzzer's entropic schedule, whose book-keeping takes longer than
# a small compilation; a search for leaks after executions (the sanitizer searches at the end, and a leak that it finds
# there is looked for in the corpus); the long stacks of allocations, and a quarantine larger than one execution's
# memory, which is touched again and again.
set -u
t=$1 top_srcdir=$2
shift 2
TENON_PLUGIN_PATH=$PWD/plugins-stage TENON_SYSCONFDIR=$top_srcdir/conf TENON_DATADIR=$top_srcdir/conf/data
export TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR
bad=0
for target in ${*:-$(tests/fuzz/fuzz_readers)}; do
    corpus=fuzz-corpus/$target
    mkdir -p "$corpus"
    most=4096 quarantine=2
    case $target in
    artifact) most=65536 ;;
    compile_*) rm -rf "$corpus.cases"; mkdir -p "$corpus.cases"; quarantine=16 ;;
    esac
    dictionary=$top_srcdir/tests/fuzz/dictionaries/$target.dict
    test -f "$dictionary" || dictionary=
    ASAN_OPTIONS=quarantine_size_mb=$quarantine:thread_local_quarantine_size_kb=64:malloc_context_size=4
    export ASAN_OPTIONS
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
    fuzz() {
        FUZZ_TARGET=$target tests/fuzz/fuzz_readers_lf -print_final_stats=1 -max_len="$most" -timeout=20 \
            -rss_limit_mb=4096 -entropic=0 "$@" "$corpus" 2>"fuzz-$target.log"
    }
    fuzz -max_total_time="$t" -runs="${EXECUTIONS:--1}" -detect_leaks=0 ${dictionary:+-dict="$dictionary"}
    rc=$?
    if grep -q 'LeakSanitizer' "fuzz-$target.log"; then
        mv "fuzz-$target.log" "fuzz-$target-leak.log"
        echo "memory is lost (fuzz-$target-leak.log); an input that loses it:"
        fuzz -runs=0 -detect_leaks=1
        rc=1
    fi
    grep -E '^executions:|ERROR|SUMMARY' "fuzz-$target.log"
    # libFuzzer ends with 77 too when it finds something
    { [ $rc = 0 ] || [ $rc = 77 ]; } && ! grep -q 'ERROR' "fuzz-$target.log" || { bad=1; tail -n 40 "fuzz-$target.log"; }
done
exit $bad
