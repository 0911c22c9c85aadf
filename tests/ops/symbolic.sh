# SPDX-License-Identifier: Apache-2.0
# Programs of operators with symbolic blocks of channels, head sizes and lengths of index vectors compute what the programs for
# the same numbers compute; extents that do not fit the layout or the ranks are refused, known ones while reading.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > module.py <<'MODULE'
@I.ir_module
class Module:
    @R.function
    def conv(x: R.Tensor(("n", "c", "h", 6, "b"), "float32"), w: R.Tensor(("o", "i", 3, 3, "b"), "float32")):
        gv = R.nn.conv2d(x, w, data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c")
        return gv

    @R.function
    def grouped(x: R.Tensor((1, "c", 5, 5, 4), "float32"), w: R.Tensor(("o", "i", 3, 3), "float32")):
        gv = R.nn.conv2d(x, w, groups=2, data_layout="NCHW4c", kernel_layout="OIHW", out_layout="NCHW4c")
        return gv

    @R.function
    def attention(q: R.Tensor((2, "s", "h", "d"), "float32"), k: R.Tensor((2, "t", "g", "d"), "float32"), v: R.Tensor((2, "t", "g", 5), "float32")):
        gv = R.nn.attention(q, k, v)
        return gv

    @R.function
    def scatter(x: R.Tensor((3, 4, "l"), "float32"), at: R.Tensor(("m", "k"), "int64"), u: R.Tensor(("m", "l"), "float32")):
        gv = R.scatter_nd(x, at, u, reduction="add")
        return gv
MODULE
bind() { # function extents
    printf 'BindSymbolicVars{binding_map={%s}, func_name="%s"}' "$2" "$1"
}
numbers="$(bind conv '"n":1,"c":2,"h":7,"b":4,"i":8,"o":3'), $(bind grouped '"c":2,"i":4,"o":4'),
    $(bind attention '"s":3,"t":4,"h":6,"g":2,"d":4'), $(bind scatter '"l":5,"m":4,"k":2')"
"$TENON" opt module.py -p LegalizeOps -o symbolic.py
"$TENON" opt symbolic.py -p "$numbers" -o late.py
"$TENON" opt module.py -p "$numbers, LegalizeOps" -o early.py
"$TENON" diff --exec late.py early.py | tee out
grep -q '^4 functions run, 516 elements compared, .* 0 differ' out
refused() { # function extents text
    if "$TENON" opt module.py -p "$(bind "$1" "$2")" > out 2>&1 || ! grep -qF "$3" out; then
        echo "$1 with $2:" && cat out && exit 1
    fi
}
refused conv '"b":3' 'the data has extent 3 in axis 4, its layout NCHW4c wants 4'
refused scatter '"k":3' 'indices of '
"$TENON" opt module.py -p InsertShapeChecks -o checked.py
for text in 'the data has extent {} in axis 4, its layout NCHW4c wants {}' 'axis C has extent {}, which is no multiple of the blocks of NCHW4c' \
    'the index vectors have length {}, the ranks of data and updates want {}'; do
    grep -qF "$text" checked.py || { echo "not checked at run time: $text"; exit 1; }
done
