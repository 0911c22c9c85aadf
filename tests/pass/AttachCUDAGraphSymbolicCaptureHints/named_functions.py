# SPDX-License-Identifier: Apache-2.0
# Functions that the hints name get the list; others, and names without a function, do not matter.
# passes: AttachCUDAGraphSymbolicCaptureHints{hints={"batch_decode": ["batch_size", "n"], "batch_verify": ["n"], "twice": ["n"]}}
@I.ir_module
class Before:
    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2)

    @R.function
    def batch_decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x

    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        return x
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func
    def twice(x: T.Buffer((T.int64(4),), "float32"), y: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            y[i] = x[i] * T.float32(2.0)

    @R.function
    def batch_decode(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        R.func_attr({"relax.rewrite_cuda_graph.capture_symbolic_vars": ["batch_size", "n"]})
        return x

    @R.function
    def prefill(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        return x
