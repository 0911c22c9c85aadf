#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An administrator's first hour: an installed Tenon, moved to a folder with blanks and commas in its name; settings edited and
# installed over; targets, pipelines, locks and allow-lists of a site; mistakes that check-config finds; what uninstalling leaves.
# Usage: administrator.sh BUILD EXAMPLES ROOT      (ROOT: below which BUILD was installed, as DESTDIR says)
build=$1 digits=$(cd "$2" && pwd -P) root=$(cd "$3" && pwd -P) status=0
unset TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR TENON_CONFIG LD_LIBRARY_PATH MAKEFLAGS MFLAGS MAKELEVEL
umask 022
work=$(mktemp -d "${TMPDIR:-/tmp}/tenon administrator, XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data
export XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME
fail() { echo "administrator.sh: $*"; tail -n 30 "$work/out" | sed 's/^/    /'; status=1; }
says() { grep -qF -e "$1" "$work/out" || fail "$2: the answer lacks '$1'"; }
run() { "$tenon" "$@" >"$work/out" 2>&1; }
made() { "${MAKE:-make}" -s -C "$build" "$@" DESTDIR="$root" >"$work/out" 2>&1; }

# ---- a tree in a folder of any name ----
tenon=$(find "$root" -path '*/bin/tenon')
etc=$(dirname "$(find "$root" -path '*/tenon/tenon.ini' ! -path '*/installed-settings/*')")
[ -x "$tenon" ] && [ -d "$etc" ] || { echo "administrator.sh: nothing is installed in $root"; exit 99; }
cp -R "$root" "$work/a site, moved"
moved="$work/a site, moved${tenon#"$root"}"
"$moved" run "$digits/digits.onnx" -i "image=$digits/digit7.npy" >"$work/out" 2>&1 && grep -q 'top \[7\]' "$work/out" ||
    fail "the tree does not run in a folder with blanks and commas"
"$moved" check-config >"$work/out" 2>&1 || fail "as installed, something is wrong with the settings"
# A program of one's own and a plugin, made with what pkg-config says of that folder.
pc=$(find "$work/a site, moved" -name tenon-rt.pc)
if [ -n "$pc" ] && command -v pkg-config >/dev/null; then
    example=$(find "$work/a site, moved" -path '*/examples/embed/embed.c')
    (
        PKG_CONFIG_PATH=$(dirname "$pc") PATH=$(dirname "$moved"):$PATH
        export PKG_CONFIG_PATH PATH
        cd "$work" && mkdir "an example" && cp "$(dirname "$example")"/* "$digits"/digit* "an example" && cd "an example" &&
            tenon compile digits.onnx -o digits.tno && "${MAKE:-make}" -s embed embed-static &&
            ./embed digits.tno digit7.npy && ./embed-static digits.tno digit7.npy && cd .. && mkdir plain && cd plain && tenon new-plugin acme &&
            "${MAKE:-make}" -s -C acme && "${MAKE:-make}" -s -C acme check && "${MAKE:-make}" -s -C acme install && tenon list plugins && "${MAKE:-make}" -s -C acme uninstall
    ) >"$work/out" 2>&1 || fail "a program or a plugin cannot be made with such a tree"
    says "probabilities: tensor float32[1, 10]" "the example with such a tree"
    says "acme_rt " "the plugin that is installed there"
    says "modules equal, 0 not" "the operator suite there"
    [ -z "$(find "$work/a site, moved" -name 'acme*')" ] || fail "make uninstall of a plugin leaves files there"
fi
rm -rf "$work/a site, moved"
"${MAKE:-make}" -s -C "$build" install DESTDIR="$work/a b" >"$work/out" 2>&1 && fail "make install does not refuse a blank"
says "libtool takes no blanks" "make install below a blank"

# ---- settings of the site, installed over ----
cat >>"$etc/tenon.ini" <<'END'
threads = 1
END
cat >"$etc/targets/site.ini" <<'END'
[target old]
kind = cpu

[pipeline old]
insert.clean = after FuseTIR: DeadCodeElimination
END
before=$(cat "$etc/tenon.ini")
made install || fail "make install over an installed tree"
[ "$before" = "$(cat "$etc/tenon.ini")" ] || fail "make install overwrites a changed tenon.ini"
says "stays as it was changed" "make install"
run show config || fail "show config"
says "threads = 1" "the edited setting"
printf '; of an older version\n' >"$root/settings"
was=$(find "$root" -path '*/installed-settings/tenon.ini')
cp "$root/settings" "$was" && rm "$root/settings"
made install || fail "make install of a newer version"
[ "$before" = "$(cat "$etc/tenon.ini")" ] && [ -f "$etc/tenon.ini.new" ] || fail "the new file is not beside the changed one"
cp "$was" "$etc/tenon.ini"
made install && [ ! -e "$etc/tenon.ini.new" ] || fail "a file that is as installed is not replaced"

# ---- targets, pipelines, locks, allow-list ----
run show pipeline old || fail "the site's target"
says "DeadCodeElimination" "an inserted pass"
says "site.ini:5" "its origin"
run run "$digits/digits.onnx" -t old || fail "the site's target runs"
cat >"$etc/conf.d-lock" <<'END'
[tenon]
lock = tenon.threads, pipeline.cpu.*, target.cpu.mcpu
plugins = ops, transform, tir, interp, onnx, cpu, cpu_rt
END
mkdir -p "$etc/conf.d" && mv "$etc/conf.d-lock" "$etc/conf.d/lock.ini"
run run "$digits/digits.onnx" --set tenon.threads=2 && fail "a lock does not hold against --set"
says "lock.ini:2" "a locked setting"
run compile "$digits/digits.onnx" -o "$work/x.tno" --debug skip=FuseOps && fail "a lock does not hold against --debug skip"
says "lock.ini:2" "a locked pipeline"
run compile "$digits/digits.onnx" -o "$work/x.tno" --mcpu native && fail "a lock does not hold against --mcpu"
says "lock.ini:2" "a locked attribute"
run run "$digits/digits.onnx" -t null && fail "a plugin that is not allowed serves"
says "[tenon] plugins does not list it" "a plugin that is left out"
run run "$digits/digits.onnx" -i "image=$digits/digit7.npy" || fail "what is allowed works"
run check-config || fail "a right configuration is found wrong"
chmod g+w,o+w "$etc/conf.d/lock.ini"
run run "$digits/digits.onnx" && fail "a file that everybody may write counts"
says "everybody may write" "a file that everybody may write"
chmod go-w "$etc/conf.d/lock.ini"
rm "$etc/conf.d/lock.ini"

# ---- ten mistakes: each with file, line and the nearest name ----
cat >"$etc/conf.d/wrong.ini" <<'END'
[tenon]
threds = 2
plugin_path = /nonexistent/plugins
plugins = *, cppu
default_target = cppu
log = loud
[targett cpu]
mcpu = x86-64
[target mine]
kind = cpuu
[target fast]
kind = cpu
vector_byte = 32
[pass FuseOp]
fuse_opt_level = 1
[pass FuseOps]
fuse_opt_levels = 1
[profile site]
insert.a = after FuseOps: DeadCodeElimintion
[device cppu]
x = 1
[plugin ops]
digest = 123
END
run check-config && fail "check-config finds nothing wrong"
while IFS='|' read -r line text; do
    grep -F -A 3 "wrong.ini:$line:" "$work/out" | grep -qF -e "$text" || fail "the mistake in line $line is not told ('$text')"
done <<'END'
2|did you mean 'threads'
3|'/nonexistent/plugins' in 'plugin_path'
4|'cppu' in 'plugins'
5|did you mean 'cpu'
6|error, warn, info or debug
8|did you mean 'target'
10|did you mean 'cpu'
13|did you mean 'vector_bytes'
15|did you mean [pass FuseOps]
17|did you mean 'fuse_opt_level'
19|did you mean 'DeadCodeElimination'
21|did you mean [device cpu]
23|64 hexadecimal digits
END
run doctor && fail "doctor finds nothing wrong"
says "invalid" "doctor"
rm "$etc/conf.d/wrong.ini"
run check-config || fail "what was corrected is still wrong"

# ---- uninstalling ----
echo 'threads = 3' >>"$etc/tenon.ini"
made uninstall || fail "make uninstall"
says "was changed and stays" "make uninstall"
[ -f "$etc/tenon.ini" ] && [ -f "$etc/targets/site.ini" ] || fail "uninstall takes what the site wrote"
left=$(cd "$root" && find . -type f ! -name tenon.ini ! -name site.ini)
[ -z "$left" ] || { echo "$left" >"$work/out"; fail "uninstall leaves files"; }
left=$(cd "$root" && find . -type d -empty -path '*tenon*')
[ -z "$left" ] || { echo "$left" >"$work/out"; fail "uninstall leaves empty folders"; }
exit $status
