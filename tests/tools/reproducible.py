# SPDX-License-Identifier: Apache-2.0
"""compile gives the same bytes with one and two jobs, with a cold and a warm cache, and without one."""
import os

from clitest import DIGITS, check, done, path, tenon

model = os.path.join(DIGITS, "digits.onnx")


def compiled(name, cache, *extra):
    out = path(name)
    r = tenon("compile", model, "-o", out, *extra, env={"XDG_CACHE_HOME": path(cache)})
    check(r.returncode == 0, f"compile {name}", r)
    with open(out, "rb") as f:
        return f.read()


first = compiled("a.tno", "cache1", "-j", "1")
check(first == compiled("b.tno", "cache1", "-j", "2"), "warm cache, two jobs: the same bytes")
check(first == compiled("c.tno", "cache2", "-j", "2"), "cold cache, two jobs: the same bytes")
check(first == compiled("d.tno", "cache3", "--no-cache"), "no cache: the same bytes")
os.makedirs(path("cache4"), mode=0o700)
os.chmod(path("cache4"), 0o500)
if os.geteuid() != 0:
    check(first == compiled("e.tno", "cache4"), "an unwritable cache: the same bytes")
done()
