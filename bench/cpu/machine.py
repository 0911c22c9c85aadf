# SPDX-License-Identifier: Apache-2.0
"""What the machine can do (machine.c), and what it is called."""
import json
import os
import platform
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def build(work):
    """Compiles machine.c for this processor; the program's path."""
    program = os.path.join(work, "machine")
    subprocess.run([*os.environ.get("CC", "cc").split(), "-O2", "-march=native", "-ffp-contract=fast", "-pthread",
                    os.path.join(HERE, "machine.c"), "-o", program, "-lm"], check=True)
    return program


def measure(program, threads, mebibytes=0, seconds=1.0):
    """Figures for so many threads: fma_flops, read_bytes, copy_bytes, triad_bytes, ... a second."""
    out = subprocess.run([program, str(threads), str(mebibytes), str(seconds)], check=True, stdout=subprocess.PIPE,
                         text=True).stdout
    return json.loads(out)


def better(old, new):
    """The best of two measurements of the same threads."""
    if not old:
        return new
    return {k: max(v, old.get(k, v)) for k, v in new.items()}


def processor():
    name = platform.processor() or platform.machine()
    try:
        for line in open("/proc/cpuinfo", encoding="utf-8"):
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} processors"
