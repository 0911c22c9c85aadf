# SPDX-License-Identifier: Apache-2.0
"""Writes a Llama-shaped module as MLC-LLM writes them, in TVMScript.

    python3 llama.py --layers 4 --stages 2 > module.py

Entry points embed, prefill, decode, batch_prefill, batch_decode with packed_params, symbolic batch size, sequence length and
vocabulary; weights are taken at the beginning of a function; attention is a call of an external function on the cache, which
the module gives a meaning without effects, so that the interpreter can run it. With --stages a boundary stands between equal
shares of the layers; --skip also hands the embedding to the last stage, around all boundaries.
"""
import argparse


class Function:
    """One graph function being written."""

    def __init__(self, name, params, weights, symbols, attrs):
        self.lines, self.count, self.weight_vars, self.used = [], 0, {}, weights
        self.name, self.params, self.symbols, self.attrs = name, params, symbols, attrs

    def emit(self, value, type_=None, name=None):
        name = name or f"lv{self.count}"
        self.count += 1
        self.lines.append(f"{name}{': ' + type_ if type_ else ''} = {value}")
        return name

    def text(self, packed, ret):
        out = ["    @R.function", f"    def {self.name}({', '.join(self.params + [f'packed_params: {packed}'])}):"]
        out += [f"        {s} = T.int64()" for s in self.symbols]
        out.append(f"        R.func_attr({{{', '.join(f'{k!r}: {v!r}' for k, v in self.attrs.items())}}})".replace("'", '"'))
        out += ["        cls = Module", "        with R.dataflow():"]
        out += [f"            {v} = packed_params[{i}]" for i, v in self.weight_vars.items()]
        out += ["            " + l for l in self.lines]
        out += [f"            gv = {ret}", "            R.output(gv)", "        return gv", ""]
        return "\n".join(out)


class Llama:
    def __init__(self, layers=2, heads=2, head_dim=4, intermediate=12, stages=1, skip=False, dtype="float32", kernels=True):
        self.layers, self.heads, self.head_dim, self.intermediate = layers, heads, head_dim, intermediate
        self.stages, self.skip, self.dtype = stages, skip, dtype
        self.kernels = kernels
        self.hidden = heads * head_dim
        self.weights = []  # name, shape
        self.add("embed_tokens", "vocab_size", self.hidden)
        for i in range(layers):
            self.add(f"layers_{i}_qkv", 3 * self.hidden, self.hidden)
            self.add(f"layers_{i}_o", self.hidden, self.hidden)
            self.add(f"layers_{i}_gate_up", 2 * intermediate, self.hidden)
            self.add(f"layers_{i}_down", self.hidden, intermediate)
            self.add(f"layers_{i}_input_norm", self.hidden)
            self.add(f"layers_{i}_post_norm", self.hidden)
        self.add("norm", self.hidden)
        self.add("lm_head", "vocab_size", self.hidden)

    def add(self, name, *shape):
        self.weights.append((name, shape))

    def tensor(self, *dims, dtype=None, quoted=False):
        text = ", ".join(f'"{d}"' if quoted and isinstance(d, str) and d.isidentifier() else str(d) for d in dims)
        return f'R.Tensor(({text}{"," if len(dims) == 1 else ""}), dtype="{dtype or self.dtype}")'

    def packed(self):
        return "R.Tuple(" + ", ".join(self.tensor(*s, quoted=True) for _, s in self.weights) + ")"

    def weight(self, f, name):
        i = [n for n, _ in self.weights].index(name)
        f.weight_vars.setdefault(i, name)
        return name

    def linear(self, f, x, name):
        w = f.emit(f"R.permute_dims({self.weight(f, name)}, axes=None)")
        return f.emit(f'R.matmul({x}, {w}, out_dtype="void")')

    def norm(self, f, x, name):
        return f.emit(f"R.nn.rms_norm({x}, {self.weight(f, name)}, axes=[-1], epsilon=1e-5)")

    def layer(self, f, x, i, b, s):
        h, d = self.heads, self.head_dim
        qkv = self.linear(f, self.norm(f, x, f"layers_{i}_input_norm"), f"layers_{i}_qkv")
        qkv = f.emit(f"R.reshape({qkv}, R.shape([{b}, {s}, {3 * h}, {d}]))")
        a = f.emit(f'R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (paged_kv_cache, '
                   f'R.prim_value({i}), R.prim_value(T.float32(1)), {qkv}), out_ty={self.tensor(b, s, h, d)})')
        a = f.emit(f"R.reshape({a}, R.shape([{b}, {s}, {self.hidden}]))")
        x = f.emit(f"R.add({x}, {self.linear(f, a, f'layers_{i}_o')})")
        g = self.linear(f, self.norm(f, x, f"layers_{i}_post_norm"), f"layers_{i}_gate_up")
        t = f.emit(f"R.split({g}, indices_or_sections=2, axis=-1)")
        g, u = f.emit(f"{t}[0]"), f.emit(f"{t}[1]")
        m = f.emit(f"R.multiply({f.emit(f'R.nn.silu({g})')}, {u})")
        return f.emit(f"R.add({x}, {self.linear(f, m, f'layers_{i}_down')})")

    def boundary(self, f, x, b, s):
        t = self.tensor(b, s, self.hidden)
        return f.emit(f'R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", {x}, ty_args=({t},))', t)

    def body(self, f, b, s):
        x = first = "input_embed"
        if self.skip:
            first = f.emit("R.nn.relu(input_embed)")
        for i in range(self.layers):
            if self.stages > 1 and i and i * self.stages // self.layers != (i - 1) * self.stages // self.layers:
                x = self.boundary(f, x, b, s)
            x = self.layer(f, x, i, b, s)
        return f.emit(f"R.add({x}, {first})") if self.skip else x

    def logits(self, f, x):
        x = self.linear(f, self.norm(f, x, "norm"), "lm_head")
        if self.dtype != "float32":
            x = f.emit(f'R.astype({x}, dtype="float32")')
        return f"({x}, paged_kv_cache)"

    def forward(self, name, b, s):
        quoted = self.tensor(b, s, self.hidden, quoted=True)
        symbols = [x for x in (b, s) if isinstance(x, str)] + ["vocab_size"]
        attrs = {"num_input": 2}
        params = [f"input_embed: {quoted}", "paged_kv_cache: R.Object"]
        if name == "batch_prefill":
            params.insert(1, f'logit_positions: {self.tensor("batch_size", dtype="int32", quoted=True)}')
            symbols.insert(0, "batch_size")
            attrs["num_input"] = 3
        f = Function(name, params, self.weights, symbols, attrs)
        x = self.body(f, b, s)
        if name == "prefill":
            x = f.emit(f"R.call_tir(cls.index, ({x},), out_ty={self.tensor(b, 1, self.hidden)})")
        elif name == "batch_prefill":
            x = f.emit(f"R.take({x}, logit_positions, axis=1, mode=\"clip\")")
        return f.text(self.packed(), self.logits(f, x))

    def embed(self):
        f = Function("embed", ['input_ids: R.Tensor(("seq_len",), dtype="int32")'], self.weights, ["seq_len", "vocab_size"],
                     {"num_input": 1})
        return f.text(self.packed(), f.emit(f"R.take({self.weight(f, 'embed_tokens')}, input_ids, axis=0, mode=\"clip\")"))

    def attention(self):
        """What the external function computes, without a cache: softmax(q k^T) v of the tokens given."""
        h, d, t = self.heads, self.head_dim, self.tensor
        return f'''    @R.function(name="vm.builtin.attention_kv_cache_attention_with_fused_qkv")
    def attention(cache: R.Object, layer: R.Prim("int64"), scale: R.Prim("float32"), qkv: {t("b", "s", 3 * h, d, quoted=True)}) -> {t("b", "s", h, d, quoted=True)}:
        b = T.int64()
        s = T.int64()
        with R.dataflow():
            parts = R.split(qkv, indices_or_sections=3, axis=2)
            q = parts[0]
            k = parts[1]
            v = parts[2]
            qt = R.permute_dims(q, axes=[0, 2, 1, 3])
            kt = R.permute_dims(k, axes=[0, 2, 3, 1])
            vt = R.permute_dims(v, axes=[0, 2, 1, 3])
            scores = R.matmul(qt, kt, out_dtype="void")
            p = R.nn.softmax(scores, axis=-1)
            o = R.matmul(p, vt, out_dtype="void")
            out: {t("b", "s", h, d)} = R.permute_dims(o, axes=[0, 2, 1, 3])
            R.output(out)
        return out
'''

    def index(self):
        return f'''    @T.prim_func(private=True)
    def index(var_x: T.handle, var_y: T.handle):
        T.func_attr({{"tirx.noalias": True}})
        b = T.int64()
        n = T.int64()
        x = T.match_buffer(var_x, (b, n, T.int64({self.hidden})), "{self.dtype}")
        y = T.match_buffer(var_y, (b, T.int64(1), T.int64({self.hidden})), "{self.dtype}")
        for i, j in T.grid(b, T.int64({self.hidden})):
            with T.sblock("last"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(x[vi, n - T.int64(1), vj])
                T.writes(y[vi, T.int64(0), vj])
                y[vi, T.int64(0), vj] = x[vi, n - T.int64(1), vj]
'''

    def module(self):
        parts = [self.index(), self.attention()] if self.kernels else [self.index()]
        parts += [self.embed(), self.forward("prefill", 1, "seq_len"), self.forward("decode", 1, 1),
                  self.forward("batch_prefill", 1, "seq_len"), self.forward("batch_decode", "batch_size", 1)]
        head = ("from tvm.script import ir as I\nfrom tvm.script import tirx as T\nfrom tvm.script import relax as R\n\n"
                "@I.ir_module\nclass Module:\n")
        return head + "\n".join(parts)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("layers", 2), ("heads", 2), ("head-dim", 4), ("intermediate", 12), ("stages", 1)):
        p.add_argument(f"--{name}", type=int, default=default)
    p.add_argument("--skip", action="store_true", help="use the embedding in the last stage")
    p.add_argument("--dtype", default="float32")
    p.add_argument("--no-meaning", action="store_true", help="leave out what the attention function computes")
    a = p.parse_args()
    print(Llama(a.layers, a.heads, a.head_dim, a.intermediate, a.stages, a.skip, a.dtype, not a.no_meaning).module())


if __name__ == "__main__":
    main()
