# SPDX-License-Identifier: Apache-2.0
"""Exports a small model of MLC-LLM's definitions with random weights, and what TVM computes with it.

    mlc_export.py MODEL QUANTIZATION FOLDER [module [TARGET [SHARDS [STAGES]]]]

FOLDER becomes one for `tenon generate`: model.py, metadata.json, mlc-chat-config.json, tensor-cache.json and its shards. logits.npy has the logits
behind the last token of the prompt and behind each token that follows it (`IDS`), logits.json the tokens. `module`:
model.py alone, for one of TARGETS, for SHARDS workers in parallel (shards.py then has the programs that part its weights) or in STAGES. Needs apache-tvm 0.26 and the folder TENON_MLC, a checkout of MLC-LLM; its compiled library is not needed.
"""
import importlib
import json
import linecache
import logging
import math
import os
import re
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
from tvm.relax.frontend import nn  # noqa: E402


def mend(name, *changes):
    """Loads a file of the checkout again, with other text: what TVM 0.26 has no syntax for."""
    module = importlib.import_module(name)
    with open(module.__file__) as f:
        text = f.read()
    for pattern, other in changes:
        text = re.sub(pattern, other, text, flags=re.M)
    file = module.__file__ + " (mended)"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # TVM's parser asks for the source
    exec(compile(text, file, "exec"), module.__dict__)


SERIAL = (r"T\.thread_binding\((\w+), thread=[^)]*\)", r"T.serial(\1)") if sys.argv[5:6] in ([], ["llvm"]) else (r"$^", "")
mend("mlc_llm.nn.rnn_state", (r": T\.int32 = ", ": T.let[T.int32] = "))
for recurrent in ("rwkv5", "rwkv6"):  # a name for what stands in two places; and a schedule for GPUs
    mend(f"mlc_llm.model.{recurrent}.{recurrent}_model", (r"\b(at|x) = (k_buf\[.*\])$", r"\1 = T.meta_var(\2)"), SERIAL)
pipeline = importlib.import_module("mlc_llm.compiler_pass.pipeline")
for at, name, *changes in (  # a program's parameters are its buffers
        ("fuse_dequantize_transpose", "FuseDequantizeTranspose", (r"dequantize_tir_func\.buffer_map\[var\]", "var")),
        ("low_batch_specialization", "LowBatchGemvSpecialize",
         (r"func\.buffer_map\.values\(\)", "[p for p in func.params if isinstance(p.ty, tirx.BufferType)]")),
        ("lift_global_buffer_alloc", "LiftTIRGlobalBufferAlloc", (r"tvm\.ir\.PointerType", "tirx.BufferType"),
         (r"dict\(func\.buffer_map\)", "{}"), (r"^ *buffer_map=buffer_map,$", ""), (r"insert\(insertion_point, param\)", "insert(insertion_point, buf_alloc)"),
         (r"func\.buffer_map\[(func\.params\[.*?\])\]", r"\1"))):
    mend("mlc_llm.compiler_pass." + at, *changes)
    setattr(pipeline, name, getattr(sys.modules["mlc_llm.compiler_pass." + at], name))

from mlc_llm import op as op_ext  # noqa: E402
from mlc_llm.interface import compile as mlc_compile  # noqa: E402
from mlc_llm.model import MODELS  # noqa: E402
from mlc_llm.quantization import QUANTIZATION  # noqa: E402

if not hasattr(relax.Var, "name_hint"):  # what the checkout calls it
    relax.Var.name_hint = property(lambda v: v.name)
tensor_ir_op = nn.op.tensor_ir_op


def scalars_first(func, name, args, out):
    """The checkout's programs have scalars behind their results, where TVM 0.26 has parameters in the order of arguments."""
    args = list(args) if isinstance(args, (list, tuple)) else [args]
    tensors = [a for a in args if isinstance(a, nn.Tensor)]
    n = len(args) - len(tensors)
    if n:
        params, attrs = list(func.params), dict(func.attrs or {})
        func = tvm.tirx.PrimFunc(params[-n:] + params[:-n], func.body, func.ret_type).with_attrs(attrs)
    return tensor_ir_op(func, name, [a for a in args if not isinstance(a, nn.Tensor)] + tensors, out)


nn.op.tensor_ir_op = scalars_first
VOCAB, PROMPT = 512, 9
IDS = [79, 110, 99, 101, 32, 117, 112, 111, 110, 225, 414, 254, 232, 138, 461]
CALLED = ("embed", "prefill", "decode", "create_paged_kv_cache", "create_rnn_state")
SMALL = dict(hidden_size=64, intermediate_size=128, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, vocab_size=VOCAB,
             rms_norm_eps=1e-5, context_window_size=128, prefill_chunk_size=32, max_batch_size=4, head_dim=16, rope_theta=10000.0,
             max_position_embeddings=128, attention_bias=False, use_cache=True, bos_token_id=1, eos_token_id=2, pad_token_id=0,
             initializer_range=0.02, tie_word_embeddings=False, layer_norm_eps=1e-5, layer_norm_epsilon=1e-5, hidden_act="silu",
             rotary_emb_base=10000, n_embd=64, n_layer=2, n_head=4, n_positions=128)
EXPERTS = dict(moe_intermediate_size=64, num_experts_per_tok=2, num_experts=4, decoder_sparse_step=1, norm_topk_prob=True)
MORE = {
    "llama": {}, "qwen3": {}, "baichuan": {}, "qwen2": {}, "olmo": dict(clip_qkv=None), "internlm": dict(bias=True), "internlm2": dict(bias=False),
    "mistral": dict(sliding_window_size=12, attention_sink_size=0, context_window_size=-1),
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
    "cohere": dict(model_type="cohere", logit_scale=0.0625, attention_dropout=0.0), "mixtral": dict(num_local_experts=4, num_experts_per_tok=2),
    "qwen2_moe": dict(EXPERTS, shared_expert_intermediate_size=64), "qwen3_moe": EXPERTS,
    "deepseek_v2": dict(moe_intermediate_size=64, n_shared_experts=1, n_routed_experts=4, num_experts_per_tok=2, norm_topk_prob=False,
                        first_k_dense_replace=2, moe_layer_freq=1, routed_scaling_factor=1.0, scoring_func="softmax", topk_method="greedy",
                        n_group=1, topk_group=1, kv_lora_rank=32, qk_rope_head_dim=8, v_head_dim=16, qk_nope_head_dim=16, q_lora_rank=24,
                        rope_scaling=dict(rope_type="yarn", type="yarn", inv_theta_log_scale=0.5 / math.log(10000.0), factor=4, beta_fast=32, beta_slow=1, mscale=0.707, mscale_all_dim=0.707,
                                          original_max_position_embeddings=32)),
    "gemma3": dict(text_config=dict(SMALL, num_hidden_layers=6, query_pre_attn_scalar=16, sliding_window_size=64, rope_scaling=0), is_text_model=False),
    "bert": {}, "rwkv5": dict(head_size=16, num_heads=4, model_version="5_2"), "rwkv6": dict(head_size=16, num_heads=4, model_version="6_0"),
}


TARGETS = {"llvm": {"kind": "llvm", "opt-level": 0},  # what is compared is not timed
           "cuda": {"kind": "cuda", "arch": "sm_80", "max_threads_per_block": 1024, "max_shared_memory_per_block": 49152},
           "opencl": {"kind": "opencl", "max_threads_per_block": 256, "max_shared_memory_per_block": 32768},
           "vulkan": {"kind": "vulkan", "max_threads_per_block": 256, "max_shared_memory_per_block": 32768}}


def build(name, quantization, kind="llvm", shards="1", stages="1"):
    """The module, its parameters in order, and what MLC-LLM calls its metadata."""
    model, quant = MODELS[name], QUANTIZATION[quantization]
    config = model.config.from_dict({**SMALL, **MORE[name], "tensor_parallel_shards": int(shards), "pipeline_parallel_stages": int(stages)})
    if int(stages) > 1 and not hasattr(config, "pipeline_parallel_stages"):
        sys.exit("the definition has no pipeline stages")
    config.kwargs = {}
    target = tvm.target.Target(TARGETS[kind])
    with target:
        op_ext.enable(target=target, flashinfer=False, faster_transformer=False, cutlass=False)
        made, _ = model.quantize[quant.kind](config, quant)
        module, params, extern = made.export_tvm(spec=made.get_default_spec(), allow_extern=True)
        more = mlc_compile._apply_preproc_to_params_and_check_pipeline(params, config)
    numbers = {k: getattr(config, k, -1) for k in ("context_window_size", "sliding_window_size", "attention_sink_size", "prefill_chunk_size",
                                                   "tensor_parallel_shards")}
    metadata = {"model_type": name, "quantization": quantization, **numbers, "pipeline_parallel_stages": int(stages), "max_batch_size": 4,
                "params": [{"name": n, "shape": [s if isinstance(s, int) else s.name for s in p.shape], "dtype": str(p.dtype),
                            "preprocs": [list(map(str, x)) for x in p.attrs["preprocs"]]} for n, p in params]}
    return target, module, metadata, more, extern


def printed(module):
    """The module's text; with its constants as lists where it has tensors, of which upstream's printer of 0.26 crashes in tuples."""
    found = []
    for _, f in sorted(module.functions_items(), key=lambda item: item[0].name_hint):
        if isinstance(f, relax.Function):
            relax.analysis.post_order_visit(f, lambda e: found.append(e.data) if isinstance(e, relax.Constant) and e.data.shape else None)
    if not found:
        return module.script(show_meta=True)
    text = module.script()
    for i, c in enumerate(found):
        text = text.replace(f'metadata["relax.expr.Constant"][{i}]', f'R.const({c.numpy().tolist()}, "{c.dtype}")')
    return text


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
    for name in [n for n in out if n.endswith(".w_uk")]:  # of latent attention: parts of another weight
        layer, (heads, _, nope) = name[:-len("w_uk")], out[name].shape
        both = out[layer + "kv_b_proj.weight"].reshape(heads, -1, out[name].shape[1])
        out[name] = np.ascontiguousarray(both[:, :nope].transpose(0, 2, 1))
        out[layer + "w_uv"] = np.ascontiguousarray(both[:, nope:])
    return out


def window_of(metadata):
    return metadata["sliding_window_size"] if metadata["attention_sink_size"] >= 0 else -1


def tokens_of(metadata):
    """With a window, a text that leaves it by more than a page. Layers of Gemma 3 but every sixth have one of 1,024."""
    return IDS * (72 if metadata["model_type"] == "gemma3" else 3 if window_of(metadata) > 0 else 1)


class Windowed:
    """Attention of a sequence with a window, in float64, positions as they are in the text: upstream lets them stand still behind a window of a
    sequence, so that keys which were rotated before they were cached have all the same one, and 0.26 takes no other window of layers
    than 1,024. RoPE as LLaMA has it."""

    def __init__(self, window, theta=10000.0):
        self.window, self.theta, self.rows, self.before, self.step = window, theta, {}, 0, 0
        tvm.register_global_func("vm.builtin.attention_kv_cache_attention_with_fused_qkv", self.attend, override=True)

    def begin(self, n):
        self.before, self.step = self.before + self.step, n

    def rotated(self, x):
        half = x.shape[-1] // 2
        angle = np.arange(self.before, self.before + self.step)[:, None] * self.theta ** -(np.arange(half) / half)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        return np.concatenate([x[..., :half] * cos - x[..., half:] * sin, x[..., half:] * cos + x[..., :half] * sin], -1)

    def attend(self, cache, layer, scale, qkv, out):
        heads, d = out.shape[-2:]
        x = qkv.numpy().reshape(self.step, -1, d).astype("float64")
        shared = (x.shape[1] - heads) // 2
        q, k, v = self.rotated(x[:, :heads]), self.rotated(x[:, heads:heads + shared]), x[:, heads + shared:]
        self.rows.setdefault(layer, []).append((k, v))
        k, v = (np.repeat(np.concatenate(p), heads // shared, 1) for p in zip(*self.rows[layer]))
        at, of = np.arange(self.before, self.before + self.step)[:, None], np.arange(len(k))
        score = np.einsum("rhd,khd->rhk", q, k) * scale
        score[~np.broadcast_to(((of <= at) & (of > at - self.window))[:, None], score.shape)] = -np.inf
        p = np.exp(score - score.max(-1, keepdims=True))
        out.copyfrom(np.einsum("rhk,khd->rhd", p / p.sum(-1, keepdims=True), v).astype(out.dtype).reshape(out.shape))


class Latent:
    """The cache's functions for latent attention (MLA), which TVM has kernels of for GPUs alone: one sequence, in float64."""

    def __init__(self):
        self.rows, self.before, self.step = {}, 0, 0
        name = "vm.builtin.attention_kv_cache_"
        for f in (self.get_query_positions, self.append_mla_kv, self.self_attention, self.cross_attention):
            tvm.register_global_func(name + f.__name__, f, override=True)

    def begin(self, n):
        self.before, self.step = self.before + self.step, n

    def get_query_positions(self, cache):
        return tvm.runtime.tensor(np.arange(self.before, self.before + self.step, dtype="int32"))

    def append_mla_kv(self, cache, layer, kv):
        self.rows.setdefault(layer, []).append(kv.numpy().reshape(self.step, -1))
        return cache

    @staticmethod
    def attend(q, k, v, scale, seen, out, lse):
        q, k, v = (x.astype("float64") for x in (q, k, v))
        score = np.einsum("rhd,khd->rhk", q, k) * scale
        score[~np.broadcast_to(seen[:, None], score.shape)] = -np.inf
        top = score.max(-1, keepdims=True)
        p = np.exp(score - top)
        out.copyfrom(np.einsum("rhk,khd->rhd", p / p.sum(-1, keepdims=True), v).astype(out.dtype))
        lse.copyfrom(((np.log(p.sum(-1)) + top[..., 0]) / np.log(2)).astype("float32"))

    def self_attention(self, cache, layer, scale, q, k, v, out, lse):
        q, k, v = (x.numpy().reshape(self.step, -1, x.shape[-1]) for x in (q, k, v))
        self.attend(q, k, v, scale, np.tri(self.step, dtype=bool), out, lse)

    def cross_attention(self, cache, layer, scale, q, out, lse):
        q, k = q.numpy().reshape(self.step, -1, q.shape[-1]), np.concatenate(self.rows[layer])[:, None]
        k = np.broadcast_to(k, (len(k), q.shape[1], k.shape[2]))
        self.attend(q, k, k[..., :out.shape[-1]], scale, np.ones((self.step, len(k)), bool), out, lse)


def reference(target, module, metadata, more, extern, weights):
    """The rows of logits, by TVM on the processor."""
    latent = Latent() if metadata["model_type"].startswith("deepseek_v") else None
    own = latent or (Windowed(window_of(metadata)) if window_of(metadata) > 0 else None)
    if latent:
        tvm.tirx.transform.ForceNarrowIndexToInt32 = lambda: tvm.transform.Sequential([])  # leaves int32 beside int64 here
        module = tvm.IRModule({v: f for v, f in module.functions_items() if v.name_hint != "create_paged_kv_cache"})
    used = tvm.IRModule({v: f for v, f in module.functions_items() if not isinstance(f, relax.Function) or v.name_hint in CALLED})
    bounds = {"batch_size": 4, "seq_len": 64, "total_seq_len": 2048}
    with target, tvm.transform.PassContext(config={"tirx.disable_cse_tir": True}):
        program = tvm.compile(used, target=target, relax_pipeline=relax.get_pipeline(
            "mlc_llm", target=target, variable_bounds=bounds, additional_tirs=more, ext_mods=extern, metadata=dict(metadata)))
    device, shape = tvm.cpu(), tvm.runtime.ShapeTuple
    vm = relax.VirtualMachine(program, device)
    params = [tvm.runtime.tensor(weights[p["name"]], device) for p in metadata["params"]]
    recurrent = metadata["model_type"].startswith("rwkv")
    cache = (shape([0]) if own else vm["create_rnn_state"](shape([1]), shape([1])) if recurrent
             else vm["create_tir_paged_kv_cache"](*(shape([n]) for n in (1, 2048, 64, 16, 0))))
    state = {k: tvm.get_global_func("vm.builtin.kv_state_" + k) for k in ("add_sequence", "begin_forward", "end_forward")}
    if own:
        state = {"add_sequence": lambda *a: None, "begin_forward": lambda c, s, n: own.begin(n[0]), "end_forward": lambda c: None}
    state["add_sequence"](cache, 0)
    rows = []
    tokens = tokens_of(metadata)
    for ids in [tokens[:PROMPT]] + [[i] for i in tokens[PROMPT:]]:
        x = vm["embed"](tvm.runtime.tensor(np.array(ids, "int32"), device), params)
        state["begin_forward"](cache, shape([0]), shape([len(ids)]))
        out = vm["prefill" if len(ids) > 1 else "decode"](tvm.runtime.tensor(x.numpy()[None], device), cache, params)
        state["end_forward"](cache)
        rows.append(out[0].numpy().reshape(-1))
    return np.stack(rows)


def main():
    name, quantization, folder = sys.argv[1:4]
    target, module, metadata, more, extern = build(name, quantization, *sys.argv[5:8])
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.py"), "w") as f:
        f.write(printed(module))
    if sys.argv[4:5] == ["module"]:
        if more:
            with open(os.path.join(folder, "shards.py"), "w") as f:
                f.write(tvm.IRModule(more).script(show_meta=True))
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
        json.dump({"ids": tokens_of(metadata), "prompt": PROMPT, "vocabulary": VOCAB, "window": max(window_of(metadata), 0)}, f)


if __name__ == "__main__":
    main()
