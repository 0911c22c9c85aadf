# SPDX-License-Identifier: Apache-2.0
"""Running tenon: compiling, comparing results, measuring."""
import json
import os
import subprocess
import tempfile


class Failed(Exception):
    """A step that did not work; its text is one line."""


def first_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    for line in lines:
        if "error" in line.lower() or "differs" in line:
            return line
    return lines[0] if lines else "no message"


def spawn(words, env=None):
    """Runs a program: its standard output, standard error and peak memory in bytes. Failed if it fails."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complained = out.read(), err.read()
    if child.returncode != 0:
        raise Failed(first_line(complained) if complained.strip() else f"exit status {child.returncode}")
    return said, complained, used.ru_maxrss * 1024


class Tenon:
    """The program. In a build tree the one behind libtool's wrapper is run, which costs nothing to start."""

    def __init__(self, path, cache):
        self.path, self.env = path, dict(os.environ)
        real = os.path.join(os.path.dirname(path), ".libs", os.path.basename(path))
        if os.path.exists(real):
            top = os.path.dirname(os.path.dirname(os.path.abspath(path)))
            self.path = real
            self.env["LD_LIBRARY_PATH"] = ":".join(
                os.path.join(top, d, ".libs") for d in ("core/base", "core", "kit", "runtime"))
        self.cache = ["--set", f"tenon.cache_dir={cache}"]

    def version(self):
        return spawn([self.path, "--version"], self.env)[0].strip().splitlines()[0]

    def compile(self, model, out, *words):
        spawn([self.path, "compile", model, "-o", out, *self.cache, *words], self.env)

    def agrees(self, tno, inputs, expected, rtol, atol):
        """Failed unless the results are those of the files `expected`."""
        words = [w for i in inputs for w in ("-i", i)]
        for k, e in enumerate(expected):
            words += ["--expect", f"#{k}={e}"]
        spawn([self.path, "run", tno, *words, "--rtol", str(rtol), "--atol", str(atol)], self.env)

    def bench(self, tno, threads, inputs, seconds=None, runs=None, kernels=False):
        """What `tenon bench --json` says, and peak_bytes."""
        words = [w for i in inputs for w in ("-i", i)]
        words += ["--runs", str(runs)] if runs else ["--seconds", str(seconds)]
        words += ["--profile-kernels"] if kernels else []
        out, _, peak = spawn([self.path, "bench", tno, "--json", "--threads", str(threads), *words], self.env)
        return dict(json.loads(out), peak_bytes=peak)
