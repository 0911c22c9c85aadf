# SPDX-License-Identifier: Apache-2.0
"""A plugin that cannot be used is refused with the reason and what to do; everything else goes on working."""
import os
import shutil
import sys

from clitest import BUILD, DIGITS, check, done, path, refused, tenon, write

MODULES = os.path.join(BUILD, "tests", "base", ".libs")
if not os.path.exists(os.path.join(MODULES, "module_good.so")):
    print("the modules of tests/base are not built (libcmocka-dev)")
    sys.exit(77)
MANIFEST = """[plugin]
name = test
version = 1.5
abi = {abi}
kind = compiler
module = test.so
provides = {provides}
"""
TEXT = write("module.py", '@R.function\ndef main(x: R.Tensor((2, 3), dtype="float32")):\n    y = R.nn.relu(x)\n    return y\n')
IMAGE = f"image={DIGITS}/digit4.npy"


def put(name, module, abi="0.1", provides="pass:Twist", mode=None):
    """A folder with one plugin `test`, made of a module with one fault."""
    folder = path(name)
    os.makedirs(folder, mode=0o755)
    os.chmod(folder, 0o755)
    write(f"{name}/test.plugin", MANIFEST.format(abi=abi, provides=provides))
    os.chmod(f"{folder}/test.plugin", 0o644)
    if module:
        shutil.copyfile(os.path.join(MODULES, f"module_{module}.so"), f"{folder}/test.so")
        os.chmod(f"{folder}/test.so", 0o755 if mode is None else mode)
    return folder


def bad(what, folder, *texts):
    """Asking for what it provides names the reason; the rest of Tenon works with it in the path."""
    r = tenon("opt", TEXT, "-p", "Twist", "--plugin-path", folder)
    refused(what, r, *texts, status=(1, 2))
    check("hint:" in r.stderr, what + ": says what to do", r)
    r = tenon("run", os.path.join(DIGITS, "digits.onnx"), "-i", IMAGE, "--plugin-path", folder)
    check(r.returncode == 0 and "top [4]" in r.stdout, what + ": the others go on working", r)
    r = tenon("list", "plugins", "--why", "--plugin-path", folder)
    check(r.returncode == 0 and "test " in r.stdout and "transform" in r.stdout, what + ": list shows all", r)


bad("a manifest of another ABI", put("abi", "good", abi="9.0"), "9.0", "0.1")
bad("a module of another ABI", put("abi_note", "abi"), "9.", "0.1")
bad("a module of a newer minor ABI", put("minor", "minor"), "77")
bad("a module without a note", put("nonote", "nonote"), "note")
bad("a module without the symbol", put("nosymbol", "nosymbol"), "tn_plugin")
bad("a module with an unresolved symbol", put("unresolved", "unresolved"), "tenon_no_such_function")
bad("no module", put("nomodule", None), "test.so")
bad("a manifest that promises what the tables lack", put("lie", "good"), "Twist")
bad("a module that everybody may write", put("loose", "good", mode=0o777), "everybody may write", "chmod go-w")
folder = put("loose_folder", "good")
os.chmod(folder, 0o777)
bad("a folder that everybody may write", folder, "everybody may write", "chmod go-w")
folder = put("garbled", "good")
write("garbled/test.plugin", "[plugin]\nname = test\nname = test\n")
bad("a manifest with a duplicate key", folder, "test.plugin", ":3")
folder = put("cut", "good")
with open(f"{folder}/test.so", "r+b") as f:
    f.truncate(900)
bad("a module that was cut off", folder, "test.so")
site = write("site.ini", "[plugin ops]\ndigest = " + 64 * "0" + "\n")
os.chmod(site, 0o644)
refused("an operator of a plugin with another digest, by its short name", tenon("show", "op", "nn.relu", "--config", site),
        "ops", "digest demands", "hint:")

# ---- a legalizer is looked for where none is nothing unusual: so a refused plugin that has one is told of, and two that have the same ----
promise = "pass:Twist, legalizer:relax.nn.relu@cpu, legalizer:relax.nn.relu@c, legalizer:relax.nn.relu@llvm"
for what, folder, *texts in (("of another ABI", put("legal_abi", "good", abi="9.0", provides=promise), "9.0"),
                             ("that everybody may write", put("legal_loose", "good", provides=promise, mode=0o777), "everybody may write", "hint: chmod go-w"),
                             ("with another descriptor", put("legal_lie", "good", provides=promise), "refused: plugin 'test': its descriptor has")):
    for _ in range(2):
        r = tenon("run", TEXT, "-t", "cpu", "--plugin-path", folder)
        check(r.returncode == 0 and r.stderr.count("legalizers of plugin 'test' are not used, as it is refused") == 1 and all(t in r.stderr for t in texts),
              f"a legalizer of a plugin {what}: a warning", r)
    r = tenon("run", TEXT, "-t", "null", "--plugin-path", folder)
    check(r.returncode == 0 and "legalizers" not in r.stderr, "not where another target is compiled for", r)
folder = put("legal_one", "good", provides=promise)
other = put("legal_two", "good", provides=promise)
os.rename(f"{other}/test.plugin", f"{other}/other.plugin")
with open(f"{other}/other.plugin") as f:
    text = f.read()
write("legal_two/other.plugin", text.replace("name = test", "name = other"))
r = tenon("run", TEXT, "-t", "cpu", "--plugin-path", f"{folder}:{other}")
refused("two legalizers of one operator", r, "is provided by plugin 'test' and by plugin 'other'", "prefer.relax.nn.relu@", status=(1,))
# ---- whatever is asked for by name: the refused plugin that promises it is told with the reason, not another name that is like it ----
names = {"pattern": "vendor.mm", "external": "vendor", "op": "relax.vendor.op", "target": "vendor", "rule": "vendor.Tile", "importer": "vendor",
         "tensor_intrin": "vendor.mma"}
promise = ", ".join(f"{kind}:{name}" for kind, name in names.items()) + ", op:tirx.vendor_fn, pass:Twist"
HEAD = '@R.function\ndef main(x: R.Tensor((2, 3), dtype="float32")):\n    y = '
ours = write("ours.py", HEAD + "R.vendor.op(x)\n    return y\n")
scalar = write("scalar.py", '@T.prim_func\ndef f(a: T.Buffer((4,), "float32")):\n    for i in range(4):\n        with T.sblock("b"):\n            v = T.axis.spatial(4, i)\n'
               "            a[v] = T.vendor_fn(a[v])\n")
foreign = write("model.vendor", "a model of the vendor's own format")
flow = write("flow.py", HEAD.replace("    y = ", "    with R.dataflow():\n        y = ") + "R.nn.relu(x)\n        R.output(y)\n    return y\n")
called = write("called.py", HEAD + 'R.call_pure_packed("vendor.fn", x, sinfo_args=[R.Tensor((2, 3), dtype="float32")])\n    return y\n')
asked = [("a family of patterns", ("opt", TEXT, "-p", 'FuseOpsByPattern{patterns=["vendor.*"]}')),
         ("a pattern", ("opt", TEXT, "-p", 'FuseOpsByPattern{patterns=["vendor.mm"]}')),
         ("a code generator", ("opt", flow, "-p", 'FuseOpsByPattern{patterns=["vendor.r := relax.nn.relu(x)"], annotate_codegen=true}, RunCodegen')),
         ("an operator in a pattern", ("opt", TEXT, "-p", 'FuseOpsByPattern{patterns=["r := vendor.op(x)"]}')),
         ("a pass", ("opt", TEXT, "-p", "Twist")), ("an operator of a module", ("opt", ours, "-p", "FuseOps")),
         ("an intrinsic of a module", ("opt", scalar, "-p", "FuseOps")), ("a target", ("compile", TEXT, "-t", "vendor", "-o", path("x.tno"))),
         ("an importer", ("compile", foreign, "-o", path("x.tno"))),
         ("a rule", ("opt", TEXT, "-p", 'LegalizeOps, ApplyDefaultSchedule{rules=["vendor.Tile"]}')),
         ("a target's rule", ("opt", TEXT, "-t", "vendor", "-p", 'LegalizeOps, ApplyDefaultSchedule{rules=["Tile"]}')),
         ("an operator that is shown", ("show", "op", "vendor.op")), ("a pass that is shown", ("show", "pass", "Twist")),
         ("a rule that is shown", ("show", "rule", "vendor.Tile"))]
for how, mode, abi, *texts in (("of another ABI", None, "9.0", "9.0", "hint: "), ("that everybody may write", 0o777, "0.1", "everybody may write", "hint: chmod go-w")):
    folder = put(f"asked_{abi}", "good", abi=abi, provides=promise, mode=mode)
    for what, command in asked:
        refused(f"{what} of a plugin {how}", tenon(*command, "--plugin-path", folder), "test", *texts)
    folder = put(f"asked_rt_{abi}", "good", abi=abi, provides="packed:vendor.fn", mode=mode)
    with open(f"{folder}/test.plugin") as f:
        text = f.read()
    write(f"asked_rt_{abi}/test.plugin", text.replace("kind = compiler", "kind = runtime"))
    refused(f"a packed function of a plugin {how}", tenon("run", called, "--plugin-path", folder), "test", *texts)
site = write("device.ini", "[plugin null_rt]\ndigest = " + 64 * "0" + "\n")
os.chmod(site, 0o644)
refused("a device of a plugin with another digest", tenon("run", TEXT, "-t", "null", "--config", site), "null_rt", "digest demands", "hint:")

# ---- two importers of one name; settings of a HOME that cannot be read ----
twice = put("importer_twice", "good", provides="pass:Twist, importer:onnx")
r = tenon("compile", os.path.join(DIGITS, "digits.onnx"), "-o", path("x.tno"), "--plugin-path", twice)
refused("two importers of a name", r, "importer 'onnx' is provided by plugin 'test' and by plugin 'onnx'", "prefer.onnx", status=(1,))
if os.geteuid() == 0 and shutil.which("setpriv"):
    os.makedirs(path("home/.config/tenon"))
    write("home/.config/tenon/tenon.ini", "[tenon]\nthreads = 1\n")
    os.chmod(path("home"), 0o700)
    import subprocess
    r = subprocess.run(["setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", os.environ["TENON"], "list", "passes"], capture_output=True, text=True,
                       env={**{k: v for k, v in os.environ.items() if not k.startswith("XDG_")}, "HOME": path("home")})
    if "error while loading shared libraries" not in r.stderr and "Permission denied" not in r.stderr.split("home")[0]:  # a build in a place of root's
        check(r.returncode == 0 and "cannot be opened, and is left out" in r.stderr and "FuseOps" in r.stdout, "a HOME that cannot be read is told, no more", r)
done()
