#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Coverage-guided fuzzing of many readers by many processes, on a machine that need not have this tree:
#
#     run.sh SECONDS JOBS [TARGET...]
#
# Every target is cut into shards, each a process of libFuzzer with a seed of its own; the shards of a target share its corpus.
# JOBS of them run at a time. All targets get the same time first, a target that is named twice two shares of it; who reaches
# EXECUTIONS (10,000,000 a target, with those of earlier runs in FUZZ_HOME/count) leaves its time to the others. A process that finds something keeps the input and is started again for what is left of its share.
#
#     OUT          where results go (the current folder): summary.txt, crashes/TARGET/, logs/, corpus/TARGET/
#     FUZZ_HOME    bin/fuzz_readers_lf, lib/, plugins/, conf/, dictionaries/ and corpus/, as bundle.sh packs them
#                  (the script's own folder)
#     SEED         the first seed (1); another one takes another course
#     SHARDS       processes a target and round (as many as fill JOBS)
set -u
[ $# -ge 2 ] || { echo "usage: run.sh SECONDS JOBS [TARGET...]" >&2; exit 2; }
seconds=$1 jobs=$2
shift 2
home=${FUZZ_HOME:-$(cd "$(dirname "$0")" && pwd)}
out=${OUT:-$PWD}
executions=${EXECUTIONS:-10000000}
seed=${SEED:-1}
targets=${*:-$(cat "$home/targets")}
LD_LIBRARY_PATH=$home/lib TENON_PLUGIN_PATH=$home/plugins TENON_SYSCONFDIR=$home/conf TENON_DATADIR=$home/conf/data
export LD_LIBRARY_PATH TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR
# Readers of folders write their files anew for each input.
if [ -w /dev/shm ]; then TMPDIR=${TMPDIR:-/dev/shm}; else TMPDIR=${TMPDIR:-/tmp}; fi
export TMPDIR
mkdir -p "$out/logs" "$out/crashes" "$out/count"
each_target=$(printf '%s\n' $targets | sort -u)
for t in $each_target; do
    test ! -f "$home/count/$t" || cp "$home/count/$t" "$out/count/$t"
    mkdir -p "$out/corpus/$t" "$out/crashes/$t"
    test ! -d "$home/corpus/$t" || cp -n "$home/corpus/$t"/* "$out/corpus/$t"/ 2>/dev/null
done
end=$(($(date +%s) + seconds))

# What a log says was executed: the last count of it.
executed() {
    sed -n 's/^#\([0-9]*\).*/\1/p; s/^stat::number_of_executed_units: *//p' "$1" | sort -n | tail -n 1
}

# one TARGET NAME SEED RUNS SECONDS: a shard, started again when it finds something.
one() {
    t=$1 name=$2 s=$3 left=$4 until=$(($(date +%s) + $5)) n=0
    dictionary=$home/dictionaries/$t.dict
    test -f "$dictionary" || dictionary=
    while [ "$left" -gt 0 ] && [ "$n" -lt 40 ]; do
        rest=$((until - $(date +%s)))
        [ "$rest" -gt 0 ] || break
        log=$out/logs/$name-$n.log
        FUZZ_TARGET=$t \
            ASAN_OPTIONS=quarantine_size_mb=2:thread_local_quarantine_size_kb=64:malloc_context_size=8 \
            UBSAN_OPTIONS=print_stacktrace=1 \
            "$home/bin/fuzz_readers_lf" -print_final_stats=1 -max_len=4096 -timeout=20 -rss_limit_mb=4096 -entropic=0 \
            -detect_leaks=0 -seed=$((s + n * 100003)) -runs="$left" -max_total_time="$rest" -reload=10 \
            -artifact_prefix="$out/crashes/$t/" ${dictionary:+-dict="$dictionary"} "$out/corpus/$t" >"$log" 2>&1
        rc=$?
        ran=$(executed "$log")
        left=$((left - ${ran:-0}))
        echo "${ran:-0}" >>"$out/count/$t"
        n=$((n + 1))
        [ "$rc" != 0 ] || break
    done
    # of long logs what is no count, and the last counts
    for log in "$out/logs/$name"-*.log; do
        { grep -v '^#[0-9]' "$log" | head -n 160; grep '^#[0-9]' "$log" | tail -n 2; } >"$log.short"
        mv "$log.short" "$log"
    done
}

total() {
    if [ -f "$out/count/$1" ]; then awk '{ n += $1 } END { printf "%d\n", n }' "$out/count/$1"; else echo 0; fi
}

round=0
while :; do
    time_left=$((end - $(date +%s)))
    unfinished= n=0 # with a target's shares
    for t in $targets; do
        [ "$(total "$t")" -ge "$executions" ] || { unfinished="$unfinished $t" n=$((n + 1)); }
    done
    [ "$time_left" -ge 5 ] && [ "$n" -gt 0 ] || break
    # Half of the time at a time, so that what the fast ones leave is shared again; the last seconds whole.
    slice=$time_left
    [ "$time_left" -lt 60 ] || slice=$((time_left / 2))
    shards=${SHARDS:-$(((jobs + n - 1) / n))}
    each=$((slice * jobs / (n * shards)))
    [ "$each" -le "$slice" ] || each=$slice
    [ "$each" -gt 0 ] || each=1
    k=0
    for t in $unfinished; do
        named=$(printf '%s\n' $unfinished | grep -cx "$t")
        runs=$(((executions - $(total "$t") + shards * named - 1) / (shards * named)))
        s=0
        while [ "$s" -lt "$shards" ]; do
            k=$((k + 1)) s=$((s + 1))
            echo "$t $t-$round-$k $((seed * 1000003 + round * 1009 + k)) $runs $each"
        done
    done >"$out/queue"
    # The processes take the next line when they are done with one.
    : >"$out/next"
    worker=0
    while [ "$worker" -lt "$jobs" ] && [ "$worker" -lt "$k" ]; do
        worker=$((worker + 1))
        (
            # a folder of its own is the lock of a line
            i=0
            while read -r t name s runs each; do
                i=$((i + 1))
                mkdir "$out/taken-$round-$i" 2>/dev/null || continue
                rest=$((end - $(date +%s)))
                [ "$rest" -gt "$each" ] || each=$rest
                [ "$each" -gt 0 ] && one "$t" "$name" "$s" "$runs" "$each"
            done <"$out/queue"
        ) &
    done
    wait
    rm -rf "$out"/taken-* "$out/queue" "$out/next"
    round=$((round + 1))
done

bad=0
{
    printf '%-18s %12s %8s %9s %7s %s\n' target executions edges features corpus found
    for t in $each_target; do
        last=$(grep -h '^#.* cov: ' "$out"/logs/"$t"-*.log 2>/dev/null |
            sed 's/.* cov: \([0-9]*\) ft: \([0-9]*\).*/\1 \2/' | sort -n | tail -n 1)
        found=$(find "$out/crashes/$t" -type f | wc -l)
        leaks=$(cat "$out"/logs/"$t"-*.log 2>/dev/null | grep -c 'LeakSanitizer: detected')
        [ "$leaks" = 0 ] || found="$found, memory lost in $leaks processes"
        printf '%-18s %12s %8s %9s %7s %s\n' "$t" "$(total "$t")" ${last:-0 0} "$(find "$out/corpus/$t" -type f | wc -l)" "$found"
    done
} >"$out/summary.txt"
cat "$out/summary.txt"
test -z "$(find "$out/crashes" -type f | head -n 1)" || bad=1
! grep -q 'memory lost' "$out/summary.txt" || bad=1
exit $bad
