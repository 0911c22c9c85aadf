#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An installed tree works: its program answers and finds its plugins and INI files where it lies now.
# Usage: installed.sh PROGRAM PREFIX
tenon=$1 prefix=$2 status=0
fail() { echo "installed.sh: $*"; status=1; }
unset TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR TENON_CONFIG LD_LIBRARY_PATH
XDG_CONFIG_HOME=/nonexistent; export XDG_CONFIG_HOME

"$tenon" --version >/dev/null || fail "$tenon --version fails"
find "$prefix" -name '*.la' | grep . && fail "libtool's .la files are installed"
for so in $(find "$prefix" -name '*.so' -type f) "$tenon"; do
    paths=$(readelf -d "$so" 2>/dev/null | sed -n 's/.*R.*PATH.*\[\(.*\)\]/\1/p')
    case ":$paths" in
    *:/*) fail "$so has an absolute run path: $paths" ;;
    esac
done
if "$tenon" list plugins >"${TMPDIR:-/tmp}/tenon-list.$$" 2>&1; then
    for m in $(find "$prefix" -name '*.plugin'); do
        name=$(sed -n 's/^name *= *//p' "$m")
        grep -q "$name" "${TMPDIR:-/tmp}/tenon-list.$$" || fail "plugin $name is not listed"
    done
else
    fail "tenon list plugins fails"
    cat "${TMPDIR:-/tmp}/tenon-list.$$"
fi
rm -f "${TMPDIR:-/tmp}/tenon-list.$$"
exit $status
