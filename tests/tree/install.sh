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
mv "$prefix" "$tmp/moved"
chmod -R a-w "$tmp/moved"
ln -s "$tmp/moved/bin/tenon" "$tmp/tenon"
for f in lib/pkgconfig/tenon.pc include/tenon/base/status.h; do
    find "$tmp/moved" -path "*/${f#lib/}" | grep -q . || fail "$f is not installed"
done
sh "$top_srcdir/tests/tree/installed.sh" "$tmp/tenon" "$tmp/moved" || status=1
pc=$(dirname "$(find "$tmp/moved" -name tenon-base.pc)")
if command -v pkg-config >/dev/null; then
    dir=$(PKG_CONFIG_PATH=$pc pkg-config --variable=plugindir tenon-base)
    [ -d "$dir" ] || fail "pkg-config says plugindir is $dir, which does not exist"
    cat >"$tmp/program.c" <<'END'
#include <tenon/base/status.h>
#include <stdio.h>
int main(void) { puts(tnb_status_name(TNB_OK)); return 0; }
END
    $CC $(PKG_CONFIG_PATH=$pc pkg-config --cflags tenon-base) "$tmp/program.c" -o "$tmp/program" \
        ${SANITIZE-} $(PKG_CONFIG_PATH=$pc pkg-config --libs tenon-base) -Wl,-rpath,"$tmp/moved/lib" ||
        fail "a program cannot be linked with the installed library"
fi
strings -a "$tmp/moved/bin/tenon" $(find "$tmp/moved" -name '*.so') 2>/dev/null | grep -F "$top_builddir" &&
    fail "a path of the build is in an installed file"
exit $status
