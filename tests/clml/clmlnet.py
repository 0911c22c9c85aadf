# SPDX-License-Identifier: Apache-2.0
"""Small graphs for the tests of CLML: making them, running them on the layer, comparing with the processor."""
from clitest import check, path, tenon, write
from clmltest import INI, PLUGINS, TARGET, expected, layer, made, wrong

# Groups of cheap operators alone are for the test of the threshold.
ALL = write("all.ini", TARGET + "[pass CLMLDispatch]\nmin_work = 0\n")
counter = 0


def net(name, params, body, dtype="float32"):
    shapes = ", ".join(f'{p}: R.Tensor({s}, dtype="{dtype}")' for p, s in params)
    return write(f"{name}.py", f"""
@I.ir_module
class Module:
    @R.function
    def main({shapes}):
        with R.dataflow():
{chr(10).join("            " + l for l in body)}
            R.output(gv)
        return gv
""")


def numbers(*shape, dtype="float32"):
    """A constant of that shape, of small numbers."""
    global counter
    size = 1
    for s in shape:
        size *= s
    values = []
    for _ in range(size):
        counter = (counter * 1103515245 + 12345) % 2147483648
        values.append(f"{(counter >> 16) % 33 / 32 - 0.5:g}")
    text = values
    for s in reversed(shape[1:]):
        text = ["[" + ", ".join(text[i:i + s]) + "]" for i in range(0, len(text), s)]
    return f'R.const([{", ".join(text)}], "{dtype}")'


def run(name, model, calls, config=ALL, close=("1e-4", "1e-5"), plugins=PLUGINS, **settings):
    """Compiles for the extension, runs on the layer, and compares with the processor's results."""
    tno, out = path(name + ".tno"), path(name + ".out")
    r = tenon("compile", model, "-t", "clml", "-o", tno, "--config", config, "--plugin-path", PLUGINS)
    check(r.returncode == 0, f"{name}: compiles", r)
    r = tenon("run", model, "-t", "cpu", "-o", out)
    check(r.returncode == 0, f"{name}: runs on the processor", r)
    r = tenon("run", tno, *expected(out), "--rtol", close[0], "--atol", close[1], "--plugin-path", plugins, env=layer(name, **settings))
    check(r.returncode == 0, f"{name}: the extension's results are the processor's", r)
    check(made(name) == calls, f"{name}: operations {' '.join(made(name))}, expected {' '.join(calls)}")
    check(not wrong(name), f"{name}: nothing refused, nothing left: " + "; ".join(wrong(name)))
    return tno
