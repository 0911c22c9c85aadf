# SPDX-License-Identifier: Apache-2.0
# What docs/target-opencl.md says about copying the backend works: its lines are typed where pkg-config finds this build as if
# it were installed; the copy is listed beside the original, and passes both suites where there is a device.
command -v pkg-config >/dev/null && pkg-config --exists OpenCL || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "copy.sh: $*"; exit 1; }
unset MAKEFLAGS MFLAGS MAKELEVEL
mkdir -p "$work/bin" "$work/pc" || exit 1
libs=
for d in core/base core kit runtime; do libs="$libs -L$top_builddir/$d/.libs"; done
for p in tenon-base tenon tenon-kit tenon-rt; do
    case $p in
    tenon-kit) l='-ltenon-kit -ltenon -ltenon-base' ;;
    *) l="-l$p -ltenon-base" ;;
    esac
    printf '%s\n' "abi=$(sed -n 's/^abi *= *//p' "$TENON_PLUGIN_PATH/opencl.plugin")" "tenon=$TENON" "libexecdir=$work/bin" \
        "pluginmk=$top_srcdir/kit/vendor/plugin.mk" "Name: $p" "Description: $p" "Version: 0.1.0" "Libs: $libs $l" \
        "Cflags: -I$top_srcdir/include -I$top_builddir/include" >"$work/pc/$p.pc"
done
ln -s "$TENON" "$work/bin/tenon"
ln -s "$top_builddir/tests/device/conformance" "$work/bin/device-conformance"
ln -s "$top_srcdir/kit/vendor/operator-suite" "$work/bin/operator-suite"
PATH=$work/bin:$PATH
PKG_CONFIG_PATH=$work/pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
# a driver's compiler takes long for some of the suite's modules
OPERATORS=$top_srcdir/kit/vendor/operators
if [ -z "$TENON_LONG" ]; then
    OPERATORS=$work/operators
    mkdir "$OPERATORS" && ln -s "$top_srcdir/kit/vendor/operators/elementwise.py" "$top_srcdir/kit/vendor/operators/matmul.py" "$OPERATORS/"
fi
export PATH PKG_CONFIG_PATH OPERATORS
# the lines of the section that are indented by four blanks; the suites' programs look for plugins where TENON_PLUGIN_PATH says
sed -n '/^## Copying the backend/,/^## /s/^    //p' "$top_srcdir/docs/target-opencl.md" >"$work/lines"
[ "$(grep -c . "$work/lines")" -ge 3 ] || fail "the page's lines are not found"
sed '/ check$/d' "$work/lines" >"$work/build" && sed -n '/ check$/p' "$work/lines" >"$work/check"
(cd "$work" && umask 022 && sh -e build) >"$work/log" 2>&1 || { cat "$work/log"; fail "the page's lines do not work"; }
grep -n '\<opencl_\|\<OPENCL_' "$work/mychip"/*.[ch] && fail "the old name is left in the copy"
"$TENON" list targets --config "$work/mychip/mychip.ini" >"$work/log" 2>&1 || { cat "$work/log"; fail "list targets"; }
grep -q '^mychip ' "$work/log" && grep -q '^opencl ' "$work/log" || { cat "$work/log"; fail "the copy is not listed beside the original"; }
(cd "$work" && sh -e check) >"$work/log" 2>&1 || { cat "$work/log"; fail "make check in the copy"; }
grep 'modules equal\|finds no\|no device' "$work/log" || { cat "$work/log"; fail "make check tells nothing"; }
