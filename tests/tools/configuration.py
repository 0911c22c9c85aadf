# SPDX-License-Identifier: Apache-2.0
"""INI files change pipelines, show where things come from, and are refused with file and line when wrong."""
import os
import re

from clitest import DIGITS, check, done, path, refused, tenon, write

r = tenon("show", "pipeline", "cpu")
check(r.returncode == 0 and all(p in r.stdout for p in ("library_dispatch:", "legalize:", "finalize:", "lower:")),
      "show pipeline prints the four lists", r)
entries = [l for l in r.stdout.splitlines() if l.startswith("  ")]
check(entries and all(re.search(r"\S\s{2,}\S|\S \S", l.strip()) and ("plugin" in l or "generic" in l) for l in entries),
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
said = re.search(r"cache of kernels in (\S+)", tenon("doctor", "--set", f"tenon.cache_dir={cache}").stdout)
check(said and sorted(os.listdir(said.group(1))) == kept(), "doctor names the folder that they lie in")
with open(os.path.join(said.group(1), "old.kernels"), "wb") as f:
    f.truncate(2 << 20)
os.utime(f.name, (0, 0))
with open(os.path.join(said.group(1), ".x.tmp"), "wb") as f:
    pass
os.utime(f.name, (0, 0))
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
bad("a line that is too long", "[tenon]\nplugin_path = " + "x" * 70000 + "\n", ":2")
bad("a name that is too long", "[target " + "n" * 300 + "]\nkind = cpu\n", ":1")
bad("a value of the wrong type", "[tenon]\nthreads = many\n", ":2", "many")
bad("too many threads", "[tenon]\nthreads = 99999999999\n", ":2", "from 0 to 4096")
bad("less than no threads", "[tenon]\nthreads = -3\n", ":2", "from 0 to 4096")
bad("an unknown level of messages", "[tenon]\nlog = loud\n", ":2", "'loud'", "debug")
bad("a key outside sections", "threads = 1\n", ":1")
bad("no equals sign", "[tenon]\nthreads\n", ":2")
p = write("pass.ini", "[pipeline cpu]\ninsert.x = after NoSuchPass: FuseOps\n")
refused("an insert behind a pass that is not there", tenon("show", "pipeline", "cpu", "--config", p), "NoSuchPass", f"{p}:2")
p = write("pass2.ini", "[pipeline cpu]\nlegalize = LegalizeOpps\n")
refused("an unknown pass", tenon("run", os.path.join(DIGITS, "digits.onnx"), "--config", p), "LegalizeOpps", "LegalizeOps")
refused("an unknown target", tenon("compile", os.path.join(DIGITS, "digits.onnx"), "-t", "cpuu"), "cpuu")
r = tenon("list", "devices", "--config", write("device.ini", "[device cpu]\nfaster = yes\n"))
check("device.ini:2: the device 'cpu' has no setting 'faster'" in r.stdout and "tenon show devices" in r.stdout,
      "a setting that a device does not know is told, with what to do", r)
for page, texts in (("passes", ("## FuseOps", "| `fuse_opt_level` |", "* cpu: legalize, number")),
                    ("targets", ("## cpu", "| `mcpu` |", "| `lower` | `LowerInitBlock`", "Kinds: `cpu`, `llvm`, `c`")),
                    ("devices", ("## cpu", "## null"))):
    r, edited = tenon("show", page), tenon("show", page, "--config", edit)
    check(r.returncode == 0 and all(t in r.stdout for t in texts) and not r.stderr, f"the page of {page}", r)
    check(r.stdout == edited.stdout, f"the page of {page} is what plugins say, whatever INI files do", edited)
names = {l.split()[0] for l in tenon("list", "passes").stdout.splitlines()}
check(names == set(re.findall(r"^## (\S+)", tenon("show", "passes").stdout, re.M)), "the page of passes has every pass")
refused("a missing INI file", tenon("show", "config", "--config", "/nonexistent/x.ini"), "/nonexistent/x.ini")
refused("a --set without a value", tenon("show", "config", "--set", "tenon.threads"), "tenon.threads")
done()
