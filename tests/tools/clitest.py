# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share: running tenon, also at a terminal, reading and writing .npy files, counting failures."""
import atexit
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

TENON = os.environ["TENON"]
SRC = os.environ["top_srcdir"]
BUILD = os.environ["top_builddir"]
DIGITS = os.path.join(SRC, "examples", "digits")
WORK = tempfile.mkdtemp(prefix="tenon-test-")
atexit.register(shutil.rmtree, WORK, ignore_errors=True)

_failed = []


def path(name):
    return os.path.join(WORK, name)


def write(name, data):
    p = path(name)
    os.makedirs(os.path.dirname(p), exist_ok=True)
    with open(p, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return p


def tenon(*args, env=None, timeout=float(os.environ.get("TESTS_TIMEOUT") or 300)):
    """Runs tenon; the result has returncode, stdout, stderr."""
    full = dict(os.environ)
    full.update(env or {})
    return subprocess.run([TENON, *map(str, args)], capture_output=True, text=True, errors="replace", env=full,
                          timeout=timeout)


class Terminal:
    """tenon at a terminal: what a person types, and what is shown."""

    def __init__(self, *args):
        pid, self.fd = pty.fork()
        if pid == 0:
            for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(s, signal.SIG_DFL)  # ignored where the tests run in the background
            os.environ["TERM"] = "xterm"
            os.execv(TENON, [TENON, *map(str, args)])
        self.pid, self.shown = pid, ""

    def until(self, text, seconds=60):
        """What is shown up to `text`; False when it does not come."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.fd, 4096) if ready else b""
            except OSError:  # the other side is closed
                more = b""
            if not more:
                return False
            self.shown += more.decode(errors="replace")
        at = self.shown.index(text) + len(text)
        before, self.shown = self.shown[:at], self.shown[at:]
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def result(self):
        return subprocess.CompletedProcess([], None, self.shown, "")

    def end(self):
        """The exit status; `shown` has all that was left. A program that does not end within a minute is killed."""
        self.until("\0", 60)
        if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            time.sleep(1)  # closing the terminal comes before the end
            os.kill(self.pid, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def check(holds, what, result=None):
    """Records a failure unless `holds`."""
    print(("ok   " if holds else "FAIL ") + what, flush=True)
    if not holds:
        _failed.append(what)
        if result is not None:
            print(f"  exit status {result.returncode}\n  stdout: {result.stdout[-2000:]}\n  stderr: {result.stderr[-3000:]}")


def refused(what, result, *texts, status=(1, 2)):
    """The command failed cleanly and its message holds every text. A sanitizer's warning of a request for memory that it does
    not serve is no finding: the program takes it for what it is."""
    ok = result.returncode in status and all(t in result.stderr for t in texts)
    found = re.sub(r"==\d+==WARNING: \w+Sanitizer failed to allocate .*", "", result.stderr)
    ok = ok and "Sanitizer" not in found and found.strip() != ""
    check(ok, what + ": refused" + (f", naming {', '.join(map(repr, texts))}" if texts else ""), result)


def done():
    print(f"{len(_failed)} failed")
    sys.exit(1 if _failed else 0)


FORMATS = {"<f2": "e", "<u4": "I", "<f4": "f", "<f8": "d", "<i8": "q", "<u8": "Q", "<i4": "i", "<i2": "h", "<u2": "H", "|i1": "b", "|u1": "B"}


def npy_bytes(descr, shape, values):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (
        descr, "".join(f"{d}, " for d in shape))
    header += " " * ((-(10 + len(header) + 1)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(
        "<%d%s" % (len(values), FORMATS[descr]), *values)


def read_npy(p):
    """descr, shape, values of a version 1 file."""
    with open(p, "rb") as f:
        data = f.read()
    (n,) = struct.unpack_from("<H", data, 8)
    header = eval(data[10:10 + n].decode(), {})  # written by tenon or by this project
    count = 1
    for d in header["shape"]:
        count *= d
    values = struct.unpack_from("<%d%s" % (count, FORMATS[header["descr"]]), data, 10 + n)
    return header["descr"], header["shape"], list(values)
