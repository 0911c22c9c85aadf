# SPDX-License-Identifier: Apache-2.0
# Each allocation and each call of the driver fails, on artifacts for null and cpu.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
set --
for m in branch constants elementwise host_scalars long_names loop matmul symbolic tuples; do
    for device in null cpu; do
        test -f "$TENON_PLUGIN_PATH/${device}_rt.so" || continue
        "$TENON" compile "$top_srcdir/tests/runtime/modules/$m.py" -t $device -o "$work/$m.$device.tno" >"$work/log" 2>&1 ||
            { cat "$work/log"; exit 1; }
        set -- "$@" $device "$work/$m.$device.tno"
    done
done
test $# -gt 0 || exit 77
exec tests/runtime/faults "$@"
