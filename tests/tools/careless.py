# SPDX-License-Identifier: Apache-2.0
"""Plugins whose functions fail without a reason, crash, end the program, or report late what went wrong: Tenon says whose they are and goes on to stand."""
import os
import re
import shlex
import subprocess

from clitest import BUILD, SRC, check, done, path, refused, tenon, write

CC = shlex.split(os.environ.get("CC") or "cc")
ABI = re.search(r"ABI (\d+\.\d+)", tenon("--version").stdout).group(1)
PROVIDES = {"compiler": "pass:CarelessPass, target:careless, rule:careless.Tile, importer:careless, external:careless, dialect:careless",
            "runtime": "device:careless, packed:careless.fn, loader:careless"}


def build(folder, name):
    """Both halves of the backend, under another name."""
    os.makedirs(path(folder), mode=0o755)
    os.chmod(path(folder), 0o755)
    for kind, provides in PROVIDES.items():
        half = name + ("_rt" if kind == "runtime" else "")
        r = subprocess.run([*CC, "-std=gnu17", "-g", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{SRC}/include", f"-I{BUILD}/include",
                            f"-DNAME={half}", *(["-DCARELESS_RT"] if kind == "runtime" else []), os.path.join(SRC, "tests/tools/careless.c"),
                            "-o", path(f"{folder}/{half}.so")], capture_output=True, text=True)
        check(r.returncode == 0, f"{half} compiles", r)
        write(f"{folder}/{half}.plugin", f"[plugin]\nname = {half}\nversion = 1.0\nabi = {ABI}\nkind = {kind}\nmodule = {half}.so\nprovides = {provides}\n")
    for f in os.listdir(path(folder)):
        os.chmod(path(f"{folder}/{f}"), 0o644)
    return path(folder)


FOLDER = build("careless", "careless")

HEAD = '@R.function\ndef main(x: R.Tensor((4,), dtype="float32")):\n    '
RELU = write("relu.py", HEAD + "with R.dataflow():\n        y = R.nn.relu(x)\n        R.output(y)\n    return y\n")
CALLED = write("called.py", HEAD + 'y = R.call_pure_packed("careless.fn", x, sinfo_args=[R.Tensor((4,), dtype="float32")])\n    return y\n')
WRONG = write("wrong.py", HEAD + 'y = R.call_pure_packed("careless.fn", x, x, x, sinfo_args=[R.Tensor((4,), dtype="float32")])\n    return y\n')
MODEL = write("model.careless", "careless model")
LIBRARY = 'FuseOpsByPattern{patterns=["careless.r := relax.nn.relu(x)"], annotate_codegen=true}, RunCodegen'
GIVEN = ("--set", "pipeline.careless.insert.mine=before LegalizeOps: " + LIBRARY)


def careless(what, *args):
    return tenon(*args, "--plugin-path", FOLDER, env={"CARELESS": what, "TENON_NO_CORE": "1"})


r = careless("", "compile", RELU, "-t", "careless", "-o", path("relu.tno"))
check(r.returncode == 0, "it compiles", r)
r = careless("", "compile", RELU, "-t", "careless", "-o", path("library.tno"), *GIVEN)
check(r.returncode == 0, "it compiles for its library, which needs nothing but the name at run time", r)
r = careless("", "run", path("relu.tno"))
check(r.returncode == 0, "it runs", r)
r = careless("", "run", path("library.tno"))
check(r.returncode == 0, "its library runs the function, though the generator left no payload", r)

COMPILE = ("compile", RELU, "-t", "careless", "-o", path("x.tno"))
RUN = ("run", path("relu.tno"))
CALLS = [  # function, command, what the error says, what a crash says
    ("pass", ("opt", RELU, "-p", "CarelessPass"), "pass 'CarelessPass'", "in pass 'CarelessPass' of plugin 'careless'"),
    ("rule", COMPILE, None, "in rule 'careless.Tile' of plugin 'careless', within pass 'ApplyDefaultSchedule' of plugin '"),
    ("probe", COMPILE, "target 'careless': probe", "in probe of target 'careless' of plugin 'careless'"),
    ("codegen", COMPILE, "target 'careless': code generator", "in code generator of target 'careless' of plugin 'careless'"),
    ("stmt", COMPILE, None, "in stmt of dialect 'careless' of plugin 'careless', within code generator of target 'careless'"),
    ("external", (*COMPILE, *GIVEN), "the code generator 'careless' refused", "in external code generator 'careless' of plugin 'careless', within pass 'RunCodegen'"),
    ("import", ("compile", MODEL, "-t", "careless", "-o", path("x.tno")), "importer 'careless': import", "in import of importer 'careless' of plugin 'careless'"),
    ("count", RUN, "driver 'careless': count", "in count of driver 'careless'"),
    ("open", RUN, "device 'careless': open", "in open of device 'careless'"),
    ("module_load", RUN, "device 'careless': module_load", "in module_load of device 'careless'"),
    ("module_kernel", RUN, "device 'careless': module_kernel", "in module_kernel of device 'careless'"),
    ("launch", RUN, "device 'careless': launch", "in kernel 'relu'"),
    ("packed", ("run", CALLED, "-t", "careless"), "packed function 'careless.fn'", "in packed function 'careless.fn'"),
    ("loader", ("run", path("library.tno")), "loader 'careless': open", "in open of loader 'careless'"),
    ("call", ("run", path("library.tno")), "loader 'careless': call", "in call of loader 'careless'"),
]
ASAN = "--enable-asan" in open(os.path.join(BUILD, "config.log"), errors="replace").read(4096)  # which has a handler of its own
for function, command, error, crash in CALLS:
    if error:
        r = careless(function + " fail", *command)
        refused(f"{function} fails", r, error, *([] if "refused" in error else ["failed without a reason ("]), "hint:")
    if not ASAN:
        r = careless(function + " crash", *command)
        check(r.returncode < 0 and "crashed: invalid memory access " + crash in r.stderr and "hint:" in r.stderr, f"{function} crashes: told with whose it is", r)
    for how in ("exit", "quick exit"):
        refused(f"{function} calls {how.replace(' ', '_')}(0)", careless(f"{function} {how}", *command), "ended by a call of exit " + crash, "hint:")
for half, command in (("compiler", COMPILE), ("runtime", RUN)):
    refused(f"init of the {half} half calls exit(0)", careless("init exit", *command), "ended by a call of exit in init of plugin 'careless", "check-plugin")
    refused(f"init of the {half} half fails", careless("init fail", *command), "'careless", "init failed without a reason (device error)", "hint:")
    if not ASAN:
        r = careless("init crash", *command)
        check(r.returncode < 0 and "in init of plugin 'careless" in r.stderr and "check-plugin" in r.stderr, f"init of the {half} half crashes", r)

SEVERAL = write("several.py", HEAD + "y = R.nn.relu(x)\n    z = R.nn.softmax(y)\n    return z\n")
for model, text in ((RELU, "device 'careless', kernel 'relu': unit 7 has met an error"),
                    (SEVERAL, "device 'careless', after 2 kernels of which 'softmax' was the last: unit 7 has met an error")):
    refused("an error that the device reports when a run is over", careless("sync late", "run", model, "-t", "careless", "--seed", "1"), text)
r = careless("sync slow", *RUN, "--timing")
took = re.search(r"run ([\d.]+) ms", r.stderr)
check(r.returncode == 0 and took and float(took.group(1)) >= 300, "--timing waits for the device", r)
refused("a packed function with more arguments than it takes", careless("", "run", WRONG, "-t", "careless"), "'careless.fn'", "called with 3 arguments",
        "takes 1 to 2", "hint:")
refused("a hook that says it wrote a statement and wrote nothing", careless("stmt drop", *COMPILE), "kernel 'relu'", "dialect 'careless'", "wrote nothing", "hint:")

# ---- two plugins that have the same names: nothing is chosen silently, whatever was loaded before ----
BOTH = FOLDER + ":" + build("twin", "twin")
for what, name, kind, command in (
        ("target", "careless", "target", COMPILE), ("pass", "CarelessPass", "pass", ("opt", RELU, "-p", "CarelessPass")),
        ("pass, when another name has loaded one of them", "CarelessPass", "pass",
         ("opt", RELU, "-t", "careless", "-p", "LegalizeOps, CarelessPass", "--set", "tenon.prefer.target.careless=twin")),
        ("rule", "careless.Tile", "rule", (*COMPILE, "--set", "tenon.prefer.target.careless=careless")),
        ("device", "careless", "device", RUN), ("loader", "careless", "loader", ("run", path("library.tno"), "--set", "tenon.prefer.device.careless=twin_rt"))):
    refused(f"a {what} of two plugins", tenon(*command, "--plugin-path", BOTH), f"{kind} '{name}'", "is provided by plugin", "twin", "hint:", "prefer.")
CHOICES = ("target.careless=twin", "CarelessPass=careless", "careless.Tile=twin", "external.careless=twin", "dialect.careless=twin",
           "importer.careless=twin", "device.careless=twin_rt", "loader.careless=careless_rt", "careless.fn=twin_rt")


def all_but(kind):
    return [x for n in CHOICES if not n.startswith(kind + ".") for x in ("--set", "tenon.prefer." + n)]


for kind, command in (("dialect", COMPILE), ("external", (*COMPILE, *GIVEN)), ("importer", ("compile", MODEL, "-t", "careless", "-o", path("x.tno")))):
    refused(f"the {kind} alone of two plugins", tenon(*command, *all_but(kind), "--plugin-path", BOTH), f"{kind} 'careless' is provided by plugin", "twin", "hint:", "prefer.")
every = all_but("nothing")
r = tenon(*COMPILE, *GIVEN, *every, "--plugin-path", BOTH)
check(r.returncode == 0, "where the site says which serves, it compiles", r)
r = tenon("run", path("library.tno"), *every, "--plugin-path", BOTH)
check(r.returncode == 0, "and runs, with the device of one and the loader of the other", r)
r = tenon("list", "targets", "--names", "--plugin-path", BOTH)
check(r.returncode == 0 and r.stdout.split().count("careless") == 1, "a target of two plugins is listed once", r)
r = tenon("list", "targets", "--plugin-path", BOTH)
check("is provided by plugin 'careless' and by plugin 'twin'" in r.stdout, "and with both plugins", r)
done()
