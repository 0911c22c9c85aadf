# SPDX-License-Identifier: Apache-2.0
"""A model on one thread starts no threads, wakes none, waits for none and gives its processor away to none; on two it does. A library
that counts these calls is loaded in front of the system's."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
from clitest import check, done, path, tenon, write  # noqa: E402

if "cpu" not in tenon("list", "targets").stdout.split():
    sys.exit(77)

COUNTED = ["pthread_create", "sem_post", "sem_wait", "sched_yield"]
SOURCE = write("count.c", """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int calls[4];
#define COUNT(i, name, params, args) \\
    int name params; \\
    int name params { int (*f) params = (int (*) params)dlsym(RTLD_NEXT, #name); __sync_fetch_and_add(&calls[i], 1); return f args; }
COUNT(0, pthread_create, (void *a, void *b, void *c, void *d), (a, b, c, d))
COUNT(1, sem_post, (void *a), (a))
COUNT(2, sem_wait, (void *a), (a))
COUNT(3, sched_yield, (void), ())
__attribute__((destructor)) static void say(void)
{
    char program[4096] = "";
    FILE *f = readlink("/proc/self/exe", program, sizeof program - 1) > 0 ? fopen(getenv("COUNTS"), "a") : NULL;
    if (f) {
        fprintf(f, "%s %d %d %d %d\\n", program, calls[0], calls[1], calls[2], calls[3]);
        fclose(f);
    }
}
""")
LIBRARY = path("count.so")
made = subprocess.run([*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-w", SOURCE, "-o", LIBRARY, "-ldl"],
                      stderr=subprocess.PIPE, text=True)
check(made.returncode == 0, f"the library compiles: {made.stderr}")

MODEL = write("model.py", """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 256), "float32"), w: R.Tensor((256, 512), "float32"), c: R.Tensor((1, 8, 64, 64), "float32"),
             k: R.Tensor((16, 8, 3, 3), "float32")):
        n = T.int64()
        with R.dataflow():
            y = R.nn.softmax(R.matmul(x, w), axis=-1)
            z = R.nn.relu(R.nn.conv2d(c, k, padding=[1, 1]))
            t = R.permute_dims(R.nn.gelu(y), axes=[1, 0])
            out = (t, z)
            R.output(out)
        return out
""")
TNO = path("model.tno")
r = tenon("compile", MODEL, "-o", TNO)
check(r.returncode == 0, "compile", r)


def counted(threads):
    """Calls of the program itself: a wrapper around it is another one."""
    counts = path(f"counts-{threads}")
    r = tenon("bench", TNO, "--runs", "3", "--threads", str(threads), env={"LD_PRELOAD": LIBRARY, "COUNTS": counts})
    if "ASan runtime does not come first" in r.stderr:
        sys.exit(77)
    check(r.returncode == 0, f"bench on {threads} threads", r)
    with open(counts, encoding="utf-8") as f:
        lines = [line.split() for line in f if "tenon" in os.path.basename(line.split()[0])]
    check(len(lines) == 1, f"one program counted: {lines}")
    return dict(zip(COUNTED, map(int, lines[0][1:])))


one, two = counted(1), counted(2)
check(not any(one.values()), f"one thread: {one}")
check(two["pthread_create"] == 1, f"two threads: {two}")
done()
