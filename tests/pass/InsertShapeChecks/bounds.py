# SPDX-License-Identifier: Apache-2.0
# A bound that was checked before simplifies what comes after: no max(g, 1) is left where g is 1 or more.
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((1, 1, "g"), "float32"), q: R.Tensor((2, 3, "h", 4), "float32"), k: R.Tensor((2, 5, "g", 4), "float32"), v: R.Tensor((2, 5, "g", 4), "float32")):
        y = R.image.resize1d(x, R.shape([7]), layout="NCW", method="linear")
        z = R.nn.attention(q, k, v)
        return y, z
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor((1, 1, "g"), dtype="float32"), q: R.Tensor((2, 3, "h", 4), dtype="float32"), k: R.Tensor((2, 5, "g", 4), dtype="float32"), v: R.Tensor((2, 5, "g", 4), dtype="float32")) -> R.Tuple(R.Tensor((1, 1, 7), dtype="float32"), R.Tensor((2, 3, "h", 4), dtype="float32")):
        g = T.int64()
        h = T.int64()
        R.func_attr({"relax.force_pure": True})
        R.assert_op(R.prim_value(0 < g), g, g, format="line 7 (relax.image.resize1d): the data has {} elements along axis W to resize from; axis 2 of 'x' is {}")
        R.assert_op(R.prim_value(h % g == 0), h, g, h, g, format="line 8 (relax.nn.attention): query has {} heads, key {}, which do not divide them; axis 2 of 'q' is {}, axis 2 of 'x' is {}")
        y: R.Tensor((1, 1, 7), dtype="float32") = R.image.resize1d(x, R.shape([7]), roi=[0.0, 0.0], layout="NCW", method="linear", coordinate_transformation_mode="half_pixel", rounding_method="round", cubic_alpha=-0.75, cubic_exclude=0, extrapolation_value=0.0, scales=None, antialias=False, out_dtype=None)
        z: R.Tensor((2, 3, h, 4), dtype="float32") = R.nn.attention(q, k, v, scale=None, causal_mask=None, window_size=None)
        return (y, z)
