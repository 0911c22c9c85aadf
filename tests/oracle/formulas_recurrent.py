# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, step by step."""
from oracle import *

LOOSE = {"float16": (2e-2, 2e-2), "bfloat16": (1e-1, 1e-1), "float32": (2e-4, 2e-5), "float64": (1e-9, 1e-10)}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "Sigmoid": lambda x, a, b: sigmoid(x),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: np.where(x > 0, x, a * x),
    "ThresholdedRelu": lambda x, a, b: np.where(x > a, x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: np.where(x > 0, x, a * (np.exp(np.minimum(x, 0)) - 1)),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.logaddexp(x, 0),
}
# bounded ones, whatever the state has grown to
BOUNDED = ["Sigmoid", "Tanh", "HardSigmoid", "Softsign", "ScaledTanh"]
DEFAULTS = {"nn.rnn": ["Tanh"], "nn.gru": ["Sigmoid", "Tanh"], "nn.lstm": ["Sigmoid", "Tanh", "Tanh"]}
PARAMETERS = {"LeakyRelu": (0.01, 0), "ThresholdedRelu": (1, 0), "ScaledTanh": (1, 1), "HardSigmoid": (0.2, 0.5),
              "Affine": (1, 0), "Elu": (1, 0)}


def lstm_step(f, cut, xw, r, h, c, peep, forget):
    n = h.shape[-1]
    g = xw + h @ r
    i, o, q, u = (g[:, k * n:(k + 1) * n] for k in range(4))
    if peep is not None:
        i, q = i + peep[:n] * c, q + peep[2 * n:] * c
    i = f[0](cut(i))
    q = 1 - i if forget else f[0](cut(q))
    c = q * c + i * f[1](cut(u))
    if peep is not None:
        o = o + peep[n:2 * n] * c
    return f[0](cut(o)) * f[2](c), c


def gru_step(f, cut, xw, r, h, bias, linear):
    n = h.shape[-1]
    g = xw[:, :2 * n] + h @ r[:, :2 * n] + bias[:2 * n]
    z, reset = f[0](cut(g[:, :n])), f[0](cut(g[:, n:]))
    if linear:
        t = reset * (h @ r[:, 2 * n:] + bias[2 * n:])
    else:
        t = (reset * h) @ r[:, 2 * n:] + bias[2 * n:]
    t = f[1](cut(xw[:, 2 * n:] + t))
    return (1 - z) * t + z * h


@oracle("nn.rnn", "nn.gru", "nn.lstm")
def recurrent(d, op):
    gates, per = {"nn.rnn": (1, 1), "nn.gru": (3, 2), "nn.lstm": (4, 3)}[op]
    dtype = d.dtype(["float32", "float64", "float16", "float32"])
    direction = d.turn(["forward", "reverse", "bidirectional"])
    dirs = 2 if direction == "bidirectional" else 1
    steps, batch = d.extent(1, 6, zero=True), d.extent(1, 9)
    hidden = d.one_of([1, 3, 8, 16, 20, 32]) if d.kind != "one" else 1
    attrs = {"direction": direction, "activations": DEFAULTS[op] * dirs}
    alpha, beta = [0.0] * (per * dirs), [0.0] * (per * dirs)
    if d.flag():
        attrs["activations"] = [d.one_of(BOUNDED if k % per == 0 else list(FUNCTIONS)) for k in range(per * dirs)]
    for k, name in enumerate(attrs["activations"]):
        alpha[k], beta[k] = PARAMETERS.get(name, (0.0, 0.0))
    if d.flag(0.4):
        alpha, beta = [d.one_of([0.5, 0.25, 0.75]) for _ in alpha], [d.one_of([0.5, 0.25]) for _ in beta]
        attrs["alpha"], attrs["beta"] = alpha, beta
    clip = d.one_of([None, None, 0.75, 2.0])
    if clip:
        attrs["clip"] = clip
    forget, linear = op == "nn.lstm" and d.flag(0.3), op == "nn.gru" and d.flag()
    if forget:
        attrs["input_forget"] = True
    if linear:
        attrs["linear_before_reset"] = True

    def small(*s):
        return Tensor(d.rng.uniform(-1, 1, s), dtype)

    xw, r = small(steps, batch, dirs * gates * hidden), Tensor(
        d.rng.uniform(-1, 1, (dirs, hidden, gates * hidden)) / np.sqrt(hidden), dtype)
    h0 = small(dirs, batch, hidden)
    inputs = [xw, r, h0]
    sym = [("steps", "batch", dirs * gates * hidden), r.shape, (dirs, "batch", hidden)]
    c0 = bias = peep = lengths = None
    if op == "nn.lstm":
        c0 = small(dirs, batch, hidden)
        inputs.append(c0)
        sym.append((dirs, "batch", hidden))
    if op == "nn.gru":
        bias = small(dirs, 3 * hidden)
        inputs.append(bias)
        sym.append(bias.shape)
    with_lengths = d.flag()
    if op == "nn.lstm" and (with_lengths or d.flag()):
        peep = small(dirs, 3 * hidden)
        inputs.append(peep)
        sym.append(peep.shape)
    if with_lengths:
        lengths = Tensor(d.rng.integers(0, steps + 1, batch), "int32")
        inputs.append(lengths)
        sym.append(("batch",))

    size = lengths.a if with_lengths else np.full(batch, steps)
    y, last_h, last_c = np.zeros((steps, dirs, batch, hidden)), wide(h0).copy(), wide(c0).copy() if c0 else None
    for k in range(dirs):
        f = [lambda x, j=k * per + j: FUNCTIONS[attrs["activations"][j]](x, alpha[j], beta[j]) for j in range(per)]
        x = wide(xw)[:, :, k * gates * hidden:(k + 1) * gates * hidden]
        for b in range(batch):
            h, c = last_h[k, b:b + 1], last_c[k, b:b + 1] if c0 else None
            order = range(max(int(size[b]), 0))
            for t in reversed(order) if k == 1 or direction == "reverse" else order:
                cut = (lambda v: np.clip(v, -clip, clip)) if clip else (lambda v: v)
                now, w = x[t, b:b + 1], wide(r)[k]
                if op == "nn.lstm":
                    h, c = lstm_step(f, cut, now, w, h, c, wide(peep)[k] if peep else None, forget)
                elif op == "nn.gru":
                    h = gru_step(f, cut, now, w, h, wide(bias)[k], linear)
                else:
                    h = f[0](cut(now + h @ w))
                y[t, k, b] = h[0]
            last_h[k, b] = h[0]
            if c0:
                last_c[k, b] = c[0]
    outputs = [out(y, dtype), out(last_h, dtype)] + ([out(last_c, dtype)] if c0 else [])
    return Case(op, inputs, outputs, attrs=attrs, tol=LOOSE[dtype], sym=sym)
