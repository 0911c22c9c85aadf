#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs into a folder of its own and plays the first hour of a newcomer and of an administrator there.
root=$(mktemp -d "$top_builddir/tests/firsthour.XXXXXX") || exit 99
trap 'rm -rf "$root"' EXIT
status=0
(
    unset MAKEFLAGS MFLAGS MAKELEVEL
    umask 022
    "${MAKE:-make}" -C "$top_builddir" -s install DESTDIR="$root" >"$root.log" 2>&1
) || { cat "$root.log"; rm -f "$root.log"; exit 1; }
rm -f "$root.log"
prefix=$(dirname "$(dirname "$(find "$root" -path '*/bin/tenon')")")
for plugin in onnx cpu; do
    find "$prefix" -name $plugin.plugin ! -path '*/share/*' | grep -q . || { echo "without the plugin $plugin there is no first hour"; exit 77; }
done
sh "$top_srcdir/tests/firsthour/newcomer.sh" "$prefix" "$top_srcdir/examples/digits" || status=1
sh "$top_srcdir/tests/firsthour/administrator.sh" "$top_builddir" "$top_srcdir/examples/digits" "$root" || status=1
exit $status
