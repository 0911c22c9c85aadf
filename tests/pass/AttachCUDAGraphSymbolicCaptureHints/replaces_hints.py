# SPDX-License-Identifier: Apache-2.0
# A hint replaces what stands there; an empty one allows no variable.
# passes: AttachCUDAGraphSymbolicCaptureHints{hints={"main": []}}
@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        R.func_attr({"relax.rewrite_cuda_graph.capture_symbolic_vars": ["n"]})
        return x

    @R.function
    def other(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        R.func_attr({"relax.rewrite_cuda_graph.capture_symbolic_vars": ["n"]})
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def other(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"relax.rewrite_cuda_graph.capture_symbolic_vars": ["n"]})
        return x

    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"relax.rewrite_cuda_graph.capture_symbolic_vars": []})
        return x
