# SPDX-License-Identifier: Apache-2.0
"""Running tenon: compiling, comparing results, measuring."""
import glob
import json
import os
import subprocess
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from build_tree import unwrapped  # noqa: E402


class Failed(Exception):
    """A step that did not work; its text is one line."""


def first_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    for line in lines:
        if "error" in line.lower() or "differs" in line:
            return line
    return lines[0] if lines else "no message"


def spawn(words, env=None):
    """Runs a program; its standard output. Failed if it fails."""
    r = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if r.returncode != 0:
        raise Failed(first_line(r.stderr) if r.stderr.strip() else f"exit status {r.returncode}")
    return r.stdout


class Tenon:
    """The program. In a build tree the one behind libtool's wrapper is run, which costs nothing to start."""

    def __init__(self, path, cache, mcpu):
        self.env = dict(os.environ)
        parts = [path] if os.path.exists(path) else []
        self.path, libs = unwrapped(path)
        if libs:
            top = os.path.dirname(os.path.dirname(os.path.abspath(path)))
            self.env["LD_LIBRARY_PATH"] = ":".join(libs)
            parts += [f for d in libs for f in glob.glob(os.path.join(d, "*.so"))]
            parts += glob.glob(os.path.join(top, "plugins-stage", "*.so"))
        self.build = max(map(os.path.getmtime, parts), default=0)  # tells builds from each other
        self.settings = ["--set", f"tenon.cache_dir={cache}", "--set", f"target.cpu.mcpu={mcpu}"]

    def version(self):
        return spawn([self.path, "--version"], self.env).strip().splitlines()[0]

    def is_current(self, artifact):
        """Whether the artifact was made by this build."""
        return os.path.exists(artifact) and os.path.getmtime(artifact) >= self.build

    def compile(self, model, out, *words):
        spawn([self.path, "compile", model, "-o", out, *self.settings, *words], self.env)

    def run(self, tno, inputs, *words):
        spawn([self.path, "run", tno, *(w for i in inputs for w in ("-i", i)), *words], self.env)

    def agrees(self, tno, inputs, expected, rtol, atol):
        """Failed unless the results are those of the files `expected`."""
        words = [w for k, e in enumerate(expected) for w in ("--expect", f"#{k}={e}")]
        self.run(tno, inputs, *words, "--rtol", str(rtol), "--atol", str(atol))

    def bench(self, tno, threads, inputs, expected, rtol, atol, seconds=None, runs=None, kernels=False):
        """What `tenon bench --json` says. Failed unless the results of the runs that are measured are those of the files
        `expected`."""
        words = [w for i in inputs for w in ("-i", i)]
        words += [w for k, e in enumerate(expected) for w in ("--expect", f"#{k}={e}")]
        words += ["--rtol", str(rtol), "--atol", str(atol)] if expected else []
        words += ["--runs", str(runs)] if runs else ["--seconds", str(seconds)]
        words += ["--profile-kernels"] if kernels else []
        r = json.loads(spawn([self.path, "bench", tno, "--json", "--threads", str(threads), *words], self.env))
        if not r.get("compared"):
            raise Failed("the results were not compared")
        if r["threads"] != threads:
            raise Failed(f"{r['threads']} threads instead of {threads}")
        return r
