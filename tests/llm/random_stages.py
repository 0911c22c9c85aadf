# SPDX-License-Identifier: Apache-2.0
"""Random functions with random boundaries, cut into stages: what the stages compute together is what the function computes.

Values are used any number of stages later, by any name; tuples, shapes, constants, weights with and without variables of their
own, parameters in stages of any number, boundaries of one or several values. With TENON_LONG many more; SEED=n repeats one."""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

N4, N, SHAPES = 'R.Tensor((n, 4), dtype="float32")', 'R.Tensor((n,), dtype="float32")', ("[n, 4]", "[n * 4]")
WEIGHTS = ['R.Tensor((4, 4), dtype="float32")', 'R.Tensor((4,), dtype="float32")', 'R.Tensor(("v", 4), dtype="float32")',
           'R.Tensor((4, "v"), dtype="float32")', 'R.Tensor((4, 4), dtype="float32")']


class Graph:
    def __init__(self, seed):
        self.r, self.lines, self.n = random.Random(seed), [], 0
        self.stages = self.r.randint(2, 5)
        self.values = ["x", "y"]  # float32[n, 4]
        self.wide = []  # float32[n, v]
        self.tuples, self.weights, self.shapes = [], {}, []
        early = [i for i in range(len(WEIGHTS)) if self.r.random() < 0.4]
        for i in early:
            self.weight(i)
        for stage in range(self.stages):
            for _ in range(self.r.randint(1, 6)):
                self.step()
            if stage + 1 < self.stages:
                self.boundary()
        self.emit(f"R.add({self.pick()}, {self.pick()})", self.values)
        self.result()

    def emit(self, value, into=None, type_=None):
        name = f"v{self.n}"
        self.n += 1
        self.lines.append(f"{name}{': ' + type_ if type_ else ''} = {value}")
        if into is not None:
            into.append(name)
        return name

    def pick(self):
        # old values as likely as new ones
        return self.r.choice(self.values)

    def weight(self, i):
        if i not in self.weights or self.r.random() < 0.2:
            self.weights[i] = self.emit(f"packed_params[{i}]")
        return self.weights[i]

    def step(self):
        a, b = self.pick(), self.pick()
        kind = self.r.randrange(10)
        if kind < 2:
            self.emit(f"R.{self.r.choice(['nn.relu', 'negative', 'tanh', 'sigmoid'])}({a})", self.values)
        elif kind == 2:
            self.emit(f"R.{self.r.choice(['add', 'multiply', 'maximum', 'subtract'])}({a}, {b})", self.values)
        elif kind == 3:
            self.emit(f'R.matmul({a}, {self.weight(self.r.choice([0, 4]))}, out_dtype="void")', self.values)
        elif kind == 4:
            self.emit(f"R.add({a}, {self.weight(1)})", self.values)
        elif kind == 5:
            self.emit(f'R.matmul({a}, {self.weight(3)}, out_dtype="void")', self.wide)
        elif kind == 6 and self.wide:
            w = self.r.choice(self.wide)
            self.emit(f'R.matmul({w}, {self.weight(2)}, out_dtype="void")', self.values)
        elif kind == 7:
            t = self.emit(f"R.split({a}, indices_or_sections=2, axis=1)" if self.r.random() < 0.5 else f"({a}, {b})")
            pair = "split" in self.lines[-1]
            self.tuples.append((t, pair))
        elif kind == 8 and self.tuples:
            t, pair = self.r.choice(self.tuples)
            if pair:
                p, q = self.emit(f"{t}[1]"), self.emit(f"{t}[0]")
                self.emit(f"R.concat(({p}, {q}), axis=1)", self.values)
            else:
                self.emit(f"{t}[{self.r.randrange(2)}]", self.values)
        else:
            flat = self.emit("R.shape([n * 4])")
            back = self.emit("R.shape([n, 4])")
            k = self.emit(f"R.const({self.r.randint(1, 9)}.0, \"float32\")")
            f = self.emit(f"R.reshape({a}, {flat})")
            f = self.emit(f"R.multiply({f}, {k})")
            self.emit(f"R.reshape({f}, {back})", self.values)

    def boundary(self):
        n = self.r.randint(1, 3)
        args = [self.pick() for _ in range(n)]
        types = [N4] * n
        if self.wide and self.r.random() < 0.3:
            args.append(self.r.choice(self.wide))
            types.append('R.Tensor((n, v), dtype="float32")')
        ty = types[0] if len(args) == 1 else f"R.Tuple({', '.join(types)})"
        b = self.emit(f'R.call_pure_packed("mlc.pipeline_parallel_stage_boundary", {", ".join(args)}, ty_args=({ty},))', None, ty)
        if len(args) == 1:
            self.values.append(b)
            return
        for i in range(len(args)):
            if self.r.random() < 0.8:
                self.emit(f"{b}[{i}]", self.values if types[i] == N4 else self.wide)
        self.lines.append(f"z{self.n} = R.nn.relu({args[0]})")

    def result(self):
        out = [self.values[-1]] + [self.pick() for _ in range(self.r.randrange(3))] + self.wide[:1]
        self.ret = out[0] if len(out) == 1 else f"({', '.join(out)})"

    def text(self):
        weights = ", ".join(WEIGHTS)
        body = "\n".join("            " + l for l in self.lines)
        return f'''@I.ir_module
class Module:
    @R.function
    def decode(x: R.Tensor(("n", 4), dtype="float32"), y: R.Tensor(("n", 4), dtype="float32"), packed_params: R.Tuple({weights})):
        n = T.int64()
        v = T.int64()
        R.func_attr({{"num_input": 2, "pipeline_parallel_stages": {self.stages}}})
        with R.dataflow():
{body}
            gv = {self.ret}
            R.output(gv)
        return gv
'''


seeds = [int(os.environ["SEED"])] if os.environ.get("SEED") else range(1, 1001 if os.environ.get("TENON_LONG") else 41)
failed = 0
for seed in seeds:
    g = Graph(seed)
    p = write(f"r{seed}.py", g.text())
    r = tenon("opt", p, "-p", "PipelineParallelRewrite, ToNonDataflow, RemovePurityChecking, CallTIRRewrite", "--verify",
              "-o", path("out.py"))
    ok = r.returncode == 0 and "not verified" not in r.stderr and "0 functions" not in r.stderr
    if not ok:
        check(False, f"random function {seed} ({g.stages} stages)", r)
        print(g.text())
check(True, f"{len(seeds)} random functions cut into stages")
done()
