# SPDX-License-Identifier: Apache-2.0
# What backends/opencl/README.md says about copying the folder works: its lines are run as they stand, the copy is listed beside
# the original, passes the device conformance suite, and computes what the processor computes.
command -v pkg-config >/dev/null && pkg-config --exists OpenCL || exit 77
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() { echo "copy.sh: $*"; exit 1; }
mkdir -p "$work/backends" "$work/pc"
cp -r "$top_srcdir/backends/opencl" "$work/backends/" && chmod -R u+w "$work/backends" || exit 1
libs=
for d in core/base core kit runtime; do libs="$libs -L$top_builddir/$d/.libs"; done
abi=$(sed -n 's/^abi *= *//p' "$TENON_PLUGIN_PATH/opencl.plugin")
for p in tenon-kit tenon-rt; do
    l=-ltenon-rt
    [ $p = tenon-kit ] && l='-ltenon-kit -ltenon'
    printf '%s\n' "abi=$abi" "Name: $p" "Description: $p" "Version: 0.1.0" "Libs: $libs $l -ltenon-base" \
        "Cflags: -I$top_srcdir/include -I$top_builddir/include" >"$work/pc/$p.pc"
done
PKG_CONFIG_PATH=$work/pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
# the lines of the section that are indented by four blanks
sed -n '/^## Copying this folder/,/^## /s/^    //p' "$top_srcdir/backends/opencl/README.md" >"$work/lines"
[ "$(grep -c . "$work/lines")" -ge 10 ] || fail "the README's lines are not found"
(cd "$work" && umask 022 && sh -e "$work/lines") >"$work/log" 2>&1 || { cat "$work/log"; fail "the README's lines do not work"; }
grep -l opencl "$work/mychip"/*.[ch] "$work/mychip"/*.plugin | grep -v codegen.c && fail "the old name is left in the copy"
TENON_PLUGIN_PATH=$work/mychip:$TENON_PLUGIN_PATH
export TENON_PLUGIN_PATH
"$TENON" list targets >"$work/log" 2>&1 || { cat "$work/log"; fail "list targets"; }
grep -q mychip "$work/log" && grep -q opencl "$work/log" || { cat "$work/log"; fail "the copy is not listed beside the original"; }
cat >"$work/model.py" <<'END'
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((5, 33), "float32"), w: R.Tensor((33, 17), "float32")):
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w), axis=-1)
            R.output(y)
        return y
END
"$TENON" compile "$work/model.py" -t mychip -o "$work/model.tno" >"$work/log" 2>&1 || { cat "$work/log"; fail "compiling for the copy"; }
if ! "$TENON" list devices 2>/dev/null | grep -A 1 '^mychip ' | grep -q '^    0: .* / '; then
    echo "no OpenCL device: the copy was built and compiles, but did not run"
    exit 0
fi
"$top_builddir/tests/device/conformance" mychip --module mychip-c "$top_srcdir/tests/device/add.cl" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "conformance of the copy's device half"; }
[ -f "$TENON_PLUGIN_PATH/cpu.so" ] || [ -f "${TENON_PLUGIN_PATH#*:}/cpu.so" ] || exit 0
"$TENON" run "$work/model.py" -t cpu -o "$work/out" >"$work/log" 2>&1 || { cat "$work/log"; fail "running on the processor"; }
"$TENON" run "$work/model.tno" --expect "#0=$(echo "$work/out"/*)" >"$work/log" 2>&1 || { cat "$work/log"; fail "the copy's results"; }
