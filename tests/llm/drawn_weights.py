# SPDX-License-Identifier: Apache-2.0
"""Random weights for a checkpoint of transformers, from the names and shapes of its tensors alone, and folders of them.

They are drawn by numpy's RandomState, whose streams never change, so that a test can keep a model as its configuration and its logits.
"""
import json
import os

import numpy as np
from small_model import write_safetensors


def draw(shapes, kind, seed):
    """Tensors by name: rows that keep their length, norms' scales between a half and one and a half, biases that matter."""
    rng = np.random.RandomState(seed)
    less_one = 1 if kind.startswith("gemma") else 0  # Gemma stores its norms' scales less one
    out = {}
    for name in sorted(shapes):
        shape = tuple(shapes[name])
        if name.endswith("bias"):
            v = rng.normal(0, 0.4, shape)
        elif len(shape) == 1:
            v = rng.uniform(0.5, 1.5, shape) - less_one
        elif "wpe" in name:
            v = rng.normal(0, 0.5, shape)
        elif "embed" in name or "wte" in name:
            v = rng.normal(0, 1 / np.sqrt(shape[1]) if less_one else 1, shape)
        else:  # GPT-2's matrices are [in, out]
            v = rng.normal(0, (2 if name.startswith("lm_head") else 1.4) / np.sqrt(shape[0 if ".c_" in name else 1]), shape)
        out[name] = v.astype(np.float32)
    return out


def write_folder(folder, config, weights):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(write_safetensors(weights, "F32"))
