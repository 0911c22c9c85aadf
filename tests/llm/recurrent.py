# SPDX-License-Identifier: Apache-2.0
"""The state of recurrent models against a reference, by random operations (recurrent.c), with a module as MLC-LLM's definitions of RWKV write
it."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, check, done, path, tenon, write  # noqa: E402

STATES = [((6,), 0.0), ((3, 3), 1.0)]  # as in recurrent.c
STATE = "vm.builtin.rnn_state_"


def program(write_, number, shape):
    """As mlc_llm.nn.rnn_state makes it."""
    extents, axes = "".join(f", {s}" for s in shape), "".join(f", v{i}" for i in range(len(shape)))
    place = "(places[vi] + 1) % T.Cast(\"int32\", history)" if write_ else "places[vi]"
    body = f"storage[slot, place{axes}] = data[vi{axes}]" if write_ else f"data[vi{axes}] = storage[slot, place{axes}]"
    return f'''
    @T.prim_func
    def rnn_state_{"set" if write_ else "get"}_{number}(var_storage: T.handle, var_slots: T.handle, var_places: T.handle, var_data: T.handle):
        sequences, history, n = T.int64(), T.int64(), T.int32()
        storage = T.match_buffer(var_storage, (sequences, history{extents}), "float32")
        slots = T.match_buffer(var_slots, (n,), "int32")
        places = T.match_buffer(var_places, (n,), "int32")
        data = T.match_buffer(var_data, (n{extents}), "float32")
        for i{"".join(f", s{k}" for k in range(len(shape)))} in T.grid(n{extents}):
            with T.sblock("copy"):
                vi{axes} = T.axis.remap("{"S" * (len(shape) + 1)}", [i{"".join(f", s{k}" for k in range(len(shape)))}])
                slot: T.let[T.int32] = slots[vi]
                place: T.let[T.int32] = {place}
                {body}
'''


def get(layer, number):
    return f'R.call_dps_packed("{STATE}get", (s, {layer}, {number}), out_ty=R.Tensor((n, {", ".join(map(str, STATES[number][0]))}), "float32"))'


def put(layer, number, value):
    return f'R.call_pure_packed("{STATE}set", s, R.prim_value({layer}), R.prim_value({number}), {value}, ty_args=(R.Object,))'


def filled(shape, value):
    for extent in reversed(shape):
        value = [value] * extent
    return f'R.const({value}, "float32")'


def function(name, layers):
    lines = []
    for k in (0, 1):
        x, last = "ab"[k], "half" if layers > 1 else "new"
        lines += [f"{x}_was = {get(0, k)}", f'{x}_half = R.multiply({x}_was, R.const(0.5, "float32"))', f"{x}_new = R.add({x}_half, {x})",
                  f"s = {put(0, k, x + '_new')}"]
        if layers > 1:
            lines += [f"{x}_was1 = {get(1, k)}", f"{x}_new1 = R.subtract({x}_was1, {x}_new)", f"s = {put(1, k, x + '_new1')}"]
    body = "\n            ".join(lines)
    return f'''
    @R.function
    def {name}(a: R.Tensor(("n", 6), "float32"), b: R.Tensor(("n", 3, 3), "float32"), state: R.Object):
        n = T.int64()
        R.func_attr({{"num_input": 3}})
        with R.dataflow():
            s = state
            {body}
            r = (a_was, b_was, s)
            R.output(r)
        return r
'''


def module(gets="(cls.rnn_state_get_0, cls.rnn_state_get_1)", values=None):
    values = values or f"({', '.join(filled(*s) for s in STATES)})"
    return ("@I.ir_module\nclass Module:" + "".join(program(w, k, STATES[k][0]) for w in (0, 1) for k in (0, 1)) + f'''
    @R.function
    def create_rnn_state(sequences_: R.Shape(["sequences"]), history_: R.Shape(["history"])) -> R.Object:
        sequences, history = T.int64(), T.int64()
        cls = Module
        with R.dataflow():
            s = R.call_pure_packed("{STATE}create", R.prim_value(2), sequences, history, {gets},
                (cls.rnn_state_set_0, cls.rnn_state_set_1), {values}, ty_args=(R.Object,))
            R.output(s)
        return s
''' + function("both", 2) + function("first", 1))


def run(file, history, seed, operations, *more):
    return subprocess.run([os.path.join(BUILD, "tests/llm/recurrent"), file, str(history), str(seed), str(operations), *more], capture_output=True,
                          text=True, timeout=300)


DEVICES = tenon("list", "devices").stdout
there = [t for t in ("opencl", "gpu_generic") if re.search(rf"^{t} .*\n    0: (?!not usable)", DEVICES, re.M)]
source = write("recurrent.py", module())
for target in ["cpu"] + there:
    r = tenon("compile", source, "-t", target, "--profile", "llm", "-o", path(f"{target}.tno"))
    check(r.returncode == 0, f"{target}: compiles", r)
    for history in (1, 2, 5):
        r = run(path(f"{target}.tno"), history, history, 600 if target == "cpu" else 150)
        check(r.returncode == 0, f"{target}: states equal the reference with {history} places", r)
        n = dict(re.findall(r"([a-z ]+) (\d+)", r.stdout))
        check(all(int(v) for k, v in n.items() if (history > 1 or k.strip() != "back") and "faults" not in k), f"{target}: each kind of operation ran: {r.stdout.strip()}")

r = run(path("cpu.tno"), 3, 7, 600, "faults")  # none of them in a build with sanitizers, which have their own allocator
check(r.returncode == 0, f"allocations that fail: {r.stdout.strip()}", r)

for what, options, words in (
    ("fewer functions than states", dict(gets="(cls.rnn_state_get_0,)"), "1 functions that read, 2 that write, 2 values"),
    ("no values", dict(values="(R.prim_value(1), R.prim_value(2))"), "item 0 of argument 5"),
    ("a value that ends within a byte", dict(values='(R.const([1, 2, 3, 4, 5], "int4"), R.const(1.0, "float32"))'), "ends within a byte"),
    ("functions of nobody", dict(gets="(R.prim_value(1), cls.rnn_state_get_1)"), "item 0 of argument 3 is int 1, expected a function of the module"),
):
    r = tenon("compile", write("wrong.py", module(**options)), "-t", "cpu", "--profile", "llm", "-o", path("wrong.tno"))
    check(r.returncode == 0, f"{what}: compiles", r)
    r = run(path("wrong.tno"), 2, 1, 1)
    check(r.returncode == 1 and words in r.stderr, f"{what}: refused where it is made", r)
done()
