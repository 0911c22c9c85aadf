# SPDX-License-Identifier: Apache-2.0
# A tarball holds all that is checked in (Makefile.am, dist-complete).
[ -e "$top_srcdir/.git" ] && command -v git >/dev/null && git -C "$top_srcdir" ls-files >/dev/null 2>&1 || exit 77
tmp=$(mktemp -d "$top_builddir/tests/tree-tarball.XXXXXX") || exit 99
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
"${MAKE:-make}" -C "$top_builddir" -s distdir distdir="tests/$(basename "$tmp")/tree" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
[ -e "$tmp/tree/configure" ] || { echo "tarball.sh: nothing was made"; exit 1; }
