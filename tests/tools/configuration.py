# SPDX-License-Identifier: Apache-2.0
"""INI files change pipelines, show where things come from, and are refused with file and line when wrong."""
import glob
import os
import re

from clitest import DIGITS, check, done, path, refused, tenon, write

r = tenon("show", "pipeline", "cpu")
check(r.returncode == 0 and all(p in r.stdout for p in ("library_dispatch:", "legalize:", "finalize:", "lower:")),
      "show pipeline prints the four lists", r)
entries = [l for l in r.stdout.splitlines() if l.startswith("  ")]
check(entries and all(re.search(r"\S\s{2,}\S|\S \S", l.strip()) and ("plugin" in l or "generic" in l or "every target" in l) for l in entries),
      "each entry of the default lists names where it comes from", r)
check("FuseOps" in r.stdout and "VMShapeLower" in r.stdout, "the default lists hold the known passes", r)

edit = write("edit.ini", """[pipeline cpu]
drop = FuseOps, FuseTIR
insert.again = after LegalizeOps: FoldConstant
""")
r = tenon("show", "pipeline", "cpu", "--config", edit)
lists = r.stdout.split("dropped:")[0]
lines = [l.strip() for l in lists.splitlines()]
at = [i for i, l in enumerate(lines) if l.startswith("LegalizeOps")]
check(r.returncode == 0 and not any(l.startswith("Fuse") for l in lines), "drop takes passes out", r)
check(at and lines[at[0] + 1].startswith("FoldConstant") and f"{edit}:3" in lines[at[0] + 1],
      "insert puts a pass behind another and shows file and line", r)
image = f"image={DIGITS}/digit5.npy"
r = tenon("run", os.path.join(DIGITS, "digits.onnx"), "-i", image, "--config", edit)
check(r.returncode == 0 and "top [5]" in r.stdout, "the edited pipeline compiles and gives the same answer", r)

replaced = write("replace.ini", """[pipeline cpu]
legalize = LegalizeOps,
    AnnotateTIROpPattern
""")
r = tenon("show", "pipeline", "cpu", "--config", replaced)
body = r.stdout.split("legalize:")[1].split("finalize:")[0]
check(r.returncode == 0 and [l.split()[0] for l in body.splitlines() if l.strip()] == ["LegalizeOps", "AnnotateTIROpPattern"],
      "a phase can be replaced", r)

options = write("options.ini", """[pass ApplyDefaultSchedule]
rules = [Matmul,
    Fallback]
""")
r = tenon("show", "pipeline", "cpu", "--config", options)
check(r.returncode == 0 and re.search(rf"ApplyDefaultSchedule{{rules=\[Matmul,Fallback\]}} .*{re.escape(options)}:2", r.stdout),
      "options of passes are written as in a pass list, over several lines too", r)
r = tenon("run", os.path.join(DIGITS, "digits.onnx"), "-i", image, "--config", options)
check(r.returncode == 0 and "top [5]" in r.stdout, "and the pass takes them", r)
p = write("open.ini", "[pass ApplyDefaultSchedule]\nrules = [Matmul\n")
refused("a list that does not end", tenon("show", "pipeline", "cpu", "--config", p), f"{p}:2", "']'")

# What cannot be read is not empty.
os.mkfifo(path("fifo.ini"))
for name, text in (("/proc/self/mem", "cannot read '/proc/self/mem': "), ("/proc/self/stat", "has bytes but no size"),
                   (DIGITS, "is a folder, not a regular file"), (path("fifo.ini"), "is a device, pipe or socket"),
                   ("/dev/null", "is a device, pipe or socket"), (path("none.ini"), "cannot be opened: ")):
    refused(f"settings in {os.path.basename(name)}", tenon("list", "profiles", "--config", name), f"{name}: ", text)
    refused("and by the environment", tenon("list", "profiles", env={"TENON_CONFIG": name}), f"{name}: ", text)


def warned(section, *texts):
    p = write("warned.ini", section + "\n")
    r = tenon("show", "config", "--config", p)
    check(r.returncode == 0 and f"{p}:2: warning: " in r.stderr and all(t in r.stderr for t in texts),
          f"{section.splitlines()[0]} is warned of", r)


warned("[pass FuseOp]\nfuse_opt_level = 1", "[pass FuseOp] has no effect", "[pass FuseOps]")
warned("[pipeline cpuu]\ndrop = FuseOps", "[pipeline cpuu] has no effect", "[pipeline cpu]")
p = write("known.ini", "[pass FuseOps]\nfuse_opt_level = 1\n[pipeline llvm]\ndrop = FuseOps\n[pipeline mine]\ndrop = FuseTIR\n"
          "[target mine]\nkind = cpu\n")
r = tenon("show", "config", "--config", p)
check(r.returncode == 0 and not r.stderr, "sections of passes, kinds and targets that are there give no warning", r)

cache = path("cache")
model = os.path.join(DIGITS, "digits.onnx")
os.mkdir(cache)
kept = lambda: sorted(f for d, _, fs in os.walk(cache) for f in fs)
r = tenon("run", model, "-i", image, "--set", f"tenon.cache_dir={cache}")
check(r.returncode == 0 and kept(), "kernels are kept in the configured folder", r)
said = re.search(r"kernel cache in (\S+)", tenon("doctor", "--set", f"tenon.cache_dir={cache}").stdout)
check(said and sorted(os.listdir(said.group(1))) == kept(), "doctor names the folder that they lie in")
with open(os.path.join(said.group(1), "old.kernels"), "wb") as f:
    f.truncate(2 << 20)
os.utime(f.name, (0, 0))
with open(os.path.join(said.group(1), ".x.tmp"), "wb") as f:
    pass
os.utime(f.name, (0, 0))
home = path("home")
os.makedirs(os.path.join(home, "plugins"))
at_home = write("home.ini", "[tenon]\ncache_dir = ~/kernels\nplugin_path = ~/plugins, /nonexistent\ntuning_db = none\n[target cpu]\ncc = ~/bin/cc\n")
r = tenon("show", "config", "--config", at_home, env={"HOME": home})
check(all(s in r.stdout for s in (f"cache_dir = {home}/kernels", f"plugin_path = {home}/plugins, /nonexistent", f"cc = {home}/bin/cc")), "~/ is the home folder", r)
r = tenon("run", model, "-i", image, "--config", at_home, "--set", "target.cpu.cc=", env={"HOME": home})
check(r.returncode == 0 and glob.glob(os.path.join(home, "kernels", "*", "*.kernels")) and not os.path.exists(path("~")), "a cache below ~/", r)
r = tenon("show", "config", "--set", "tenon.cache_dir=~", env={"HOME": home})
check(f"cache_dir = {home} " in r.stdout + " ", "--set takes ~, too", r)
for key in ("cache_dir", "plugin_path", "tuning_db"):
    refused(f"{key} of another user's home", tenon("list", "targets", "--config", write("other.ini", f"[tenon]\n{key} = ~root/x\n")), "other.ini:2", f"'{key}' is '~root/x'", "./~root/x")
r = tenon("check-config", "--config", at_home, env={"HOME": "/nonexistent"})
check(r.returncode == 1 and "home.ini:2" in r.stderr and "HOME is no folder" in r.stderr, "~/ without a home", r)
r = tenon("run", model, "-i", image, "--set", "pipeline.cpu.drop=FuseOps", "--set", f"tenon.cache_dir={cache}", "--set",
          "tenon.cache_size=1")
check(r.returncode == 0 and kept() and "old.kernels" not in kept() and ".x.tmp" not in kept(),
      "what was not used for longest goes when the cache is larger than cache_size, and what was never finished", r)
r = tenon("show", "config", "--set", "tenon.threads=1")
check(r.returncode == 0 and re.search(r"threads = 1 +; --set", r.stdout) is not None, "show config prints origins", r)


def bad(what, text, *texts):
    p = write(what.replace(" ", "_") + ".ini", text)
    refused(what, tenon("show", "config", "--config", p), p, *texts)


bad("a duplicate key", "[tenon]\nthreads = 1\nthreads = 2\n", ":3")
bad("an unknown key", "[tenon]\nthreds = 1\n", ":2", "threads")
bad("an unknown section", "[tenno]\nthreads = 1\n", ":2", "tenon")
bad("a line that is too long", "[tenon]\nplugin_path = " + "x" * 70000 + "\n", ":2", "70014 bytes", "at most 65535")
bad("a name that is too long", "[target " + "n" * 300 + "]\nkind = cpu\n", ":1")
bad("a value of the wrong type", "[tenon]\nthreads = many\n", ":2", "many")
bad("too many threads", "[tenon]\nthreads = 99999999999\n", ":2", "from 0 to 4096")
bad("less than no threads", "[tenon]\nthreads = -3\n", ":2", "from 0 to 4096")
bad("an unknown level of messages", "[tenon]\nlog = loud\n", ":2", "'loud'", "debug")
bad("a key outside sections", "threads = 1\n", ":1")
bad("no equals sign", "[tenon]\nthreads\n", ":2")
p = write("pass.ini", "[pipeline cpu]\ninsert.x = after NoSuchPass: FuseOps\n")
refused("an insert behind a pass that is not there", tenon("show", "pipeline", "cpu", "--config", p), "NoSuchPass", f"{p}:2")
module = write("opt.py", """@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        return x
""")
bounds = '{%s}' % ", ".join('"variable_%d": %d' % (i, i) for i in range(1, 200))
p = write("options.ini", f"[pass AttachVariableBounds]\nvariable_bounds = {bounds}\n")
r = tenon("opt", module, "-p", "AttachVariableBounds", "--config", p)
check(r.returncode == 0 and all(f'"variable_{i}": {i}' in r.stdout for i in range(1, 200)),
      "opt -p takes the options of [pass NAME], however long their line", r)
r = tenon("opt", module, "-p", 'AttachVariableBounds{variable_bounds={"n": 4}}', "--config", p)
check(r.returncode == 0 and '"n": 4' in r.stdout and "variable_" not in r.stdout, "options of the list go before those of [pass NAME]", r)
p = write("options2.ini", "[pass AttachPipelineParallelStages]\npipeline_parallel_shards = no number\n")
refused("an option of [pass NAME] of the wrong type", tenon("opt", module, "-p", "AttachPipelineParallelStages", "--config", p),
        "pipeline_parallel_shards")
p = write("pass2.ini", "[pipeline cpu]\nlegalize = LegalizeOpps\n")
refused("an unknown pass", tenon("run", os.path.join(DIGITS, "digits.onnx"), "--config", p), "LegalizeOpps", "LegalizeOps")
refused("an unknown target", tenon("compile", os.path.join(DIGITS, "digits.onnx"), "-t", "cpuu"), "cpuu")
def no_target(kind, line, *texts, at=":4: "):
    """A target with that line is refused, in time: by its section, before a model is compiled."""
    p = write("attribute.ini", f"[target site]\nkind = {kind}\n\n{line}\n")
    refused(f"{kind} with {line}", tenon("show", "pipeline", "site", "--config", p), p + at, *texts)


for name in ("l1_bytes", "l2_bytes", "l3_bytes"):
    no_target("cpu", f"{name} = -5", f"target site: attribute '{name}' is -5, expected 0 to 1099511627776", "note: " + name + ": size of")
no_target("cpu", "l1_bytes = many", "'l1_bytes' must be an integer", "many")
no_target("cpu", "vector_bytes = 7", "is 7, expected 0, 16, 32 or 64")
no_target("cpu", "num_threads = -2", "0 to 4096")
no_target("cpu", "winograd = 7", "0 or 1")
no_target("cpu", "bfloat16 = 2", "0 or 1")
no_target("cpu", "mcpu = z80", "'z80'", "x86-64-v3", at=":4 (mcpu)")
no_target("cpu", "features = fma, foo", "'foo'", "avx2", at=":4 (features)")
for kind in ("opencl", "vulkan", "cuda"):
    no_target(kind, "max_threads_per_block = 0", "is 0, expected 1 to 65536")
    no_target(kind, "max_num_threads = -1", "1 to 65536")
    no_target(kind, "max_shared_memory_per_block = -3", "0 to 49152" if kind == "cuda" else "at least 0")
    no_target(kind, "thread_warp_size = 3", "is 3, expected 1")
no_target("opencl", "features = fp61", "'fp61'", "fp16", at=":4 (features)")
no_target("opencl", "vector_bytes = 5", "1, 2, 4, 8, 16, 32 or 64")
no_target("opencl", "texture_spatial_limit = 0", "at least 1")
no_target("opencl", "texture_depth_limit = -1", "at least 1")
no_target("cuda", "arch = ampere", "'ampere'", "sm_80", at=":4 (arch)")
no_target("cuda", "matrix_units = float61", "float61", "auto, float16 or bfloat16")
for kind, least in (("vulkan", 12), ("opencl", 3), ("cuda", 4)):
    shown = tenon("show", "target", kind).stdout
    flags, lists = (re.findall(r"^  (\w+) +" + what + " ", shown, re.M) for what in ("boolean", "texts"))
    check(len(flags) + len(lists) >= least, f"{kind} has booleans and lists: {flags} {lists}")
    for name in flags:
        for value in ("maybe", "True", "2", "yes, no", ""):
            no_target(kind, f"{name} = {value}", f"attribute '{name}' must be true or false, not \"{value}\"",
                      "hint: write true, yes, on or 1, or false, no, off or 0")
        for value in ("true", "no", "1"):
            p = write("flag.ini", f"[target site]\nkind = {kind}\n{name} = {value}\n")
            r = tenon("show", "pipeline", "site", "--config", p)
            check(r.returncode == 0 and not r.stderr, f"{kind} with {name} = {value} is taken", r)
    for name in lists:
        for value in ("[a, b]", '["a"]', "a, 'b'", "{}", "a]", '"a"'):
            no_target(kind, f"{name} = {value}", f"attribute '{name}' is {value}: ", "neither brackets nor quotes", f"commas between them: {name} = this, that")
    no_target(kind, 'host = {"kind": ', "attribute 'host' is no JSON")
no_target("cuda", "l2_cache_size_bytes = -1", "at least 0")
no_target("cuda", "max_shared_memory_per_block = 65536", "0 to 49152")
no_target("cuda", "max_dynamic_shared_memory_per_block = -1", "at least 0")
p = write("several.ini", "[target site]\nkind = vulkan\nsupports_math = maybe\nkeys = [gpu]\nthread_warp_size = 3\n")
refused("several wrong attributes", tenon("check-config", "--config", p), p + ":3: ", p + ":4: ", p + ":5: ", status=(1,))
p = write("unknown_too.ini", "[target cuda]\narch = sm_999\nmax_num_threads = abc\nno_such_key = 1\n")
refused("wrong attributes beside an unknown one", tenon("check-config", "--config", p), p + ":3: ", p + ":4: ", "2 of the settings", status=(1,))
for arch in ("sm_999", "sm_20", "sm_49", "sm_200a"):
    refused(f"{arch}, by check-config", tenon("check-config", "--set", "target.cuda.arch=" + arch), arch, "sm_50 and newer", "--set (arch)", status=(1,))
p = write("tag.ini", '[tags]\nsite/old = {"kind": "llvm", "l2_bytes": -1}\n')
refused("a tag's attribute", tenon("show", "pipeline", "site/old", "--config", p), p + ":2: ", "l2_bytes", "0 to")
refused("an attribute in JSON", tenon("show", "pipeline", '{"kind": "llvm", "l2_bytes": -1}'), "target json", "l2_bytes")
refused("an attribute by --set", tenon("show", "pipeline", "cpu", "--set", "target.cpu.l2_bytes=-1"), "--set: ", "l2_bytes", "0 to")
for kind, line in (("cpu", "mcpu = native"), ("cpu", "features = native"), ("cpu", "mcpu ="), ("opencl", "features ="), ("opencl", "features = cl_khr_any"),
                   ("cuda", "arch = sm_121a"), ("cuda", "arch = sm_100f"), ("cpu", "vector_bytes = 32")):
    r = tenon("show", "pipeline", "site", "--config", write("right.ini", f"[target site]\nkind = {kind}\n{line}\n"))
    check(r.returncode == 0 and not r.stderr, f"{kind} with {line} is taken", r)
r = tenon("list", "devices", "--config", write("device.ini", "[device cpu]\nfaster = yes\n"))
check("device.ini:2: the device 'cpu' has no setting 'faster'" in r.stdout and "tenon show devices" in r.stdout,
      "a setting that a device does not know is told, with what to do", r)
r = tenon("list", "plugins", "--plugin-path", path("none") + ":" + os.path.dirname(path("none")) + ":")
check(r.returncode == 0 and f"--plugin-path: warning: '{path('none')}' is no folder" in r.stderr and r.stderr.count("warning") == 1, "a folder of --plugin-path that is not there", r)
refused("the same, by check-config", tenon("check-config", "--plugin-path", path("none")), "--plugin-path: ", "1 of the settings", status=(1,))
devices = tenon("list", "devices").stdout
for device, lines in (("gpu_generic", ("memory = abc", "block = 0", "ring = 1025", "type = bus", "timeline = maybe", "cache_size = -1")),
                      ("opencl", ("type = bus", "profiling = 1", "cache_size = 1e3", "clml_tune = YES"))):
    for line in lines if re.search(f"^{device} ", devices, re.M) else ():
        p = write("device.ini", f"[device {device}]\n{line}\n")
        refused(f"{device} with {line}, by check-config", tenon("check-config", "--config", p), p + ":2: ", line + ": it is ", status=(1,))
        r = tenon("list", "devices", "--config", p)
        check(f"{p}:2: " in r.stdout and line + ": it is " in r.stdout, f"{device} with {line}, when it is opened", r)
    p = write("device.ini", f"[device {device}]\ntype = any\ncache_size = 0\nprofiling = no\ncache =\n")
    r = tenon("check-config", "--config", p)
    check(r.returncode == 0 or not re.search(f"^{device} ", devices, re.M), f"{device} with values that it takes", r)
for page, texts in (("passes", ("## FuseOps", "| `fuse_opt_level` |", "* cpu: legalize, number")),
                    ("targets", ("## cpu", "| `mcpu` |", "| `lower` | `LowerInitBlock`", "Kinds: `cpu`, `llvm`, `c`")),
                    ("devices", ("## cpu", "## null")),
                    ("settings", ("## [pipeline NAME]", "| `threads` | integer, 0 to 4096 | `0` |", "before\\|after"))):
    r, edited = tenon("show", page), tenon("show", page, "--config", edit)
    check(r.returncode == 0 and all(t in r.stdout for t in texts) and not r.stderr, f"the page of {page}", r)
    check(r.stdout == edited.stdout, f"the page of {page} is what plugins say, whatever INI files do", edited)
names = {l.split()[0] for l in tenon("list", "passes").stdout.splitlines()}
check(names == set(re.findall(r"^## (\S+)", tenon("show", "passes").stdout, re.M)), "the page of passes has every pass")
twice = write("twice.ini", "[tenon]\nthreads = 2\nthreads = 3\n")
r = tenon("show", "config", "--config", twice)
check(r.returncode == 1 and r.stderr.startswith(f"{twice}:3: key 'threads' of [tenon] is set twice in this file\n  note: the first time in line 2\n"), "a key twice, without an empty line of source", r)
refused("a missing INI file", tenon("show", "config", "--config", "/nonexistent/x.ini"), "/nonexistent/x.ini")
refused("a --set without a value", tenon("show", "config", "--set", "tenon.threads"), "tenon.threads")
done()
