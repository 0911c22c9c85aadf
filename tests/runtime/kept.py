#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Artifacts of every minor version of the format since the last major one run today, and newer ones are refused with both versions.

tests/runtime/kept/MAJOR.MINOR holds one as lines of OFFSET: HEX, where what is not listed is zero. `kept.py --write FILE.tno` prints such
lines; a version without a file here fails.
"""
import os
import re
import struct
import sys

sys.dont_write_bytecode = True
if len(sys.argv) == 3 and sys.argv[1] == "--write":
    data = open(sys.argv[2], "rb").read()
    print(f"{len(data):x}")
    for at in range(0, len(data), 32):
        if any(data[at:at + 32]):
            print(f"{at:x}: {data[at:at + 32].hex()}")
    sys.exit(0)

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import SRC, check, done, npy_bytes, path, read_npy, refused, tenon, write  # noqa: E402

KEPT = os.path.join(SRC, "tests", "runtime", "kept")
with open(os.path.join(SRC, "include", "tenon", "base", "tno.h")) as f:
    header = f.read()
MAJOR, MINOR = (int(re.search(rf"TNB_TNO_{n} = (\d+)", header).group(1)) for n in ("MAJOR", "MINOR"))


def load(file):
    lines = open(file).read().split()
    data = bytearray(int(lines[0], 16))
    for at, text in zip(lines[1::2], lines[2::2]):
        start, raw = int(at.rstrip(":"), 16), bytes.fromhex(text)
        data[start:start + len(raw)] = raw
    return data


x = write("x.npy", npy_bytes("<f4", (2, 2), [1.0, 2.0, 3.0, 4.0]))
for minor in range(MINOR + 1):
    file = os.path.join(KEPT, f"{MAJOR}.{minor}")
    check(os.path.exists(file), f"an artifact of format {MAJOR}.{minor} is kept")
    data = load(file)
    check(struct.unpack_from("<HH", data, 12) == (MAJOR, minor), f"{MAJOR}.{minor}: it is of this version")
    out = path("out")
    r = tenon("run", write(f"{minor}.tno", bytes(data)), "-i", f"x={x}", "-o", out)
    files = sorted(os.listdir(out)) if r.returncode == 0 else []
    check(len(files) == 2 and read_npy(os.path.join(out, files[0]))[1:] == ((2, 2), [1.0, 2.0, 3.0, 4.0]) and
          read_npy(os.path.join(out, files[1]))[1:] == ((3,), [5, -6, 7]), f"{MAJOR}.{minor}: it runs", r)
for major, minor in ((MAJOR, MINOR + 1), (MAJOR, 65535), (MAJOR + 1, 0), (MAJOR - 1, 0)):
    struct.pack_into("<HH", data, 12, major, minor)
    refused(f"format {major}.{minor}", tenon("run", write("other.tno", bytes(data))), f"{major}.{minor}", f"{MAJOR}.{MINOR}", "hint:")
done()
