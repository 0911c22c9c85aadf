# SPDX-License-Identifier: Apache-2.0
"""Models of every family as PyTorch's transformers makes and saves them, with random weights, against its logits in double precision.

`families.py --keep` writes the logits of kept_logits.py anew. The packages torch and transformers are needed (TENON_LM_PYTHON names a
Python with them); without them the test is skipped."""
import copy
import importlib
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.remove(HERE)  # torch imports Python's `profile`
python = os.environ.get("TENON_LM_PYTHON")
if python and os.path.abspath(python) != sys.executable:
    os.execv(python, [python, *sys.argv])
try:
    import numpy as np
    import torch
    import transformers
except ImportError as e:
    print(e)
    sys.exit(77)
sys.path += [HERE, os.path.join(HERE, "..", "tools")]
from drawn_weights import draw, write_folder  # noqa: E402

KEEP = "--keep" in sys.argv
IDS = [int(x) for x in np.random.RandomState(7).randint(0, 40, 21)]
SMALL = dict(vocab_size=40, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=128, pad_token_id=None, bos_token_id=1, eos_token_id=2)
GEMMA = dict(SMALL, head_dim=16)
GPT2 = dict(vocab_size=40, n_embd=32, n_layer=2, n_head=4, n_positions=128, bos_token_id=1, eos_token_id=2)
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "rope_theta": 10000.0}
LLAMA3 = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16, "rope_theta": 5e5}


def longrope(original, half):
    return {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": original,
            "short_factor": [1 + i / 8 for i in range(half)], "long_factor": [2 + i / 2 for i in range(half)]}


def rope(**more):
    return {"rope_parameters": {"rope_theta": 10000.0, **more}}


# name, model_type, configuration, whether its logits are kept
FAMILIES = [
    ("llama", "llama", dict(SMALL), False),
    ("llama, tied, one head of keys", "llama", dict(SMALL, tie_word_embeddings=True, num_key_value_heads=1), False),
    ("llama with biases", "llama", dict(SMALL, attention_bias=True, mlp_bias=True), False),
    ("llama, base 5e5", "llama", dict(SMALL, rope_parameters={"rope_type": "default", "rope_theta": 5e5}), False),
    ("llama, linear", "llama", dict(SMALL, **rope(rope_type="linear", factor=2.0)), False),
    ("llama, dynamic", "llama", dict(SMALL, **rope(rope_type="dynamic", factor=2.0)), False),
    ("llama, yarn", "llama", dict(SMALL, rope_parameters=YARN), False),
    ("llama, yarn not rounded", "llama", dict(SMALL, rope_parameters=dict(YARN, truncate=False)), False),
    ("llama, yarn of other turns", "llama", dict(SMALL, rope_parameters=dict(YARN, beta_fast=4, beta_slow=0.25, attention_factor=1.2)), False),
    ("llama, yarn with mscale", "llama", dict(SMALL, rope_parameters=dict(YARN, mscale=0.8, mscale_all_dim=0.5)), False),
    ("llama3", "llama", dict(SMALL, rope_parameters=LLAMA3), True),
    ("llama, longrope of long texts", "llama", dict(SMALL, rope_parameters=longrope(16, 4)), False),
    ("mistral", "mistral", dict(SMALL, sliding_window=6), True),
    ("mistral without a window", "mistral", dict(SMALL, sliding_window=None, head_dim=16), False),
    ("qwen2", "qwen2", dict(SMALL), True),
    ("qwen2.5 with windows", "qwen2", dict(SMALL, use_sliding_window=True, sliding_window=6, max_window_layers=1), False),
    ("qwen2.5, yarn", "qwen2", dict(SMALL, rope_parameters=dict(YARN, rope_theta=1e6)), False),
    ("qwen3", "qwen3", dict(SMALL, head_dim=16), False),
    ("qwen3, tied", "qwen3", dict(SMALL, head_dim=16, tie_word_embeddings=True, attention_bias=True), False),
    ("gemma", "gemma", dict(GEMMA, num_key_value_heads=1), False),
    ("gemma2", "gemma2", dict(GEMMA, sliding_window=6, query_pre_attn_scalar=24, attn_logit_softcapping=4.0, final_logit_softcapping=8.0), False),
    ("gemma3", "gemma3_text", dict(GEMMA, num_hidden_layers=3, sliding_window=6, query_pre_attn_scalar=24,
                                   layer_types=["sliding_attention", "full_attention", "sliding_attention"]), True),
    ("gemma3, linear", "gemma3_text", dict(GEMMA, num_hidden_layers=6, sliding_window=6, rope_parameters={
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}}), False),
    ("phi3", "phi3", dict(SMALL, sliding_window=6, original_max_position_embeddings=128), True),
    # the caches of logits.c have room for fewer than 112 tokens
    ("phi3, longrope of short texts", "phi3", dict(SMALL, rope_parameters=longrope(112, 4), original_max_position_embeddings=112), True),
    ("phi3, longrope of long texts", "phi3", dict(SMALL, rope_parameters=longrope(16, 4), original_max_position_embeddings=16), False),
    ("phi4, a part of a head turned", "phi3", dict(SMALL, num_attention_heads=2, rope_parameters={
        **longrope(16, 6), "partial_rotary_factor": 0.75}, original_max_position_embeddings=16), False),
    ("gpt2", "gpt2", dict(GPT2), True),
    ("gpt2, own inner size, not tied", "gpt2", dict(GPT2, n_inner=72, tie_word_embeddings=False), False),
    ("phi3, longrope with a factor of its own", "phi3",
     dict(SMALL, rope_parameters=dict(longrope(16, 4), factor=2.0), original_max_position_embeddings=16), True),
]


def neighbours(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


class Reference:
    def __init__(self, kind, options, seed):
        self.kind, self.options = kind, options
        self.config = transformers.AutoConfig.for_model(kind, **options)
        model = self.model(self.config)
        shapes = {n: list(t.shape) for n, t in model.state_dict().items()}
        if self.config.tie_word_embeddings:
            shapes.pop("lm_head.weight")
        self.shapes, self.seed = shapes, seed
        self.weights = draw(shapes, kind, seed)

    def model(self, config):
        return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")

    def logits(self, config=None, weights=None):
        model = self.model(config or self.config)
        model.load_state_dict({n: torch.from_numpy(v) for n, v in (weights or self.weights).items()}, strict=False)
        model.tie_weights()
        with torch.no_grad():
            return model.double().eval()(input_ids=torch.tensor([IDS])).logits[0].numpy()

    def written(self):
        """config.json as save_pretrained has it."""
        return json.loads(self.config.to_json_string()) | {"architectures": [type(self.model(self.config)).__name__]}

    def save(self, folder):
        """The folder as transformers writes it in bfloat16, in several files. The logits are those of the rounded weights."""
        model = self.model(copy.deepcopy(self.config))  # which learns of bfloat16
        model.load_state_dict({n: torch.from_numpy(v) for n, v in self.weights.items()}, strict=False)
        model.tie_weights()
        model.bfloat16().save_pretrained(folder, max_shard_size="20KB")
        return self.logits(weights={n: torch.from_numpy(v).bfloat16().float().numpy() for n, v in self.weights.items()})

    def changed(self, **more):
        return self.logits(config=transformers.AutoConfig.for_model(self.kind, **(self.options | more)))

    def with_neighbours(self):
        code = importlib.import_module(type(self.model(self.config)).__module__)
        own, code.rotate_half = code.rotate_half, neighbours
        try:
            return self.logits()
        finally:
            code.rotate_half = own

    def with_swapped_heads(self):
        """The first head's queries beside the second's, where keys are not shared by both."""
        dim = getattr(self.config, "head_dim", None) or self.config.hidden_size // self.config.num_attention_heads
        shared = self.config.num_attention_heads // (getattr(self.config, "num_key_value_heads", None) or self.config.num_attention_heads)
        a, b = slice(0, dim), slice(shared * dim, (shared + 1) * dim)
        weights = {n: v.copy() for n, v in self.weights.items()}
        for n, v in weights.items():
            if "q_proj.weight" in n or "qkv_proj.weight" in n:
                v[a], v[b] = v[b].copy(), v[a].copy()
            elif "c_attn.weight" in n:
                v[:, a], v[:, b] = v[:, b].copy(), v[:, a].copy()
        return self.logits(weights=weights)

    def mutations(self):
        gpt2, c = self.kind == "gpt2", self.config
        eps = "layer_norm_epsilon" if gpt2 else "rms_norm_eps"
        out = [("another epsilon", self.changed(**{eps: 0.05}))]
        if not gpt2:
            out.append(("RoPE of neighbours", self.with_neighbours()))
        if (getattr(c, "num_key_value_heads", None) or 4) > 1:
            out.append(("swapped heads", self.with_swapped_heads()))
        if (scaling := self.options.get("rope_parameters", {})).get("rope_type") == "longrope":
            exchanged = dict(scaling, short_factor=scaling["long_factor"], long_factor=scaling["short_factor"])
            out.append(("factors of texts of the other length", self.changed(rope_parameters=exchanged)))
        if getattr(c, "sliding_window", None):
            out += [(f"a window off by {n}", self.changed(sliding_window=c.sliding_window + n)) for n in (-1, 1)]
        return out


def main():
    kept = []
    for i, (name, kind, options, keep) in enumerate(FAMILIES):
        if (KEEP and not keep) or (not KEEP and ONLY not in name):
            continue
        r = Reference(kind, options, 100 + i)
        want = r.logits()
        if KEEP:
            kept.append({"name": name, "config": r.written(), "seed": r.seed, "shapes": r.shapes,
                         "logits": [[float(f"{x:.5g}") for x in row] for row in want]})
            continue
        folder = path(f"family{i}")
        write_folder(folder, r.written(), r.weights)
        compare(name, folder, IDS, want, mutations=r.mutations())
    for name in () if KEEP else ("llama", "gemma3", "phi3", "gpt2"):
        kind, options = next((k, o) for n, k, o, _ in FAMILIES if n == name)
        if ONLY in (what := f"{name}, saved in bfloat16"):
            r, folder = Reference(kind, options, 200), path(f"saved-{name}")
            want = r.save(folder)
            check(os.path.exists(os.path.join(folder, "model.safetensors.index.json")), f"{what}: several files")
            compare(what, folder, IDS, want, ways=("once", "mixed"), mutations=[("weights as they were", r.logits())])
    if KEEP:
        with open(os.path.join(HERE, "kept_logits.json"), "w") as f:
            f.write("[" + ",\n".join(json.dumps(k, separators=(",", ":")) for k in kept) + "]\n")
        return
    done()


if not KEEP:
    from clitest import check, done, path  # noqa: E402
    from compare import ONLY, compare  # noqa: E402
transformers.logging.set_verbosity_error()
torch.manual_seed(0)
main()
