#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An installed tree works: its program answers, finds its plugins and INI files where it lies now, compiles and runs.
# Usage: installed.sh PROGRAM PREFIX [FOLDER OF SETTINGS]
tenon=$1 prefix=$2 settings=${3-$2} status=0
fail() { echo "installed.sh: $*"; status=1; }
unset TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR TENON_CONFIG LD_LIBRARY_PATH
XDG_CONFIG_HOME=/nonexistent; export XDG_CONFIG_HOME

"$tenon" --version >/dev/null || fail "$tenon --version fails"
if [ -d "$prefix/share/man" ]; then
    for c in $("$tenon" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'); do
        [ -n "$(find "$prefix/share/man" -name "tenon-$c.1*")" ] || fail "tenon-$c.1 is not installed"
    done
fi
find "$prefix" -name '*.la' | grep . && fail "libtool's .la files are installed"
for so in $(find "$prefix" -name '*.so' -type f) "$tenon"; do
    paths=$(readelf -d "$so" 2>/dev/null | sed -n 's/.*R.*PATH.*\[\(.*\)\]/\1/p')
    case ":$paths" in
    *:/*) fail "$so has an absolute run path: $paths" ;;
    esac
done
work=$(mktemp -d "${TMPDIR:-/tmp}/tenon-installed.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
XDG_CACHE_HOME=$work/cache; export XDG_CACHE_HOME
if "$tenon" list plugins >"$work/list" 2>&1; then
    for m in $(find "$prefix" -name '*.plugin' ! -path '*/share/*'); do # those below share are for copies
        name=$(sed -n 's/^name *= *//p' "$m")
        grep -q "$name" "$work/list" || fail "plugin $name is not listed"
    done
else
    fail "tenon list plugins fails"
    cat "$work/list"
fi
"$tenon" show config >"$work/config" 2>&1 || fail "tenon show config fails"
grep -q "; $(cd "$settings" && pwd -P)/.*\.ini:" "$work/config" || {
    fail "no setting comes from $settings"
    head -n 20 "$work/config"
}
if find "$prefix" -name onnx.plugin | grep -q . && find "$prefix" -name cpu.plugin | grep -q .; then
    digits=$(cd "$(dirname "$0")/../../examples/digits" && pwd)
    "$tenon" compile "$digits/digits.onnx" -o "$work/digits.tno" 2>"$work/err" || { fail "compile fails"; cat "$work/err"; }
    "$tenon" run "$work/digits.tno" -i "image=$digits/digit7.npy" >"$work/out" 2>&1 || fail "run fails"
    grep -q 'top \[7\]' "$work/out" || { fail "digit 7 is not read as 7"; cat "$work/out"; }
fi
exit $status
