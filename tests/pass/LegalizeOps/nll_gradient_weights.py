# SPDX-License-Identifier: Apache-2.0
# A gradient reads weights by class, of which there may be more or fewer than classes: their number bounds the index.
@I.ir_module
class Before:
    @R.function
    def main(output_grad: R.Tensor((), "float32"), predictions: R.Tensor((2, 3), "float32"), targets: R.Tensor((2,), "int64"), weights: R.Tensor((4,), "float32")) -> R.Tensor((2, 3), "float32"):
        gv: R.Tensor((2, 3), "float32") = R.grad.nll_loss_backward(output_grad, predictions, targets, weights, reduction="mean", ignore_index=-1)
        return gv
# expected:
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def nll_loss_backward(A: T.Buffer((), "float32"), B: T.Buffer((T.int64(2), T.int64(3)), "float32"), C: T.Buffer((T.int64(2),), "int64"), D: T.Buffer((T.int64(4),), "float32"), pred_grad: T.Buffer((T.int64(2), T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        weights_sum = T.sblock_alloc_buffer(())
        for k0 in range(T.int64(2)):
            with T.sblock("weights_sum"):
                v_k0 = T.axis.remap("R", [k0])
                T.reads(C[v_k0], D[T.int64(0):T.int64(4)])
                T.writes(weights_sum[()])
                with T.init():
                    weights_sum[()] = T.float32(0.0)
                weights_sum[()] = weights_sum[()] + T.if_then_else(C[v_k0] != T.int64(-1), D[T.index_in(C[v_k0], T.int64(4), 0, "grad.nll_loss_backward, class")], T.float32(0.0))
        for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock("pred_grad"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(C[v_ax0], D[T.int64(0):T.int64(4)], A[()], weights_sum[()])
                T.writes(pred_grad[v_ax0, v_ax1])
                pred_grad[v_ax0, v_ax1] = T.Select(v_ax1 == C[v_ax0], T.if_then_else(C[v_ax0] != T.int64(-1), D[T.index_in(C[v_ax0], T.int64(4), 0, "grad.nll_loss_backward, class")], T.float32(0.0)) * T.float32(-1.0) * (A[()] / weights_sum[()]), T.float32(0.0))

    @R.function
    def main(output_grad: R.Tensor((), dtype="float32"), predictions: R.Tensor((2, 3), dtype="float32"), targets: R.Tensor((2,), dtype="int64"), weights: R.Tensor((4,), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        cls = Expected
        gv = R.call_tir(cls.nll_loss_backward, (output_grad, predictions, targets, weights), out_ty=R.Tensor((2, 3), dtype="float32"))
        return gv
