# SPDX-License-Identifier: Apache-2.0
"""Exports a small model of MLC-LLM's definitions with random weights, and what TVM computes with it.

    mlc_export.py MODEL QUANTIZATION FOLDER [module]

FOLDER becomes one for `tenon generate`: model.py, metadata.json, mlc-chat-config.json, tensor-cache.json and its shards. logits.npy has the logits
behind the last token of the prompt and behind each token that follows it (`IDS`), logits.json the tokens. `module`:
model.py alone. Needs apache-tvm 0.26 and the folder TENON_MLC, a checkout of MLC-LLM; its compiled library is not needed.
"""
import importlib
import json
import logging
import os
import sys
import types

os.environ["SKIP_LOADING_MLCLLM_SO"] = "1"
package = types.ModuleType("mlc_llm")  # its own __init__ loads the engine
package.__path__ = [os.path.join(os.environ["TENON_MLC"], "python", "mlc_llm")]
sys.modules["mlc_llm"] = package
logging.disable(logging.CRITICAL)

import numpy as np  # noqa: E402
import tvm  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.contrib import tvmjs  # noqa: E402

from mlc_llm import op as op_ext  # noqa: E402
from mlc_llm.interface import compile as mlc_compile  # noqa: E402
from mlc_llm.model import MODELS  # noqa: E402
from mlc_llm.quantization import QUANTIZATION  # noqa: E402

importlib.import_module("mlc_llm.compiler_pass.pipeline")
VOCAB, PROMPT = 512, 9
IDS = [79, 110, 99, 101, 32, 117, 112, 111, 110, 225, 414, 254, 232, 138, 461]
CALLED = ("embed", "prefill", "decode", "create_paged_kv_cache")
SMALL = dict(hidden_size=64, intermediate_size=128, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, vocab_size=VOCAB,
             rms_norm_eps=1e-5, context_window_size=128, prefill_chunk_size=32, max_batch_size=4, head_dim=16, rope_theta=10000.0,
             max_position_embeddings=128, attention_bias=False, use_cache=True, bos_token_id=1, eos_token_id=2, pad_token_id=0,
             initializer_range=0.02, tie_word_embeddings=False, layer_norm_eps=1e-5, layer_norm_epsilon=1e-5, hidden_act="silu",
             rotary_emb_base=10000, n_embd=64, n_layer=2, n_head=4, n_positions=128)
EXPERTS = dict(moe_intermediate_size=64, num_experts_per_tok=2, num_experts=4, decoder_sparse_step=1, norm_topk_prob=True)
MORE = {
    "llama": {}, "qwen3": {}, "baichuan": {}, "qwen2": {}, "olmo": dict(clip_qkv=None), "internlm": dict(bias=True), "internlm2": dict(bias=False),
    "mistral": dict(sliding_window_size=12, attention_sink_size=4, context_window_size=-1),
    "qwen": dict(intermediate_size=256, kv_channels=16, scale_attn_weights=True, seq_length=128),
    "gemma": dict(hidden_activation="gelu_pytorch_tanh"),
    "gemma2": dict(hidden_activation="gelu_pytorch_tanh", attn_logit_softcapping=50.0, final_logit_softcapping=30.0, query_pre_attn_scalar=16,
                   sliding_window=64),
    "phi": dict(model_type="phi", partial_rotary_factor=0.5, hidden_act="gelu_new"),
    "phi3": dict(model_type="phi3", original_max_position_embeddings=128, rope_scaling=None, partial_rotary_factor=1.0),
    "gpt2": {}, "gpt_neox": dict(use_parallel_residual=True, rotary_pct=0.5, ffn_out_dtype="float32"),
    "gptj": dict(n_inner=128, rotary_dim=8, activation_function="gelu_new"), "stablelm": dict(partial_rotary_factor=0.5, use_qkv_bias=False),
    "chatglm": dict(num_layers=2, kv_channels=16, ffn_hidden_size=128, layernorm_epsilon=1e-5, post_layer_norm=True, padded_vocab_size=VOCAB,
                    add_bias_linear=False, add_qkv_bias=True, apply_query_key_layer_scaling=True, multi_query_attention=True,
                    multi_query_group_num=2, rmsnorm=True, seq_length=128, hidden_dropout=0.0, attention_dropout=0.0, bias_dropout_fusion=True),
    "starcoder2": dict(norm_epsilon=1e-5, use_bias=True, hidden_act="gelu_pytorch_tanh"),
    "minicpm": dict(scale_emb=12, scale_depth=1.4, dim_model_base=32, num_experts=0, num_experts_per_tok=0),
    "cohere": dict(logit_scale=0.0625, attention_dropout=0.0), "mixtral": dict(num_local_experts=4, num_experts_per_tok=2),
    "qwen2_moe": dict(EXPERTS, shared_expert_intermediate_size=64), "qwen3_moe": EXPERTS,
}


def build(name, quantization):
    """The module, its parameters in order, and what MLC-LLM calls its metadata."""
    model, quant = MODELS[name], QUANTIZATION[quantization]
    config = model.config.from_dict({**SMALL, **MORE[name]})
    config.kwargs = {}
    target = tvm.target.Target("llvm")
    with target:
        op_ext.enable(target=target, flashinfer=False, faster_transformer=False, cutlass=False)
        made, _ = model.quantize[quant.kind](config, quant)
        module, params, extern = made.export_tvm(spec=made.get_default_spec(), allow_extern=True)
        more = mlc_compile._apply_preproc_to_params_and_check_pipeline(params, config)
    numbers = {k: getattr(config, k, -1) for k in ("context_window_size", "sliding_window_size", "attention_sink_size", "prefill_chunk_size",
                                                   "tensor_parallel_shards")}
    metadata = {"model_type": name, "quantization": quantization, **numbers, "pipeline_parallel_stages": 1, "max_batch_size": 4,
                "params": [{"name": n, "shape": [s if isinstance(s, int) else s.name for s in p.shape], "dtype": str(p.dtype),
                            "preprocs": [list(map(str, x)) for x in p.attrs["preprocs"]]} for n, p in params]}
    return target, module, metadata, more, extern


def draw(metadata, rng):
    """Weights of a size that lets logits spread by about 1."""
    out = {}
    for p in metadata["params"]:
        shape, name = [VOCAB if isinstance(s, str) else s for s in p["shape"]], p["name"]
        if p["dtype"] == "uint32":
            v = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
        elif name.endswith("q_scale"):
            v = 0.005 + np.abs(rng.standard_normal(shape)) * 0.02
        elif len(shape) > 1:
            v = rng.standard_normal(shape) * 0.15
        else:
            v = rng.standard_normal(shape) * 0.1 + (not name.endswith("bias"))
        out[name] = v.astype(p["dtype"])
    return out


def reference(target, module, metadata, more, extern, weights):
    """The rows of logits, by TVM on the processor."""
    used = tvm.IRModule({v: f for v, f in module.functions_items() if not isinstance(f, relax.Function) or v.name_hint in CALLED})
    bounds = {"batch_size": 4, "seq_len": 64, "total_seq_len": 128}
    with target, tvm.transform.PassContext(config={"tirx.disable_cse_tir": True}):
        program = tvm.compile(used, target=target, relax_pipeline=relax.get_pipeline(
            "mlc_llm", target=target, variable_bounds=bounds, additional_tirs=more, ext_mods=extern, metadata=dict(metadata)))
    device, shape = tvm.cpu(), tvm.runtime.ShapeTuple
    vm = relax.VirtualMachine(program, device)
    params = [tvm.runtime.tensor(weights[p["name"]], device) for p in metadata["params"]]
    window = metadata["sliding_window_size"]
    cache = vm["create_tir_paged_kv_cache"](*(shape([n]) for n in (1, 128, 64, 16, int(window > 0))))
    state = {k: tvm.get_global_func("vm.builtin.kv_state_" + k) for k in ("add_sequence", "begin_forward", "end_forward")}
    state["add_sequence"](cache, 0)
    if window > 0:
        tvm.get_global_func("vm.builtin.attention_kv_cache_enable_sliding_window_for_seq")(cache, 0, window, metadata["attention_sink_size"])
    rows = []
    for ids in [IDS[:PROMPT]] + [[i] for i in IDS[PROMPT:]]:
        x = vm["embed"](tvm.runtime.tensor(np.array(ids, "int32"), device), params)
        state["begin_forward"](cache, shape([0]), shape([len(ids)]))
        out = vm["prefill" if len(ids) > 1 else "decode"](tvm.runtime.tensor(x.numpy()[None], device), cache, params)
        state["end_forward"](cache)
        rows.append(out[0].numpy().reshape(-1))
    return np.stack(rows)


def main():
    name, quantization, folder = sys.argv[1:4]
    target, module, metadata, more, extern = build(name, quantization)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.py"), "w") as f:
        f.write(module.script(show_meta=True))
    if sys.argv[4:] == ["module"]:
        return
    with open(os.path.join(folder, "metadata.json"), "w") as f:
        json.dump(metadata, f)
    weights = draw(metadata, np.random.default_rng(1))
    tvmjs.dump_tensor_cache(weights, folder, encode_format="raw", show_progress=False)
    with open(os.path.join(folder, "mlc-chat-config.json"), "w") as f:
        json.dump({"model_type": name, "vocab_size": VOCAB, **{k: metadata[k] for k in (
            "context_window_size", "sliding_window_size", "attention_sink_size")}, "conv_template": {"stop_token_ids": [VOCAB - 1]}}, f)
    with open(os.path.join(folder, "tokenizer.json"), "w") as f:
        json.dump({"model": {"type": "BPE", "vocab": {f"<{i}>": i for i in range(VOCAB)}, "merges": []}}, f)
    rows = reference(target, module, metadata, more, extern, weights)
    np.save(os.path.join(folder, "logits.npy"), rows)
    with open(os.path.join(folder, "logits.json"), "w") as f:
        json.dump({"ids": IDS, "prompt": PROMPT, "vocabulary": VOCAB}, f)


if __name__ == "__main__":
    main()
