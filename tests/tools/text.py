# SPDX-License-Identifier: Apache-2.0
"""Modules as they are read: what tenon opt prints of tests/text/cases/NAME.py is NAME.printed, which comes back equal.
BLESS=1 writes the printed files anew."""
import os

from clitest import SRC, check, done, path, tenon

CASES = os.path.join(SRC, "tests", "text", "cases")


def printed(name):
    source, want = os.path.join(CASES, name + ".py"), os.path.join(CASES, name + ".printed")
    r = tenon("opt", source, "-p", "")
    check(r.returncode == 0, f"{name} is read", r)
    if os.environ.get("BLESS"):
        open(want, "w").write(r.stdout)
    with open(want) as f:
        check(r.stdout == f.read(), f"{name} is printed as {name}.printed", r)
    again = path(name + ".py")
    with open(again, "w") as f:
        f.write(r.stdout)
    r = tenon("diff", source, again)
    check(r.returncode == 0, f"{name} comes back equal", r)
    r = tenon("check", again)
    check(r.returncode == 0 and not r.stderr, f"what is printed of {name} is well formed, without a warning", r)


printed("annotations")
printed("exported")
done()
