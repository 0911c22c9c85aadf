#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# configure --disable-shared --with-static-plugins=all makes one program that needs no plugin folder; where some
# plugins are linked in, the others are modules, and a folder given by the user comes first; a demanded digest, which
# nothing linked in can have, is refused.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tenon-static.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL TENON_PLUGIN_PATH LD_LIBRARY_PATH
status=0
fail() { echo "static.sh: $*"; cat "$tmp/out"; status=1; }
build() { # folder, plugins, option
    mkdir "$tmp/$1" && cd "$tmp/$1" || exit 99
    { "$top_srcdir/configure" -q CC="$CC" CFLAGS="-O1" --with-static-plugins="$2" ${3-} && "${MAKE:-make}" -s -j2; } >"$tmp/out" 2>&1 ||
        { tail "$tmp/out"; exit 1; }
}
build all all --disable-shared
build some cpu,cpu_rt,ops
all=$tmp/all/tools/tenon some=$tmp/some/tools/tenon
ls "$tmp/all/plugins-stage/"*.so >"$tmp/out" 2>/dev/null && fail "there are modules without shared libraries"
nm "$all" 2>/dev/null | grep -q ' tnk_describe_tables$' || fail "the kit does not say what entries have to have"
model=$(ls "$top_srcdir"/examples/digits/*.onnx | head -n 1)
"$all" list plugins --why >"$tmp/out" 2>&1 || fail "the plugins cannot be listed"
[ "$(grep -c 'ready: linked into the program' "$tmp/out")" -ge 10 ] || fail "less than ten plugins are linked in"
"$all" compile "$model" -o "$tmp/model.tno" >"$tmp/out" 2>&1 || fail "cannot compile without a plugin folder"
"$all" run "$tmp/model.tno" >"$tmp/out" 2>&1 || fail "cannot run without a plugin folder"
"$some" list plugins --why --plugin-path "$tmp/some/plugins-stage" >"$tmp/out" 2>&1
grep -q 'ready: found through --plugin-path' "$tmp/out" && grep -q 'hidden: ' "$tmp/out" ||
    fail "a folder given by the user does not come first"
printf '[plugin ops]\ndigest = %064d\n' 0 >"$tmp/site.ini" && chmod go-w "$tmp/site.ini"
"$all" show op nn.relu --config "$tmp/site.ini" >"$tmp/out" 2>&1 && fail "a digest is demanded and not checked"
grep -q "'ops' is linked into the program" "$tmp/out" || fail "the refusal does not say why"
"$some" run "$model" >"$tmp/out" 2>&1 || fail "linked plugins and modules do not work together"
"$some" list plugins --why >"$tmp/out" 2>&1
[ "$(grep -c 'linked into the program' "$tmp/out")" = 3 ] || fail "not just the three that were asked for are linked in"
exit $status
