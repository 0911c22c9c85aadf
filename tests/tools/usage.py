# SPDX-License-Identifier: Apache-2.0
"""Help, lists, exit statuses and hints of the command line."""
import os
import tempfile

from clitest import DIGITS, check, done, path, refused, tenon, write

COMMANDS = "compile run bench opt check check-config diff list show doctor onnx-test tune".split()
r = tenon("--help")
check(r.returncode == 0 and all(f"  {c} " in r.stdout for c in COMMANDS), "--help lists the subcommands", r)
for c in COMMANDS:
    r = tenon(c, "--help")
    check(r.returncode == 0 and r.stdout.startswith(f"Usage: tenon {c}") and not r.stderr, f"{c} --help", r)
    r = tenon("help", c, "--man")
    check(r.returncode == 0 and r.stdout.startswith(".TH"), f"manual page of {c}", r)
r = tenon("--version")
check(r.returncode == 0 and r.stdout.startswith("tenon "), "--version", r)
check(tenon().returncode == 2, "no subcommand: status 2")
refused("an unknown subcommand", tenon("complie"), "complie", "compile", status=(2,))
refused("an unknown option", tenon("run", "x.onnx", "--thraeds", "1"), "--thraeds", "--threads", status=(2,))
refused("a missing value", tenon("run", "x.onnx", "-t"), "-t", status=(2,))
refused("a missing operand", tenon("compile"), "usage:", status=(2,))
refused("an operand too many", tenon("run", "a", "b"), "'b'", status=(2,))
refused("a number that is none", tenon("bench", os.path.join(DIGITS, "digits.onnx"), "--runs", "two"), "--runs", "two")
digits = os.path.join(DIGITS, "digits.onnx")
for what, option, value in (("jobs", "-j", "none"), ("a dimension", "--dim", "x"), ("a debug word", "--debug", "nothing"),
                            ("a budget", "--verify-budget", "0"), ("a seed", "--seed", "-1")):
    for command in ("run", "compile"):
        refused(f"{command}: {what} that is none", tenon(command, digits, option, value, "--verify"), option.strip("-"), value, status=(2,))
for command in ("run", "compile", "bench"):
    refused(f"{command}: an unknown dimension", tenon(command, digits, "--dim", "nowhere=3"), "'nowhere'", "hint:", status=(1,))
    refused(f"{command}: a negative extent", tenon(command, digits, "--dim", "x=-1"), "at least 0", "'x=-1'", status=(2,))
refused("an extent that is declared otherwise", tenon("compile", digits, "--dim", "image=[7777, 1, 8, 8]"), "extent 0 of input", "7777", status=(1,))
for command, option, value, other in (("run", "--rtol", "1", "--expect"), ("bench", "--atol", "1", "--expect"), ("run", "--verify-budget", "3e7", "--verify"),
                                      ("compile", "--verify-budget", "3e7", "--verify"), ("opt", "--seed", "1", "--verify"),
                                      ("compile", "--dump-only", "FuseOps", "--dump-ir"), ("compile", "--prefix", "net", "--emit"),
                                      ("compile", "--mtriple", "aarch64-linux-gnu", "--emit"), ("diff", "--rtol", "1", "--exec"),
                                      ("diff", "--target", "cpu", "--exec"), ("onnx-test", "--verify-budget", "3e7", "--verify")):
    refused(f"{command} {option} without {other}", tenon(command, digits, option, value), f"'{option}' has no effect without '{other}'", status=(2,))
image = os.path.join(DIGITS, "digit4.npy")
for command in ("run", "bench"):
    refused(f"{command} --seed with inputs", tenon(command, digits, "-i", f"image={image}", "--seed", "3"), "'--seed' has no effect: -i gives the inputs",
            status=(2,))
with tempfile.TemporaryDirectory() as d:
    none = os.path.join(d, "none.py")
    with open(none, "w") as f:
        f.write("from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n    @R.function\n    def main():\n"
                "        return R.const([1.0, 2.0], 'float32')\n")
    refused("run --seed of a function without inputs", tenon("run", none, "--seed", "3"), "'--seed' has no effect: the function takes no input", status=(2,))
    r = tenon("run", digits, "-i", f"image={image}", "--seed", "3", "--verify")
    check(r.returncode == 0 and "no effect" not in r.stderr and "verified by execution" in r.stderr, "run --seed with inputs and --verify, which draws some", r)
    for emit, name in (("c", "out.tno"), ("tno", "out.c")):
        refused(f"--emit={emit} into {name}", tenon("compile", digits, "--emit", emit, "-o", os.path.join(d, name)), f"{name}'", "would say it is", status=(2,))
    tno = os.path.join(d, "digits.tno")
    check(tenon("compile", digits, "-o", tno).returncode == 0, "compiles")
    refused("--tuning-db of what is compiled", tenon("run", tno, "--tuning-db", "none"), "already compiled", status=(2,))
for command in (("check", digits), ("diff", digits, digits), ("opt", os.path.join(DIGITS, "digit4.npy"), "-p", "FuseOps")):
    r = tenon(*command)
    refused(f"{command[0]} of what is no text", r, "no text: TVMScript was expected", "hint: ", "tenon opt MODEL -p ''", status=(1,))
    check(r.stderr.isascii() and r.stderr.count("\n") <= 4, "in one line and a hint a file", r)
r = tenon("run", digits, "--budget", "1")
check("unknown option '--budget'" in r.stderr and "did you mean" not in r.stderr, "no senseless hint", r)
refused("a model that is not there", tenon("run", "/nonexistent/model.onnx"), "/nonexistent/model.onnx", status=(1,))
r = tenon("list", "passes")
check(r.returncode == 0 and "FuseOps" in r.stdout and "StaticPlanBlockMemory" in r.stdout, "list passes", r)
r = tenon("list", "ops")
check(r.returncode == 0 and "relax.add" in r.stdout and "relax.call_tir" in r.stdout, "list ops", r)
r = tenon("list", "plugins", "--why")
check(r.returncode == 0 and "ready" in r.stdout and "transform" in r.stdout, "list plugins --why", r)
for args, said in ((("packed",), "tenon: no usable plugin provides a packed function\n"), (("packed", "-q"), ""), (("meanings",), "tenon: no usable plugin provides a meaning\n")):
    r = tenon("list", *args)
    check(r.returncode == 0 and not r.stdout and r.stderr == said, f"list {' '.join(args)}: an empty list is said to be one", r)
for what, name in (("targets", "cpu"), ("importers", "onnx"), ("devices", "cpu"), ("rules", "gpu.Matmul")):
    r = tenon("list", what)
    check(r.returncode == 0 and name in r.stdout, f"list {what}", r)
import json, re  # noqa: E401,E402

for what, name in (("plugins", "transform"), ("passes", "FuseOps"), ("lists", "@tensor_programs"), ("rules", "gpu.Matmul"), ("ops", "relax.add"),
                   ("targets", "cpu"), ("profiles", "llm"), ("devices", "cpu"), ("importers", "onnx")):
    r = tenon("list", what, "--json")
    check(r.returncode == 0 and name in [x["name"] for x in json.loads(r.stdout)], f"list {what} --json", r)
    r = tenon("list", what, "--names")
    check(r.returncode == 0 and (what == "ops" or name in r.stdout.split()), f"list {what} --names", r)
for words, holds in ((("config",), lambda d: any(x["key"] == "plugins" and x["value"] == "*" and x["origin"] for x in d)), (("plugin", "onnx"), lambda d: d["name"] == "onnx" and "ops" in d["requires"]),
                     (("pass", "FuseOps"), lambda d: any(o["name"] == "fuse_opt_level" and o["default"] == "-1" for o in d["options"])), (("rule", "cpu.Matmul"), lambda d: d["plugin"] == "cpu"),
                     (("op", "nn.conv2d"), lambda d: d["name"] == "relax.nn.conv2d" and any(x["name"] == "strides" for x in d["attributes"])),
                     (("target", "cpu"), lambda d: d["device"] == "cpu" and d["attributes"]["mcpu"] and any(x["name"] == "mcpu" for x in d["schema"])),
                     (("pipeline", "cpu"), lambda d: any(x["pass"] == "FuseOps" and x["origin"] for x in d["legalize"]) and d["dropped"] == []),
                     (("model", digits), lambda d: [(x["name"], x["dtype"], x["shape"]) for x in d["functions"][0]["inputs"]] == [("image", "float32", [1, 1, 8, 8])] and d["functions"][0]["operators"]["relax.nn.conv2d"] == 2),
                     (("kernel", digits), lambda d: "softmax" in d), (("kernel", digits, "softmax"), lambda d: d["name"] == "softmax" and "softmax" in d["source"]),
                     (("placement", digits), lambda d: d["target"] == "cpu" and d["programs"] and any(x["operator"] == "relax.nn.conv2d" and x["count"] == 2 for x in d["kernels"]))):
    r = tenon("show", *words, "--json")
    check(r.returncode == 0 and holds(json.loads(r.stdout)), f"show {words[0]} --json", r)
with tempfile.TemporaryDirectory() as d:
    out = os.path.join(d, "x.tno")
    tenon("compile", digits, "-o", out)
    r = tenon("show", "model", out, "--json")
    d = json.loads(r.stdout)
    check(d["constants"] == "ok" and d["variants"][0]["target"] == "cpu" and d["functions"][0]["outputs"] == [{"name": "probabilities", "type": "tensor", "dtype": "float32", "shape": [1, 10]}], "show model of an artifact --json", r)
for word in ("version", "-V"):
    refused(f"tenon {word}", tenon(word), "tenon --version", status=(2,))
refused("a folder that is not there", tenon("compile", digits, "-o", "/nonexistent/x.tno"), "cannot write '/nonexistent/x.tno'", "no folder '/nonexistent'", status=(1,))
for page in ("ops", "passes", "targets", "devices", "settings"):
    refused(f"show {page} --json", tenon("show", page, "--json"), f"'--json' has no effect on 'show {page}'", "'tenon list'", status=(2,))
    refused(f"show {page} --jobs", tenon("show", page, "--jobs", "2"), f"no effect on 'show {page}'", status=(2,))
refused("list patterns --why", tenon("list", "patterns", "--why"), "no effect on 'list patterns'", status=(2,))
today = {x["name"]: x["today"] for x in json.loads(tenon("list", "targets", "--json").stdout)}
check(today["cpu"] == "compiles and runs here", "list targets says what each can do", None)
r = tenon("list", "targets", env={"CC": "/nonexistent/cc"})
check("cpu" in r.stdout and "cannot compile: there is no C compiler" in r.stdout, "also where there is no compiler", r)
r = tenon("show", "pass", "FuseOps")
check(r.returncode == 0 and "fuse_opt_level" in r.stdout, "show pass", r)
r = tenon("show", "passes")
kept = set(re.findall(r"; keeps (.*)\.$", r.stdout, re.M))
check(len(kept) > 3 and all(k.startswith(("results ", "nothing ")) for k in kept), f"what every pass keeps has words: {sorted(kept)}", None)
r = tenon("show", "rule", "gpu.Matmul")
check(r.returncode == 0 and "key gpu" in r.stdout and "max_threads_per_block" in r.stdout, "show rule", r)
refused("show placement of nothing", tenon("show", "placement"), "expected the file of a model")
refused("show of no operator", tenon("show", "op"), "expected the name of an op")
refused("show of an unknown rule", tenon("show", "rule", "gpu.Matmull"), "gpu.Matmul")
for word in ("Matmul", "matmull"):
    refused("show of a rule without its kind", tenon("show", "rule", word), "did you mean 'cpu.Matmul'")
r = tenon("show", "op", "nn.conv2d")
check(r.returncode == 0 and "strides" in r.stdout, "show op", r)
refused("a target misspelt whose section an INI file has", tenon("show", "pipeline", "openclsmall"), "opencl-small")
refused("show of an unknown operator", tenon("show", "op", "nn.conv2dd"), "conv2d")
refused("show of an operator without its family", tenon("show", "op", "conv2d"), "did you mean 'relax.nn.conv2d'")
skip = write("skip.py", """@R.function
def main(x: R.Tensor((4,), "float32")):
    y = R.exp(x)
    return y
""")
r = tenon("opt", skip, "-p", "LegalizeOps{skip_ops=[exp]}", "-o", "/dev/null")
check(r.returncode == 0 and "skip_ops" in r.stderr and "did you mean 'relax.exp'" in r.stderr, "an operator to be left alone that is not there is warned of", r)
# an interrupted compilation leaves nothing, and ends the compiler that it started; this one waits, so that it cannot end first
import shlex, shutil, signal, subprocess, time  # noqa: E401,E402


def running(pid):
    """A process is there and has not ended (state Z: ended, and nobody has asked yet)."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def until(holds, seconds):
    end = time.time() + seconds
    while not holds() and time.time() < end:
        time.sleep(0.01)
    return holds()


compiler = shutil.which(shlex.split(os.environ.get("CC") or "cc")[0]) or "cc"
case = path("case")
os.makedirs(os.path.join(case, "test_data_set_0"))
shutil.copyfile(digits, os.path.join(case, "model.onnx"))
for name, shape in (("input_0", (1, 1, 8, 8)), ("output_0", (1, 10))):  # TensorProto: dims, data_type, raw_data
    n = 4 * shape[-1] * shape[-2]
    write(f"case/test_data_set_0/{name}.pb", bytes(b for d in shape for b in (8, d)) + bytes((16, 1, 0x4a, n & 127 | (n > 127) << 7, *([n >> 7] if n > 127 else []))) + bytes(n))


def interrupted(command, number):
    with tempfile.TemporaryDirectory() as d:
        started, log = os.path.join(d, "started"), os.path.join(d, "stderr")
        slow = os.path.join(d, "slow")
        pattern = '*" --version "*' if command[0] == "doctor" else '*" -o "*'
        with open(slow, "w") as f:
            f.write(f"""#!/bin/sh
case " $* " in {pattern}) echo $$ >'{started}.new' && mv '{started}.new' '{started}' && exec sleep 300 ;; esac
exec '{compiler}' "$@"
""")
        os.chmod(slow, 0o755)
        env = dict(os.environ, TMPDIR=d, XDG_CACHE_HOME=os.path.join(d, "cache"), CC=slow)
        with open(log, "wb") as err:
            p = subprocess.Popen([os.environ["TENON"], *(os.path.join(d, "out.tno") if a == "OUT" else a for a in command)],
                                 env=env, stderr=err, stdout=subprocess.DEVNULL, start_new_session=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # a shell's background ignores it
        waits = until(lambda: os.path.exists(started) or p.poll() is not None, 120) and p.poll() is None
        before = [f for f in os.listdir(d) if f.startswith("tenon-")] or command[0] == "doctor"
        children = [q for q in os.listdir("/proc") if q.isdigit() and parent_of(q) == p.pid] if waits else []
        if p.poll() is None:  # not waited for, so its number is still its own
            p.send_signal(number if waits else signal.SIGKILL)
        p.wait(60)
        children += [open(started).read().strip()] if waits else []
        ended = waits and until(lambda: not any(running(q) for q in children), 10)
        until(lambda: not any(f.startswith("tenon-") for f in os.listdir(d)), 5)
        left = [f for f in os.listdir(d) if f.startswith("tenon-") or ".tmp" in f or f == "out.tno"]
        check(waits and before and p.returncode == -number and not left and ended,
              f"{command[0]} interrupted by {number}: {waits} {before} {p.returncode} {left} {ended} {open(log).read()[-2000:]}", None)


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


for number in (signal.SIGTERM, signal.SIGINT):
    for command in (("compile", digits, "-t", "cpu", "-j", "1", "-o", "OUT"), ("onnx-test", case), ("tune", digits, "--time", "30"), ("run", digits), ("doctor",)):
        interrupted(command, number)
# ---- a bar on a terminal: passes, then kernels with an estimate; none with -q ----
import pty  # noqa: E402


def seen(*args, env):
    """What tenon writes to a terminal."""
    parent, child = pty.openpty()
    p = subprocess.Popen([os.environ["TENON"], *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=child,
                         env={**os.environ, "TERM": "xterm", **env})
    os.close(child)
    text = b""
    while True:
        try:
            got = os.read(parent, 4096)
        except OSError:  # the other end is closed
            got = b""
        if not got:
            break
        text += got
    os.close(parent)
    return p.wait(), text.decode(errors="replace")


with tempfile.TemporaryDirectory() as d:
    slow = os.path.join(d, "slow")
    with open(slow, "w") as f:
        f.write(f"""#!/bin/sh
case " $* " in *" -o "*) sleep 2.5 ;; esac
exec '{compiler}' "$@"
""")
    os.chmod(slow, 0o755)
    compiling = ("compile", digits, "-t", "cpu", "--no-cache", "-o", os.path.join(d, "out.tno"))
    status, text = seen(*compiling, env={"CC": slow})
    check(status == 0 and "kernels [" in text and " s left" in text, "a bar while kernels are compiled: " + repr(text), None)
    status, text = seen(*compiling, "-q", env={"CC": slow})
    check(status == 0 and not text, "-q: no bar and no remarks: " + repr(text), None)

# ---- numbers as they are written; remarks; what was used ----
r = tenon("run", digits, "--verify", "--verify-budget", "3e7")
check(r.returncode == 0, "a budget of 3e7", r)

# what bench says of a device is whole, or ends in "..." behind a whole word
r, j = tenon("bench", digits, "--runs", "1"), tenon("bench", digits, "--runs", "1", "--json")
said = r.stdout.splitlines()[0].partition(", device cpu: ")[2]
whole = json.loads(j.stdout)["description"]
check(said and (said == whole or (said.endswith(" ...") and whole.startswith(said[:-3]))), "bench cuts no word of a device's description", r)
for text in ("3e", "1.5e0", "1e30", "e7"):
    refused(f"a budget of {text}", tenon("run", digits, "--verify", "--verify-budget", text), "--verify-budget", f"'{text}'", status=(2,))
r = tenon("run", digits, "-q")
check(r.returncode == 0 and not r.stderr and "probabilities" in r.stdout, "run -q", r)
with tempfile.TemporaryDirectory() as d:
    r = tenon("run", digits, "-o", d)
    check(r.returncode == 0 and f"wrote {d}/0-probabilities.npy (float32[1, 10])" in r.stderr, "run -o says what it wrote", r)
r = tenon("bench", digits, "--runs", "1")
check(r.returncode == 0 and "target cpu (native: " in r.stdout and "device cpu" in r.stdout, "bench says what it used", r)
r = tenon("bench", digits, "--runs", "1", "--mcpu", "x86-64-v2") if os.uname().machine == "x86_64" else None
check(not r or (r.returncode == 0 and "(mcpu x86-64-v2)" in r.stdout), "bench for another processor", r)
r = tenon("bench", digits, "--runs", "1", "--json")
check(json.loads(r.stdout)["target"] == "cpu" and json.loads(r.stdout)["features"], "and as JSON", r)
r = tenon("bench", digits, "--runs", "1", env={"CC": "clang"}) if shutil.which("clang") else None
check(not r or r.returncode == 0, "clang compiles for this machine, too", r)
r = tenon("opt", digits, "-t", "cuda")
check(r.returncode == 0 and "I.ir_module" in r.stdout, "opt MODEL -t TARGET runs its passes", r)
refused("opt without passes", tenon("opt", digits), "-p LIST", "-t TARGET", status=(2,))
r = tenon("doctor")
check("processors" in r.stdout and "C compiler" in r.stdout, "doctor", r)

# ---- names of files that promise another format than what is written ----
MODEL = os.path.join(DIGITS, "digits.onnx")
for end in (".so", ".tno", ".onnx", ".npy", ".json"):
    refused(f"opt -o x{end}", tenon("opt", MODEL, "-p", "", "-o", path("x" + end)), "TVMScript text is written", "would say it is something else", status=(2,))
    check(not os.path.exists(path("x" + end)), f"opt -o x{end} writes nothing")
for end in (".npy", ".pb", ".tno"):
    refused(f"run -o x{end}", tenon("run", MODEL, "-o", path("x" + end)), "a folder of .npy files is written", "-o takes a folder", status=(2,))
check(tenon("opt", MODEL, "-p", "", "-o", path("x.py")).returncode == 0, "opt -o x.py")
done()
