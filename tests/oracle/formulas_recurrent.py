# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers, step by step."""
from formulas_elementwise import sigmoid
from oracle import *

FUNCTIONS = {
    "Sigmoid": lambda x, a, b: sigmoid(x), "Tanh": lambda x, a, b: np.tanh(x), "Relu": lambda x, a, b: np.maximum(x, 0),
    "Affine": lambda x, a, b: a * x + b, "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "ThresholdedRelu": lambda x, a, b: np.where(x > a, x, 0), "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1), "Elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)), "Softplus": lambda x, a, b: np.log1p(np.exp(x)),
}


def step(kind, gates, h, c, r, extra, f, flag):
    """The state after one step from the input's part of the gates."""
    n = h.shape[-1]
    part = [gates[:, i * n:(i + 1) * n] for i in range(gates.shape[-1] // n)]
    rec = [r[:, i * n:(i + 1) * n] for i in range(r.shape[-1] // n)]
    if kind == "nn.rnn":
        return f[0](part[0] + h @ rec[0]), c
    if kind == "nn.gru":
        bias = [extra[i * n:(i + 1) * n] for i in range(3)]
        z, reset = f[0](part[0] + h @ rec[0] + bias[0]), f[0](part[1] + h @ rec[1] + bias[1])
        inner = reset * (h @ rec[2] + bias[2]) if flag else (reset * h) @ rec[2] + bias[2]
        return (1 - z) * f[1](part[2] + inner) + z * h, c
    peep = [extra[i * n:(i + 1) * n] for i in range(3)]
    i = f[0](part[0] + h @ rec[0] + peep[0] * c)
    forget = 1 - i if flag else f[0](part[2] + h @ rec[2] + peep[2] * c)
    c = forget * c + i * f[1](part[3] + h @ rec[3])
    o = f[0](part[1] + h @ rec[1] + peep[1] * c)
    return o * f[2](c), c


@oracle("nn.rnn", "nn.gru", "nn.lstm")
def recurrent(d, op):
    gates, needs = {"nn.rnn": (1, 1), "nn.gru": (3, 2), "nn.lstm": (4, 3)}[op]
    direction = d.turn(["forward", "reverse", "bidirectional"])
    dirs = 2 if direction == "bidirectional" else 1
    steps, batch, hidden = 0 if d.kind == "zero" else d.extent(1, 5), d.extent(1, 3), d.one_of([1, 3, 4, 16])
    dtype = d.dtype(SINGLE)
    xw = d.floats((steps, batch, dirs * gates * hidden), dtype, -1, 1, nan=False, inf=False)
    r = Tensor(d.rng.uniform(-1, 1, (dirs, hidden, gates * hidden)) / math.sqrt(hidden), dtype)
    h, c = (Tensor(d.rng.uniform(-1, 1, (dirs, batch, hidden)), dtype) for _ in range(2))
    names = (["Tanh"] if needs == 1 else ["Sigmoid", "Tanh", "Tanh"][:needs]) * dirs
    attrs = {"direction": direction}
    alpha, beta = [0.01] * len(names), [0.0] * len(names)
    if d.flag(0.4):
        names = [d.one_of(list(FUNCTIONS)) for _ in names]
        alpha, beta = [0.5] * len(names), [0.25] * len(names)
        attrs.update({"alpha": alpha, "beta": beta})
    attrs["activations"] = names
    clip = None
    if d.flag(0.3):
        clip = attrs["clip"] = 0.75
    inputs, flag, extra = [xw, r, h], False, [None, None]
    if op == "nn.gru":
        inputs.append(Tensor(d.rng.uniform(-1, 1, (dirs, 3 * hidden)), dtype))
        extra = list(wide(inputs[-1]))
        flag = attrs["linear_before_reset"] = d.flag()
    lengths = d.rng.integers(0, steps + 1, batch) if d.flag(0.5) else None
    if op == "nn.lstm":
        inputs.append(c)
        extra = [np.zeros(3 * hidden)] * dirs
        if lengths is not None or d.flag():
            inputs.append(Tensor(d.rng.uniform(-1, 1, (dirs, 3 * hidden)), dtype))
            extra = list(wide(inputs[-1]))
        if d.flag(0.3):
            flag = attrs["input_forget"] = True
    if lengths is not None:
        inputs.append(Tensor(lengths, "int32"))
    else:
        lengths = np.full(batch, steps)
    y, last_h, last_c = np.zeros((steps, dirs, batch, hidden)), wide(h).copy(), wide(c).copy()
    for k in range(dirs):
        f = [(lambda x, c=gate, g=FUNCTIONS[names[k * needs + i]], a=alpha[k * needs + i], b=beta[k * needs + i]:
              g(np.clip(x, -clip, clip) if clip and c else x, a, b)) for i, gate in enumerate([True, True, False][:needs])]
        backwards = direction == "reverse" or k == 1
        width = gates * hidden
        for b in range(batch):
            hs, cs = wide(h)[k, b:b + 1], wide(c)[k, b:b + 1]
            order = range(lengths[b])
            for t in reversed(order) if backwards else order:
                hs, cs = step(op, wide(xw)[t, b:b + 1, k * width:(k + 1) * width], hs, cs, wide(r)[k], extra[k], f, flag)
                y[t, k, b] = hs
            last_h[k, b], last_c[k, b] = hs, cs
    results = [out(y, dtype), out(last_h, dtype)] + ([out(last_c, dtype)] if op == "nn.lstm" else [])
    sym = [("t", "b", t.shape[2]) if t is xw else tuple("b" if n == batch and i == len(t.shape) - (2 if len(t.shape) > 2 else 1)
                                                          and (len(t.shape) == 3 and t is not r or len(t.shape) == 1) else n
                                                          for i, n in enumerate(t.shape)) for t in inputs]
    return Case(op, inputs, results, attrs=attrs, sym=sym, tol=(2e-4, 2e-5) if dtype == "float32" else (1e-9, 1e-10))
