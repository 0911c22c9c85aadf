#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernels that the rules for GPUs make of random programs (t_gpu_run), on a simulated device that watches every access: no
# races, no reads of memory that was never written, nothing out of bounds. Before that, three kernels that do such things have to be
# caught. Without Oclgrind nothing is tested.
command -v oclgrind >/dev/null || exit 77
dir=$(mktemp -d "${TMPDIR:-/tmp}/tenon-races-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
XDG_CACHE_HOME=$dir/cache # programs that were compiled otherwise are not taken
export XDG_CACHE_HOME
fail() { echo "gpu_races.sh: $*"; exit 1; }
# Compiled without optimization: the simulator does not know every instruction that the optimizer makes.
watched() {
    : >"$dir/log"
    oclgrind --build-options -cl-opt-disable --data-races --uninitialized --max-errors 50 --log "$dir/log" "$@"
}
watched "$TENON" list devices 2>&1 | grep -q '^    0: Oclgrind' || exit 77

caught() { # module, what the log says
    watched timeout "$TESTS_TIMEOUT" "$TENON" run "$top_srcdir/tests/kit/faulty/$1.py" -t opencl >"$dir/out" 2>&1 ||
        fail "$1.py does not run: $(cat "$dir/out")"
    grep -q "$2" "$dir/log" || fail "$1.py: '$2' is not in the log: $(cat "$dir/log")"
}
caught race 'data race'
caught bounds 'Invalid read'
caught unset 'Uninitialized value'

# A process for each schedule: what the simulator knows of memory that was never written goes by the number of a buffer, and is not
# renewed when a larger buffer that only kernels write gets the number of one that was released.
export TENON_APART=1
TENON_ROUNDS=${TENON_ROUNDS:-60} watched "$top_builddir/tests/kit/t_gpu_run" || fail 'the schedules give wrong results'
test ! -s "$dir/log" || fail "$(cat "$dir/log")"
caught race 'data race' # the log can still be written: that it is empty says something
