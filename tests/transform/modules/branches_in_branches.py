# SPDX-License-Identifier: Apache-2.0
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((6, 8), "float32"), w: R.Tensor((8, 8), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((6, 8), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            wt = R.permute_dims(w)
            a = R.matmul(x, wt)
            b = R.nn.softmax(a, axis=-1)
            R.output(a, b)
        if c:
            with R.dataflow():
                d0 = R.add(a, b)
                d1 = R.nn.relu(d0)
                d2 = R.matmul(d1, w)
                R.output(d2)
            if c:
                o: R.Tensor((6, 8), "float32") = R.add(d2, a)
            else:
                o: R.Tensor((6, 8), "float32") = R.multiply(d2, a)
            z: R.Tensor((6, 8), "float32") = o
        else:
            z: R.Tensor((6, 8), "float32") = R.subtract(a, b)
        y = R.add(z, a)
        return y
