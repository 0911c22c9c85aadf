#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The newcomer: against an installed Tenon, away from its sources, `tenon new-plugin acme --from BACKEND`, build, load, run a
# model. Nothing is edited. Prints how long each took; 60 seconds of processor time are the limit.
# Usage: newcomer.sh PREFIX [BACKEND]...      (all that can be copied, where none is named)
prefix=$(cd "$1" && pwd -P) || exit 99
shift
unset TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR TENON_CONFIG LD_LIBRARY_PATH MAKEFLAGS MFLAGS MAKELEVEL
XDG_CONFIG_HOME=/nonexistent
work=$(mktemp -d "${TMPDIR:-/tmp}/tenon-newcomer.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
XDG_CACHE_HOME=$work/cache
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tenon.pc)")
PATH=$prefix/bin:$PATH
export XDG_CONFIG_HOME XDG_CACHE_HOME PKG_CONFIG_PATH PATH
status=0
fail() { echo "newcomer.sh: $backend: $*"; status=1; }
[ $# -gt 0 ] || set -- $(tenon new-plugin --list | sed 's/ .*//')
[ $# -gt 0 ] || { echo "newcomer.sh: nothing can be copied"; exit 1; }
cat >"$work/model.py" <<'END'
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 3, 12, 12), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            lv = R.nn.conv2d(x, w, padding=[1, 1, 1, 1])
            y = R.nn.softmax(R.nn.relu(lv), axis=1)
            R.output(y)
        return y
END
spent() { awk '{ split($0, w, /[ms]/); t += w[1] * 60 + w[2] } END { printf "%.1f\n", t }' "$1"; }
one() {
    backend=$1
    cd "$work" && rm -rf acme || exit 99
    tenon new-plugin acme --from "$backend" >log 2>&1 || { cat log; fail "cannot be copied"; return; }
    "${MAKE:-make}" -s -C acme CC="${CC:-cc}" >log 2>&1 || { cat log; fail "the copy does not build"; return; }
    for so in acme/build/*.so; do
        tenon check-plugin "$so" --config acme/acme.ini >log 2>&1 || { cat log; fail "$so is not taken"; }
    done
    tenon list plugins --config acme/acme.ini 2>&1 | grep -q '^acme ' || fail "the copy is not listed"
    tenon list targets --config acme/acme.ini >log 2>&1
    target=acme
    grep -q '^acme .*(plugin acme)' log || target=
    if [ -z "$target" ]; then
        (cd acme && "${MAKE:-make}" -s check) >log 2>&1 || { cat log; fail "make check"; }
        return
    fi
    tenon show pipeline acme --config acme/acme.ini >log 2>&1 || { cat log; fail "its pipeline is not shown"; }
    if tenon diff model.py --exec -t acme --config acme/acme.ini >log 2>&1; then
        tail -n 1 log | grep -q '^[1-9].* 0 differ' || { cat log; fail "nothing was compared"; }
        how="runs a model as the interpreter does"
    elif grep -q 'generates no kernels\|NVRTC.*cannot be opened' log; then
        grep -q NVRTC log || tenon list targets | grep -A 2 "^$backend " | grep -q 'generates no kernels' || { cat log; fail "the original generates kernels"; }
        tenon opt model.py -t acme -p "@library_dispatch, @legalize" --config acme/acme.ini -o after.py >log 2>&1 && tenon diff model.py after.py --exec >log 2>&1 ||
            { cat log; fail "its lists of passes change what a model computes"; }
        how="the pass lists keep what a model computes (no code is generated)"
    elif grep -q 'no device\|finds no\|No such device\|CL_DEVICE_NOT_FOUND' log; then
        tenon compile model.py -t acme --config acme/acme.ini -o model.tno >log 2>&1 || { cat log; fail "does not compile a model"; }
        how="compiles a model (there is no device here)"
    else
        cat log
        fail "does not run a model"
    fi
    # the original beside it is what it was
    tenon list plugins --why --config acme/acme.ini | grep -A 1 '^acme' | grep -q 'refused' && fail "the copy is refused"
}
for b; do
    how="passes its tests"
    one "$b"
    times >times.all # in this shell: a pipe would ask another
    tail -n 1 times.all | tr ' ' '\n' >times.now
    all=$(spent times.now)
    used=$(awk "BEGIN { printf \"%.1f\", $all - ${before:-0} }")
    before=$all
    [ "$status" = 0 ] && echo "$b: copied, built, loaded; $how; $used s of processor time"
    awk "BEGIN { exit !($used > 60) }" && fail "took $used seconds of processor time, more than 60"
done
exit $status
