# SPDX-License-Identifier: Apache-2.0
"""CLML's tuning cache as a file, damaged ones included, and memory on the chip."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from clmltest import INI, PLUGINS, TARGET, expected, layer, log_of, wrong  # noqa: E402
from clitest import check, done, path, refused, tenon, write  # noqa: E402
from clmlnet import net, numbers  # noqa: E402

MODEL = net("two", [("x", (1, 6, 9, 7)), ("y", (1, 9, 9, 7))], [
    f"a = R.nn.relu(R.nn.conv2d(x, {numbers(9, 6, 3, 3)}, padding=[1, 1, 1, 1]))", "b = R.add(a, y)",
    f"c = R.nn.conv2d(b, {numbers(5, 9, 1, 1)})", "d = R.nn.softmax(c, axis=1)", "e = R.sin(d)",
    f"f = R.nn.conv2d(e, {numbers(7, 5, 3, 3)})", "gv = R.nn.relu(f)"])
TNO, OUT = path("two.tno"), path("out")
r = tenon("compile", MODEL, "-t", "clml", "-o", TNO, "--config", INI, "--plugin-path", PLUGINS)
check(r.returncode == 0, "compiles", r)
r = tenon("run", MODEL, "-t", "cpu", "-o", OUT)
check(r.returncode == 0, "runs on the processor", r)


def run(name, *more, env=None, **settings):
    full = layer(name, **settings)
    full.update(env or {})
    return tenon("run", TNO, *expected(OUT), "--rtol", "1e-4", "--atol", "1e-5", "--plugin-path", PLUGINS, "--log", "info", *more, env=full)


def right(name, r):
    return r.returncode == 0 and " equals " in r.stderr and not wrong(name)


def calls(name, entry):
    return sum(l.split()[0] == entry for l in log_of(name))


# Filled by a run that tunes, read by the others, whoever names it.
FILE = path("tuned.bin")
NAMED = ("--set", f"device.opencl.clml_tuning={FILE}")
r = run("plain")
check(right("plain", r) and not calls("plain", "clCreateMLTuningCacheQCOM"), "without a file nothing is tuned", r)
r = run("empty", *NAMED)
check(right("empty", r) and "has nothing for it" in r.stderr and not os.path.exists(FILE), "a file that is not there is no matter", r)
r = run("tune", *NAMED, "--set", "device.opencl.clml_tune=yes")
check(right("tune", r) and calls("tune", "clTuneMLOpQCOM") == 5 and calls("tune", "clSaveMLTuningCacheQCOM") == 4,
      f"a run that tunes: {calls('tune', 'clTuneMLOpQCOM')} operations", r)
check(calls("tune", "clEnqueueRecordingMLOpQCOM") == 0, "it records nothing")
tuned = open(FILE, "rb").read()
r = run("use", *NAMED)
check(right("use", r) and calls("use", "clLoadMLTuningCacheQCOM") == 2 and calls("use", "clTuneMLOpQCOM") == 0 and
      r.stderr.count("tuned as") == 2, "the next run takes what it found", r)
check(calls("use", "clEnqueueRecordingMLOpQCOM") == 2 and open(FILE, "rb").read() == tuned, "records, and leaves the file")
r = run("ini", "--config", write("tuning.ini", f"[device opencl]\nclml_tuning = {FILE}\n"))
check(right("ini", r) and calls("ini", "clLoadMLTuningCacheQCOM") == 2, "named in an INI file", r)
r = run("env", env={"CLML_TUNING_CACHE": FILE})
check(right("env", r) and calls("env", "clLoadMLTuningCacheQCOM") == 2, "named by the environment", r)
other = path("other.bin")
r = run("envtune", env={"CLML_TUNING_CACHE": other, "CLML_IS_TUNING_RUN": "1"})
check(right("envtune", r) and open(other, "rb").read() == tuned, "filled by the environment's wish", r)
r = run("again", *NAMED, "--set", "device.opencl.clml_tune=yes")
check(right("again", r) and open(FILE, "rb").read() == tuned, "tuned again: one record a function", r)
r = run("old", *NAMED, VERSION=4)
check(right("old", r) and r.stderr.count("has nothing for it") == 2, "another version of the extension has its own", r)
r = run("nofile", "--set", "device.opencl.clml_tune=yes")
refused("tuning without a file", r, "clml_tuning")
r = run("where", "--set", f"device.opencl.clml_tuning={path('no/such/folder/x')}", "--set", "device.opencl.clml_tune=yes")
refused("a file that cannot be written", r, "no/such/folder")

# Damaged files: a message, and the program goes on.
half = (len(tuned) - 8) // 2
for name, data, loads in (("garbage", b"not a cache", 0), ("nothing", b"", 0), ("a letter changed", tuned[:40] + b"?" + tuned[41:], 0),
                          ("the second cut off", tuned[:-3], 1), ("a length of 2^60", tuned[:24] + b"\0\0\0\0\0\0\0\x10" + tuned[32:], 0),
                          ("a letter at the end", tuned + b"x", 2)):
    bad = write("bad.bin", data)
    r = run("bad", "--set", f"device.opencl.clml_tuning={bad}")
    check(right("bad", r) and calls("bad", "clLoadMLTuningCacheQCOM") == loads and "bad.bin" in r.stderr and
          ("damaged" in r.stderr or "no results of tuning" in r.stderr), f"{name}: told, and gone on with {loads}", r)
r = run("mend", "--set", f"device.opencl.clml_tuning={write('bad.bin', tuned[:-3])}", "--set", "device.opencl.clml_tune=yes")
check(right("mend", r) and sorted(open(path("bad.bin"), "rb").read()) == sorted(tuned), "tuning mends a damaged file", r)
r = run("refused", *NAMED, FAIL="clLoadMLTuningCacheQCOM")
check(r.returncode == 0 and "does not take" in r.stderr, "a device that does not take it: told, and gone on", r)
for entry in ("clCreateMLTuningCacheQCOM:2", "clTuneMLOpQCOM:2", "clSaveMLTuningCacheQCOM", "clSaveMLTuningCacheQCOM:2"):
    r = run("fault", *NAMED, "--set", "device.opencl.clml_tune=yes", FAIL=entry)
    refused(entry + " fails", r, "CL_OUT_OF_RESOURCES")
    check(not any(l.startswith("leaked") for l in log_of("fault")) and open(FILE, "rb").read() == tuned, entry + " fails: nothing is left, the file is whole")

# Memory on the chip: intermediate tensors, as far as it reaches; what overlaps in it shares its bytes.
chip = lambda name: [l for l in log_of(name) if l.startswith("clCreateBufferWithProperties")]  # noqa: E731
r = run("off")
check(right("off", r) and not chip("off") and "0 bytes on the chip" in r.stderr, "a device without memory on the chip", r)
r = run("large", ONCHIP=1 << 20)
check(right("large", r) and len(chip("large")) == 3, f"with much of it: {len(chip('large'))} tensors", r)
ends = [int(l.split()[4]) + int(l.split()[1]) for l in chip("large")]
check(max(ends) < sum(int(l.split()[1]) for l in chip("large")), "tensors that do not live at one time share it: up to " + str(max(ends)))
r = run("small", ONCHIP=4096)
check(right("small", r) and 0 < len(chip("small")) < 3, f"with little: {len(chip('small'))} tensors", r)
r = run("unwanted", "--set", "device.opencl.clml_onchip=no", ONCHIP=1 << 20)
check(right("unwanted", r) and not chip("unwanted"), "not wanted", r)
r = run("taken", ONCHIP=1 << 20, FAIL="clCreateBufferWithProperties")
check(r.returncode == 0 and " equals " in r.stderr and "on the chip are not to be had" in r.stderr, "taken by another: told, and gone on", r)
r = run("notrecorded", *NAMED, "--set", "device.opencl.clml_tune=yes", ONCHIP=1 << 20)
check(right("notrecorded", r) and not chip("notrecorded"), "only within a recording", r)
done()
