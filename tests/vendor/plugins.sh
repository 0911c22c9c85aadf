#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugins below this folder, each built against an installed Tenon, away from its sources, and tried with `make check` of
# its own: the suites for vendors, and what it brings along. So are the templates of `tenon new-plugin` that are no backends.
# Usage: plugins.sh [PREFIX [NAME]...]     (without PREFIX: what the build tree installs; all, where none is named)
here=$(cd "$(dirname "$0")" && pwd -P) || exit 99
work=$(mktemp -d "${TMPDIR:-/tmp}/tenon-plugins.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
if [ -z "$1" ]; then
    "${MAKE:-make}" -C "$top_builddir" -s install DESTDIR="$work/root" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
    set -- "$(dirname "$(dirname "$(find "$work/root" -path '*/bin/tenon')")")"
    "$1/bin/tenon" --version >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
fi
prefix=$(cd "$1" && pwd -P) || exit 99
shift
unset TENON TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR TENON_CONFIG LD_LIBRARY_PATH MAKEFLAGS MFLAGS MAKELEVEL
XDG_CONFIG_HOME=/nonexistent
XDG_CACHE_HOME=$work/cache
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tenon.pc)")
export XDG_CONFIG_HOME XDG_CACHE_HOME PKG_CONFIG_PATH
templates=$(cd "$prefix"/share/*/backends 2>/dev/null && grep -l '^checks' */backend.ini | sed 's|/.*||' | grep -vx 'cpu\|cuda\|gpu_generic\|null\|opencl')
[ $# -gt 0 ] || set -- $(cd "$here" && ls */Makefile | sed 's|/.*||') $templates
status=0
for name; do
    if [ -d "$here/$name" ]; then
        cp -R "$here/$name" "$work/$name" && chmod -R u+w,go-w "$work/$name" || exit 99
    else # a template of new-plugin
        "$prefix/bin/tenon" new-plugin "own_$name" "$work/$name" --from "$name" >"$work/log" 2>&1 || { cat "$work/log"; status=1; continue; }
    fi
    if "${MAKE:-make}" -s -C "$work/$name" CC="${CC:-cc}" CFLAGS="-O1 -g -Wall -Wextra -Werror -Wno-missing-field-initializers" check >"$work/log" 2>&1; then
        echo "$name: built and tried; $(grep -c '^ok  *[0-9]' "$work/log") checks of a device, $(grep -c '^ok .*: .* 0 differ' "$work/log") modules compared"
        grep '^[a-z]*\.sh: ' "$work/log"
    else
        cat "$work/log"
        echo "plugins.sh: make check of $name fails"
        status=1
    fi
done
exit $status
