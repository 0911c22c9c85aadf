# SPDX-License-Identifier: Apache-2.0
"""Headers, export lists, configure.ac and docs/abi.md agree about the ABI, and plugins built from outside of the tree work.

From the first release on a folder X.Y here holds what was released: the public headers, a compiler plugin and a runtime plugin as
text. They are compiled against those headers, linked with today's libraries, loaded and used; and what compiled plugins know of the
headers (places, sizes, values, types) is compared with today's by layout.py. Before it there is nothing to compare with.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, SRC, check, done, npy_bytes, path, read_npy, tenon, write  # noqa: E402

HERE = os.path.join(SRC, "tests", "abi")
sys.path.insert(0, HERE)
from layout import Facts, compiled, grows, says_its_size  # noqa: E402

INCLUDE = os.path.join(SRC, "include")
CC = shlex.split(os.environ.get("CC") or "cc")
LIBS = ["core/base/.libs/libtenon-base.so", "core/.libs/libtenon.so", "kit/.libs/libtenon-kit.so", "runtime/.libs/libtenon-rt.so"]

NET = write("net.py", """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y = R.add(x, x)
            s = R.sin(y)
            z = R.call_dps_packed("abi.negate", (s,), out_sinfo=R.Tensor((4,), "float32"))
            R.output(z)
        return z
""")
X = write("x.npy", npy_bytes("<f4", (4,), [1.0, -2.0, 0.5, 3.0]))


def text_of(*parts):
    with open(os.path.join(SRC, *parts), encoding="utf-8") as f:
        return f.read()


def number(text, name):
    return int(re.search(name + r"[ =](\d+)", text).group(1))


HEADER = text_of("include", "tenon", "base", "plugin.h")
MAJOR, MINOR = number(HEADER, "define TNB_ABI_MAJOR"), number(HEADER, "define TNB_ABI_MINOR")
ABI = f"{MAJOR}.{MINOR}"


def agreed():
    """What is said of the ABI in several places is the same."""
    made = text_of("configure.ac")
    check((number(made, "TENON_ABI_MAJOR"), number(made, "TENON_ABI_MINOR")) == (MAJOR, MINOR), "configure.ac has the headers' version")
    for name in ("core/base/libtenon-base", "core/libtenon", "kit/libtenon-kit", "runtime/libtenon-rt", "lm/libtenon-lm"):
        nodes = re.findall(r"^TENON_(\S+) {", text_of(name + ".map"), re.M)
        check(nodes[-1:] == [ABI] and (MAJOR or len(nodes) == 1), f"{name}.map is of version {ABI} (it has {nodes})")
    page = text_of("docs", "abi.md")
    check(bool(MAJOR) or f"The ABI version is {ABI}," in page, f"docs/abi.md says that the version is {ABI}")
    os.makedirs(path("facts"))
    facts = Facts(compiled(INCLUDE, [INCLUDE], [], path("facts")))
    named = 0
    for row in re.findall(r"^\| (.*) \| (yes|no)\b.* \| .* \|$", page, re.M):
        for s in re.findall(r"`(tn\w+)`", row[0]):
            named += 1
            members = facts.structures.get(s, (0, []))[1]
            check(bool(members), f"docs/abi.md: {s} is a structure of the headers")
            check(says_its_size(members) == (row[1] == "yes"), f"docs/abi.md: whether {s} carries its size ({row[1]})")
    check(named > 20, f"docs/abi.md has a table of structures ({named} names)")
    for s in sorted(grows()):
        members = facts.structures.get(s, (0, []))[1]
        check(bool(members) and not says_its_size(members), f"tests/abi/grows: {s} is a structure without a size")


def unchanged(folder):
    r = subprocess.run([sys.executable, os.path.join(HERE, "layout.py"), os.path.join(folder, "include"), INCLUDE],
                       capture_output=True, text=True)
    print(r.stdout.strip())
    check(r.returncode == 0, f"{os.path.basename(folder)}: what compiled plugins know of the headers is unchanged", r)


def plugins_of(version, folder, include):
    """The plugins of a folder, compiled against these headers, work in today's Tenon."""
    place = path(version)
    os.makedirs(place, mode=0o700)
    for source, module in (("plugin.c", "abi"), ("plugin_rt.c", "abi_rt")):
        built = subprocess.run(CC + ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-I" + include,
                                     os.path.join(folder, source), "-o", os.path.join(place, module + ".so")] +
                               [os.path.join(BUILD, l) for l in LIBS] + ["-Wl,--as-needed", "-Wl,-z,defs"],
                               capture_output=True, text=True)
        check(built.returncode == 0, f"{version}: {source} compiles against its headers and links with today's libraries", built)
        with open(os.path.join(folder, module + ".plugin")) as f:
            write(f"{version}/{module}.plugin", f.read().replace("@ABI@", ABI))
    for f in os.listdir(place):
        os.chmod(os.path.join(place, f), 0o600)
    plugins = ["--plugin-path", f"{place}:{os.environ['TENON_PLUGIN_PATH']}"]

    r = tenon("opt", NET, "-p", "AbiTwice", *plugins)
    check(r.returncode == 0 and "abi.twice(x)" in r.stdout, f"{version}: its pass runs, its operator is known", r)
    r = tenon("opt", NET, "-p", "AbiTwice, LegalizeOps", *plugins)
    check(r.returncode == 0 and "abi_twice" in r.stdout, f"{version}: its operator is legalized", r)
    insert = ["--set", "pipeline.cpu.insert.abi=before library_dispatch: AbiTwice"]
    art = path(version + ".tno")
    r = tenon("compile", NET, "-t", "cpu", "-o", art, *insert, *plugins)
    check(r.returncode == 0, f"{version}: a pipeline with its pass compiles", r)
    out = path(version + "-out")
    r = tenon("run", art, "-i", f"x={X}", "-o", out, *plugins)
    made = [read_npy(f)[2] for f in glob.glob(out + "/*.npy")]
    check(made == [[-8.0, 16.0, -4.0, -24.0]],
          f"{version}: its legalizer and its packed function compute (got {made})", r)
    if os.path.exists(art):
        r = tenon("run", art, "-i", f"x={X}")
        check(r.returncode == 1 and "abi.negate" in r.stderr, f"{version}: without the runtime plugin the artifact is refused by name", r)


agreed()
plugins_of("today", HERE, INCLUDE)
released = sorted(glob.glob(os.path.join(HERE, "[0-9]*.[0-9]*")))
check(bool(released) == (MAJOR > 0), "what a version from 1.0 on was released with is kept, and nothing before (tests/abi/README.md)")
for release in released:
    unchanged(release)
    plugins_of(os.path.basename(release), release, os.path.join(release, "include"))

# what layout.py is for, it sees
wrong = path("wrong")
shutil.copytree(INCLUDE, wrong)


def spoil(file, old, new, says):
    p = os.path.join(wrong, file)
    text = open(p).read()
    assert text.count(old) == 1, (file, old)
    os.chmod(p, 0o644)
    open(p, "w").write(text.replace(old, new))
    r = subprocess.run([sys.executable, os.path.join(HERE, "layout.py"), INCLUDE, wrong],
                       capture_output=True, text=True)
    check(r.returncode == 1 and says in r.stdout + r.stderr, f"{says}: seen", r)
    open(p, "w").write(text)


spoil("tenon/core/pass.h", "    TN_KEEPS_BITS, ", "    TN_KEEPS_ALL, TN_KEEPS_BITS, ", "TN_KEEPS_BITS: was 0, is 1")
spoil("tenon/rt/packed.h", "    uint32_t flags;\n", "", "tnr_packed.flags: was uint32_t at 24, is gone")
spoil("tenon/rt/packed.h", "    tnr_packed_fn call;\n", "    void *more; tnr_packed_fn call;\n", "tnr_packed.more: is new, at 32")
spoil("tenon/core/op.h", "    const char *accepts;\n", "    const char *accepts, *more;\n", "tn_arg_schema: was 24 bytes, is 32")
spoil("tenon/rt/packed.h", "int i, uint32_t tag, tnb_err *err", "int i, uint64_t tag, tnb_err *err", "tnr_expect: was ")
spoil("tenon/rt/packed.h", "tnr_expect_int(", "tnr_expect_int_new(", "have_tnr_expect_int")
done()
