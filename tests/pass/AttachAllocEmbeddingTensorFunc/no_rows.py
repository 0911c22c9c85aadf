# SPDX-License-Identifier: Apache-2.0
# embed gives rows.
# passes: AttachAllocEmbeddingTensorFunc{prefill_chunk_size=64}
# error: 'embed' gives
@I.ir_module
class Before:
    @R.function
    def embed(x: R.Tensor((8,), "float16")) -> R.Tensor((8,), "float16"):
        return x
