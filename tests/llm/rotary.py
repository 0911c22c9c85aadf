# SPDX-License-Identifier: Apache-2.0
"""tir_split_rotary of data/llm/paged_kv_gpu.py against that of paged_kv.py: the same values for every way to rotate."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
import clitest
from clitest import check, path, tenon, write

DATA = os.path.join(os.environ["top_srcdir"], "conf", "data", "llm")


def rotary(file, **values):
    """The file's values, these in place of its own, and the function; of the table of frequencies the first row."""
    with open(os.path.join(DATA, file), encoding="utf-8") as f:
        text = f.read()
    for name, value in values.items():
        text, n = re.subn(rf"^{name} = [^\n#]*", f"{name} = {value!r} ", text, flags=re.M)
        assert n == 1, (file, name)
    head, *functions = re.split(r"^(?=@T\.prim_func$)", text, flags=re.M)
    return head + next(f for f in functions if "def tir_split_rotary(" in f).replace("frequency[row", "frequency[0")


CASES = [
    dict(q_heads=4, kv_heads=2, head_dim=8, rotary_dim=8),
    dict(q_heads=4, kv_heads=2, head_dim=8, rotary_dim=8, interleaved=True, amplitude=1.25),
    dict(q_heads=4, kv_heads=4, head_dim=12, rotary_dim=4),
    dict(q_heads=6, kv_heads=1, head_dim=12, rotary_dim=6, interleaved=True),
    dict(q_heads=2, kv_heads=1, head_dim=7, rotary_dim=4),
    dict(q_heads=2, kv_heads=2, head_dim=8, rotary_dim=0),
    dict(q_heads=8, kv_heads=2, head_dim=64, rotary_dim=64, dtype="float16", kv_dtype="float16"),
]
for values in CASES:
    one, two = (write(name, rotary(name, **values)) for name in ("paged_kv.py", "paged_kv_gpu.py"))
    r = tenon("diff", "--exec", "--function", "tir_split_rotary", one, two)
    check(r.returncode == 0 and re.search(r"[1-9]\d* elements", r.stdout), f"{values}", r)
values = dict(CASES[0], rotary_dim=6)
r = tenon("diff", "--exec", write("a.py", rotary("paged_kv.py", **CASES[0])), write("b.py", rotary("paged_kv_gpu.py", **values)))
check(r.returncode != 0, "another part of a head is another function", r)
clitest.done()
