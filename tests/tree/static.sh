#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# configure --disable-shared makes one program that holds every plugin and needs no plugin folder; where some
# plugins are linked in, the others are modules, and a folder given by the user comes first; a demanded digest, which
# nothing linked in can have, is refused.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/tenon-static.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL TENON_PLUGIN_PATH LD_LIBRARY_PATH
status=0
fail() { echo "static.sh: $*"; cat "$tmp/out"; status=1; }
build() { # folder, options
    mkdir "$tmp/$1" && cd "$tmp/$1" || exit 99
    { "$top_srcdir/configure" -q CC="$CC" CFLAGS="-O1" $2 && "${MAKE:-make}" -s -j2; } >"$tmp/out" 2>&1 ||
        { tail "$tmp/out"; exit 1; }
}
build all "--enable-static --disable-shared"
build some --with-static-plugins=cpu,cpu_rt,ops
mkdir "$tmp/none" && cd "$tmp/none" && "$top_srcdir/configure" -q CC="$CC" --disable-shared --without-static-plugins >"$tmp/out" 2>&1 &&
    fail "neither modules nor plugins that are linked in, and configure says nothing"
grep -q 'with --disable-shared plugins cannot be modules' "$tmp/out" || fail "configure does not say why there would be no plugins"
all=$tmp/all/tools/tenon some=$tmp/some/tools/tenon
ls "$tmp/all/plugins-stage/"*.so >"$tmp/out" 2>/dev/null && fail "there are modules without shared libraries"
model=$(ls "$top_srcdir"/examples/digits/*.onnx | head -n 1)
"$all" list plugins --why >"$tmp/out" 2>&1 || fail "the plugins cannot be listed"
awk '/^[^ ]/ { name = $1 } /ready: linked into the program/ { print name }' "$tmp/out" | sort >"$tmp/linked"
"$TENON" list plugins --names 2>"$tmp/out" | sort >"$tmp/built" && [ "$(wc -l <"$tmp/built")" -ge 10 ] || fail "the plugins of the build are not listed"
comm -13 "$tmp/linked" "$tmp/built" >"$tmp/out"
[ -s "$tmp/out" ] && fail "plugins that are built and not linked in"
"$all" compile "$model" -o "$tmp/model.tno" >"$tmp/out" 2>&1 || fail "cannot compile without a plugin folder"
"$all" run "$tmp/model.tno" >"$tmp/out" 2>&1 || fail "cannot run without a plugin folder"
if "$all" generate --help >"$tmp/out" 2>&1; then
    "$all" generate "$top_srcdir/examples/stories" --prompt 'Once' --max-tokens 3 >"$tmp/out" 2>&1 || fail "a language model does not run"
fi
"$some" list plugins --why --plugin-path "$tmp/some/plugins-stage" >"$tmp/out" 2>&1
grep -q 'ready: found through --plugin-path' "$tmp/out" && grep -q 'hidden: ' "$tmp/out" ||
    fail "a folder given by the user does not come first"
printf '[plugin ops]\ndigest = %064d\n' 0 >"$tmp/site.ini" && chmod go-w "$tmp/site.ini"
"$all" show op nn.relu --config "$tmp/site.ini" >"$tmp/out" 2>&1 && fail "a digest is demanded and not checked"
grep -q "'ops' is linked into the program" "$tmp/out" || fail "the refusal does not say why"
"$some" run "$model" >"$tmp/out" 2>&1 || fail "linked plugins and modules do not work together"
"$some" list plugins --why >"$tmp/out" 2>&1
[ "$(grep -c 'linked into the program' "$tmp/out")" = 3 ] || fail "not just the three that were asked for are linked in"

# ---- programs with what is installed, where there are static libraries only ----
unset DESTDIR
"${MAKE:-make}" -s -C "$tmp/all" install DESTDIR="$tmp/root" >"$tmp/out" 2>&1 || fail "make install"
installed=$(find "$tmp/root" -path '*/bin/tenon')
PKG_CONFIG_PATH=$(dirname "$(find "$tmp/root" -name tenon-rt.pc)")
export PKG_CONFIG_PATH
cd "$(dirname "$(find "$tmp/root" -path '*/examples/embed/embed.c')")" || exit 99
# libraries that a static one needs are told also without --static; that program has no device, as no driver is linked in
"${MAKE:-make}" -s embed CC="$CC" >"$tmp/out" 2>&1 || fail "the installed example does not link"
./embed "$tmp/model.tno" "$top_srcdir/examples/digits/digit7.npy" >"$tmp/out" 2>&1 && fail "a program without a driver runs"
grep -q "no device 'cpu': no plugin was found" "$tmp/out" && grep -q 'names its devices itself' "$tmp/out" || fail "a program without a driver does not say why"
"${MAKE:-make}" -s clean && "${MAKE:-make}" -s embed PKG_CONFIG="pkg-config --static" CC="$CC" >"$tmp/out" 2>&1 || fail "the installed example does not link with pkg-config --static"
"${MAKE:-make}" -s embed-static CC="$CC" >"$tmp/out" 2>&1 || fail "the installed example with the device does not link"
./embed-static "$tmp/model.tno" "$top_srcdir/examples/digits/digit7.npy" >"$tmp/out" 2>&1 && grep -q '^probabilities: ' "$tmp/out" ||
    fail "the installed example does not run"
"$installed" run "$model" >"$tmp/out" 2>&1 || fail "the installed program does not run"
# the kit says what entries have to have when a target is looked for, also where nothing loads it
cat >"$tmp/kit.c" <<'END'
#include <stdio.h>
#include "tenon/base/conf.h"
#include "tenon/core/build.h"
#include "tenon/kit/driver.h"
#include "tenon/kit/rule.h"
static const tnk_rule rule = {.base = {sizeof rule, "mine.Rule", "without apply"}};
static const tnk_rule *const rules[] = {&rule};
TN_PLUGIN(mine, "1.0", "MIT-0", "for tests", .rules = rules, .n_rules = 1);
int
main(void)
{
    tnb_err err = {0};
    tnb_conf *conf = tnb_conf_load(&(tnb_conf_options){0}, tnb_diags_new());
    tn_registry *r = tn_registry_new(NULL);
    tnk_target t;
    if (tnk_target_find(tn_ctx_new(r), conf, "null", &t) || tn_registry_add(r, &tn_plugin, &err) == TNB_OK)
        return 1;
    puts(err.message);
    return 0;
}
END
$CC -std=gnu17 "$tmp/kit.c" -o "$tmp/kit" $(pkg-config --cflags --libs tenon-kit) >"$tmp/out" 2>&1 || fail "a program with the kit does not link"
TENON_CONFIG= "$tmp/kit" >"$tmp/out" 2>&1 && grep -q "the rule 'mine.Rule' has no .apply" "$tmp/out" || fail "the kit takes a rule that lacks what it has to have"
exit $status
