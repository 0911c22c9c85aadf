# SPDX-License-Identifier: Apache-2.0
# passes: DecomposeOpsForInference{func_name="other"}
# Only the function named; data of unknown rank stays as it is.
@I.ir_module
class Before:
    @R.function
    def other(x: R.Tensor((2, 3), "float16"), p: R.Tensor((3,), "float16"), u: R.Tensor(dtype="float16")):
        a = R.nn.batch_norm(x, p, p, p, p, axis=-1)
        b = R.nn.batch_norm(u, p, p, p, p, axis=0)
        return (a, b)

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), p: R.Tensor((3,), "float32")):
        a = R.nn.batch_norm(x, p, p, p, p, axis=1)
        return a
# expected:
# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def other(x: R.Tensor((2, 3), dtype="float16"), p: R.Tensor((3,), dtype="float16"), u: R.Tensor(dtype="float16")) -> R.Tuple(R.Tuple(R.Tensor((2, 3), dtype="float16"), R.Tensor((3,), dtype="float16"), R.Tensor((3,), dtype="float16")), R.Tuple(R.Tensor(dtype="float16"), R.Tensor((3,), dtype="float16"), R.Tensor((3,), dtype="float16"))):
        gv: R.Tensor((1, 3), dtype="float16") = R.expand_dims(p, axis=[0])
        gv_1: R.Tensor((2, 3), dtype="float16") = R.subtract(x, gv)
        gv_2: R.Tensor((1, 3), dtype="float16") = R.expand_dims(p, axis=[0])
        gv_3: R.Tensor((1, 3), dtype="float16") = R.add(gv_2, R.const(1.001358e-05, "float16"))
        gv_4: R.Tensor((1, 3), dtype="float16") = R.sqrt(gv_3)
        gv_5: R.Tensor((2, 3), dtype="float16") = R.divide(gv_1, gv_4)
        gv_6: R.Tensor((1, 3), dtype="float16") = R.expand_dims(p, axis=[0])
        gv_7: R.Tensor((2, 3), dtype="float16") = R.multiply(gv_5, gv_6)
        gv_8: R.Tensor((1, 3), dtype="float16") = R.expand_dims(p, axis=[0])
        gv_9: R.Tensor((2, 3), dtype="float16") = R.add(gv_7, gv_8)
        a: R.Tuple(R.Tensor((2, 3), dtype="float16"), R.Tensor((3,), dtype="float16"), R.Tensor((3,), dtype="float16")) = (gv_9, p, p)
        b: R.Tuple(R.Tensor(dtype="float16"), R.Tensor((3,), dtype="float16"), R.Tensor((3,), dtype="float16")) = R.nn.batch_norm(u, p, p, p, p, axis=0, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=True)
        return (a, b)

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), p: R.Tensor((3,), dtype="float32")) -> R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")):
        a: R.Tuple(R.Tensor((2, 3), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")) = R.nn.batch_norm(x, p, p, p, p, axis=1, epsilon=1e-05, center=True, scale=True, momentum=0.1, training=True)
        return a
