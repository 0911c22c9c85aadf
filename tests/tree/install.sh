#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make install puts everything where it belongs, and the tree works under another path, read-only, through a
# symbolic link. The tree never was at its prefix here, so nothing of the old path can be opened.
tmp=$(mktemp -d "$top_builddir/tests/tree-install.XXXXXX") || exit 99
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
status=0
fail() { echo "install.sh: $*"; status=1; }
unset MAKEFLAGS MFLAGS MAKELEVEL
umask 022
"${MAKE:-make}" -C "$top_builddir" -s install DESTDIR="$tmp/root" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
program=$(find "$tmp/root" -path '*/bin/tenon')
[ -n "$program" ] || { echo "install.sh: no program installed"; exit 1; }
prefix=$(dirname "$(dirname "$program")")
# Settings may lie outside of the prefix, as packages have them (/usr and /etc): then what holds both is moved.
settings=$(dirname "$(find "$tmp/root" -path '*/tenon/tenon.ini')")
case $settings in
"$prefix"/*) whole=$prefix ;;
*) whole=$tmp/root ;;
esac
below=${prefix#"$whole"} settings=$tmp/moved${settings#"$whole"}
mv "$whole" "$tmp/moved"
tree=$tmp/moved$below
chmod -R a-w "$tmp/moved"
ln -s "$tree/bin/tenon" "$tmp/tenon"
for f in lib/pkgconfig/tenon.pc include/tenon/base/status.h; do
    find "$tree" -path "*/${f#lib/}" | grep -q . || fail "$f is not installed"
done
sh "$top_srcdir/tests/tree/installed.sh" "$tmp/tenon" "$tree" "$settings" || status=1
# The tutorials, word for word as they are installed, with a copy of the tree.
if [ -z "${SANITIZE-}" ] && command -v pkg-config >/dev/null; then
    sh "$top_srcdir/tests/vendor/field.sh" "$tree" >"$tmp/page" || [ $? = 77 ] || { fail "a tutorial does not hold"; grep -v '^ok' "$tmp/page"; }
    "$TESTS_PYTHON" "$top_srcdir/tests/tools/pages.py" "$tree" >"$tmp/page" || { fail "a page of docs/ does not hold"; grep -v '^ok' "$tmp/page"; }
    "$TESTS_PYTHON" "$top_srcdir/tests/tree/embedder.py" "$tree" >"$tmp/page" 2>&1 || [ $? = 77 ] ||
        { fail "an embedder's first hour ends badly"; grep -v '^ok' "$tmp/page"; }
    # The largest backend; all of them: make check-vendor.
    sh "$top_srcdir/tests/vendor/newcomer.sh" "$tree" cpu >"$tmp/page" 2>&1 || { fail "a copy of cpu is not usable"; cat "$tmp/page"; }
fi
# A tree with group-writable files (umask 002) serves the user whose own group that is; another user's tree serves
# root, unless a group may write to it: then plugins are refused, and what to do is said.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    owned=$(mktemp -d /tmp/tenon-owned.XXXXXX) && chmod 755 "$owned" && cp -a "$tmp/moved" "$owned/tree"
    chown -R 4711:4711 "$owned/tree" && chmod -R u+w "$owned/tree" && mkdir -m 700 "$owned/cache" && chown 4711 "$owned/cache"
    owned_lists() { # the command's words before tenon
        env -u TENON_PLUGIN_PATH -u TENON_SYSCONFDIR -u TENON_DATADIR -u LD_LIBRARY_PATH XDG_CACHE_HOME="$owned/cache" \
            XDG_CONFIG_HOME=/nonexistent "$@" "$owned/tree$below/bin/tenon" show op nn.relu >"$tmp/owned" 2>&1
    }
    owned_lists || { fail "root cannot use another user's tree"; cat "$tmp/owned"; }
    chmod -R g+w "$owned/tree"
    owned_lists setpriv --reuid 4711 --regid 4711 --clear-groups ||
        { fail "its owner cannot use a tree that his own group may write"; cat "$tmp/owned"; }
    owned_lists && fail "root uses plugins that another user's group may write"
    grep -q 'its group may write' "$tmp/owned" && grep -q 'chmod g-w' "$tmp/owned" ||
        { fail "the refusal does not say why, or what to do"; cat "$tmp/owned"; }
    chmod -R g-w,o+w "$owned/tree"
    owned_lists setpriv --reuid 4711 --regid 4711 --clear-groups && fail "plugins that everybody may write are used"
    grep -q 'everybody may write' "$tmp/owned" || { fail "the refusal does not say why"; cat "$tmp/owned"; }
    rm -rf "$owned"
fi
pc=$(dirname "$(find "$tree" -name tenon-base.pc)")
if command -v pkg-config >/dev/null; then
    dir=$(PKG_CONFIG_PATH=$pc pkg-config --variable=plugindir tenon-base)
    [ -d "$dir" ] || fail "pkg-config says plugindir is $dir, which does not exist"
    cat >"$tmp/program.c" <<'END'
#include <tenon/base/status.h>
#include <stdio.h>
int main(void) { puts(tnb_status_name(TNB_OK)); return 0; }
END
    $CC $(PKG_CONFIG_PATH=$pc pkg-config --cflags tenon-base) "$tmp/program.c" -o "$tmp/program" \
        ${SANITIZE-} $(PKG_CONFIG_PATH=$pc pkg-config --libs tenon-base) -Wl,-rpath,"$tree/lib" ||
        fail "a program cannot be linked with the installed library"
fi
strings -a "$tree/bin/tenon" $(find "$tmp/moved" -name '*.so') 2>/dev/null | grep -F "$top_builddir" &&
    fail "a path of the build is in an installed file"
exit $status
