# SPDX-License-Identifier: Apache-2.0
"""A candidate whose kernel hangs, crashes or computes something else does not take the tuner down: it is recorded as failed, with
the reason, the others are measured, and compilations do not take it."""
import json
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import BUILD, SRC, check, done, path, tenon, write  # noqa: E402

if "cpu" not in tenon("list", "targets").stdout.split():
    sys.exit(77)

VENDOR = path("vendor")
os.makedirs(VENDOR, mode=0o700)
shutil.copy(os.path.join(BUILD, "tests/transform/.libs/testrule.so"), VENDOR)
with open(os.path.join(os.environ["TENON_PLUGIN_PATH"], "ops.plugin"), encoding="utf-8") as f:
    abi = next(line for line in f if line.startswith("abi"))
with open(os.path.join(SRC, "tests/transform/external/testrule.plugin"), encoding="utf-8") as f:
    write("vendor/testrule.plugin", f.read().replace("abi = @ABI@", abi.strip()))
os.chmod(path("vendor/testrule.plugin"), 0o600)
PLUGINS = f"{VENDOR}:{os.environ['TENON_PLUGIN_PATH']}"
INI = write("perilous.ini", """[pipeline cpu]
drop = ApplyDefaultSchedule
insert.own = after FuseTIR: ApplyDefaultSchedule{rules=[testrule.Perilous, Fallback]}
""")
NET = write("net.py", """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((48, 64), "float32")):
        with R.dataflow():
            y = R.add(x, R.const(2.0, "float32"))
            R.output(y)
        return y
""")
DB, TMP = path("db.jsonl"), path("tmp")
os.mkdir(TMP)
COMMON = ["--config", INI, "--plugin-path", PLUGINS, "--tuning-db", DB]

start = time.monotonic()
r = tenon("tune", NET, *COMMON, "--threads", "1", "--measure", "0.01", "--timeout", "8", "-j", "1", "--trials", "8",
          env={"TMPDIR": TMP, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"})  # else not ended by the signal
took = time.monotonic() - start
check(r.returncode == 0 and "speedup" in r.stdout, "the tuner comes to its end", r)
check(took < 120, f"and in time: {took:.0f} s")
check(not os.listdir(TMP), f"no files are left: {os.listdir(TMP)}")
found = {}
with open(DB, encoding="utf-8") as f:
    for line in f.read().splitlines()[1:]:
        record = json.loads(line)
        if record["rule"] == "testrule.Perilous":
            found.setdefault(record["choices"]["peril"], record)
check(sorted(found) == [0, 1, 2, 3, 4], f"each schedule has a record: {sorted(found)}")
for peril, reason in ((2, "no result within"), (3, "crashed"), (4, "result differs")):
    check(reason in found.get(peril, {}).get("failed", ""), f"peril {peril}: {reason}: {found.get(peril)}")
for peril in (0, 1):
    check(found.get(peril, {}).get("seconds", 0) > 0, f"peril {peril} is measured: {found.get(peril)}")

# what failed is not taken
out = path("net.tno")
r = tenon("compile", NET, "-o", out, *COMMON)
check(r.returncode == 0, "compiles with the database", r)
r = tenon("show", "model", out, "--plugin-path", PLUGINS)
check(not any(f"peril={p}" in r.stdout for p in (2, 3, 4)), "no schedule that failed is taken", r)
done()
