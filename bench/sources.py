#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether two builds of Tenon emit the same kernels: for changes that are meant to change none.

    bench/sources.py --base OLD/build/tools/tenon --tenon build/tools/tenon MODEL...

A line a model and target: "same", or the first kernel whose source differs. On cpu a C compiler that keeps what it is given stands
in for the real one (and compiles it without optimizing); an opencl artifact holds its sources, whose section is compared.
"""
import argparse
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile

COMPILER = """#!/bin/sh
# Keeps every source, then compiles it as fast as can be.
for a; do
    case $a in
    *.c) cp "$a" "$SOURCES_KEPT/$$.c" ;;
    esac
done
exec cc "$@" -O0
"""


class Build:
    def __init__(self, program, work):
        top = os.path.dirname(os.path.dirname(os.path.abspath(program)))
        conf = os.path.join(os.path.dirname(top), "conf")
        os.mkdir(work)
        self.program, self.work, self.kept = program, work, os.path.join(work, "kept")
        self.compiler = os.path.join(work, "cc")
        with open(self.compiler, "w") as f:
            f.write(COMPILER)
        os.chmod(self.compiler, 0o755)
        self.env = dict(os.environ, TENON_PLUGIN_PATH=os.path.join(top, "plugins-stage"), TENON_SYSCONFDIR=conf,
                        TENON_DATADIR=os.path.join(conf, "data"), SOURCES_KEPT=self.kept)

    def compile(self, model, target):
        """Hash -> the bytes that were made, or None where the model is refused."""
        out = os.path.join(self.work, "out.tno")
        shutil.rmtree(self.kept, ignore_errors=True)
        os.mkdir(self.kept)
        how = ["--set", f"target.cpu.cc={self.compiler}"] if target == "cpu" else []
        r = subprocess.run([self.program, "compile", model, "-t", target, "-o", out, "--no-cache", "-j", "1", *how], env=self.env,
                           capture_output=True, text=True)
        if r.returncode:
            return None
        names = [os.path.join(self.kept, n) for n in os.listdir(self.kept)] if target == "cpu" else [out]
        made = {}
        for name in names:
            with open(name, "rb") as f:
                data = f.read()
            if target != "cpu":
                data = code_of(data)
            made[hashlib.sha256(data).hexdigest()] = data
        return made


def code_of(artifact):
    """The sections of code of an artifact, one behind the other (tenon/base/tno.h)."""
    n = struct.unpack_from("<I", artifact, 24)[0]
    table = [struct.unpack_from("<IIQQQ", artifact, 64 + 32 * i) for i in range(n)]
    return b"".join(artifact[offset : offset + size] for kind, _, offset, size, _ in sorted(table) if kind in (3, 5))


def first_difference(a, b):
    """The line of b that a has not, near what it is in."""
    have = set(a.split(b"\n"))
    for line in b.split(b"\n"):
        if line not in have:
            return line[:160].decode(errors="replace").strip()
    return "lines in another order"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--base", required=True)
    p.add_argument("--tenon", required=True)
    p.add_argument("--targets", default="cpu,opencl")
    p.add_argument("models", nargs="+")
    a = p.parse_args()
    work, different = tempfile.mkdtemp(prefix="tenon-sources-"), 0
    try:
        builds = Build(a.base, os.path.join(work, "base")), Build(a.tenon, os.path.join(work, "new"))
        for model in a.models:
            path = os.path.join(model, "model.onnx") if os.path.isdir(model) else model
            for target in a.targets.split(","):
                old, new = (b.compile(path, target) for b in builds)
                name = os.path.basename(model.rstrip("/"))
                if old is None or new is None:
                    says = "refused by both" if old is None and new is None else f"refused by {'the base' if old is None else 'this one'}"
                    different += (old is None) != (new is None)
                elif set(old) == set(new):
                    says = f"same ({sum(map(len, new.values()))} bytes)"
                else:
                    different += 1
                    gone = [old[k] for k in old if k not in new]
                    fresh = [new[k] for k in new if k not in old]
                    says = f"{len(fresh)} of {len(new)} differ: {first_difference(b''.join(gone), fresh[0]) if fresh else 'fewer'}"
                print(f"{name:32} {target:8} {says}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    sys.exit(1 if different else 0)


main()
