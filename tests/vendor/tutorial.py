# SPDX-License-Identifier: Apache-2.0
"""Runs a page of docs/: the lines of indented blocks that begin with `$` are typed into one shell, in a folder and a home of
their own, and what the page quotes below them has to come out (`...`: anything).

    tutorial.py PAGE PREFIX            the installed tree is copied to the place where the page has it; its section "Install" is left out
    tutorial.py PAGE --install DIR HOME      that section alone, in the sources in DIR, which are built in; installs in HOME
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def steps(page):
    """(section, line, command, quoted output) in order."""
    section, found, lines = "", [], open(page, encoding="utf-8").read().split("\n")
    i = 0
    while i < len(lines):
        line = lines[i]
        if line.startswith("## "):
            section = line[3:]
        i += 1
        if not line.startswith("    $ "):
            continue
        at, command = i, [line[6:]]
        end = re.search(r"<<'?(\w+)'?", line)
        while end and command[-1] != end.group(1):
            command.append(lines[i][4:])
            i += 1
        quoted = []
        while i < len(lines) and lines[i].startswith("    ") and not lines[i].startswith("    $ "):
            quoted.append(lines[i][4:].rstrip())
            i += 1
        found.append((section, at, "\n".join(command), quoted))
    return found


def matches(quoted, lines):
    pattern = ""
    for q in quoted:
        pattern += r"(?:[^\n]*\n)*" if q == "..." else "[^\n]*".join(map(re.escape, q.split("..."))) + r"\n"
    return re.fullmatch(pattern, "".join(l.rstrip() + "\n" for l in lines)) is not None


def names_of_the_tree(work):
    """Files that were made in `work` and name the sources or the build, which they must not need."""
    trees = {os.path.realpath(os.environ[v]).encode() + b"/" for v in ("top_srcdir", "top_builddir") if v in os.environ}
    found, looked = [], 0
    for at, folders, files in os.walk(work):
        folders[:] = [f for f in folders if os.path.join(at, f) != os.path.join(work, "tenon")]
        for f in files:
            with open(os.path.join(at, f), "rb") as file:
                data = file.read()
            looked += f.endswith(".d") or data[:4] == b"\x7fELF"  # headers that a module includes; programs
            found += [os.path.join(at, f)] if any(t in data.replace(work.encode(), b"") for t in trees) else []
    return found if looked else ["nothing that was built"]


def main():
    page, install, work = sys.argv[1], sys.argv[2] == "--install", tempfile.mkdtemp(prefix="tenon-page-")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TENON", "XDG_")) and
           k not in ("LD_LIBRARY_PATH", "MFLAGS", "MAKELEVEL", "BUILD", "DESTDIR", "top_srcdir", "top_builddir")}
    env.update(HOME=sys.argv[4] if install else work, LC_ALL="C", MAKEFLAGS="-j2" if install else "")
    start = sys.argv[3] if install else work
    if not install and not all(os.path.exists(os.path.join(sys.argv[2], f)) for f in ("lib/pkgconfig/tenon.pc", "etc/tenon")):
        print("another layout of folders than that of the page")
        return 77
    if not install:
        shutil.copytree(sys.argv[2], os.path.join(work, "tenon"), symlinks=True)
        subprocess.run(["chmod", "-R", "u+w", os.path.join(work, "tenon")], check=True)
    all_of_it = steps(page)
    todo = [s for s in all_of_it if install == (s[0] == "Install")]
    if len(todo) < (3 if install else 10):
        sys.exit(f"{page}: only {len(todo)} commands")
    shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=start, env=env,
                             errors="replace")
    log, bad = os.path.join(work, "messages"), 0
    for section, at, command, quoted in todo:
        shell.stdin.write(f"{{ {command}\n}} </dev/null 2>'{log}'; printf '\\n[status %s]\\n' $?\n")
        shell.stdin.flush()
        out = []
        for line in shell.stdout:
            if line.startswith("[status "):
                break
            out.append(line.rstrip("\n"))
        else:
            line = "[the shell ended]"
        if out and not out[-1]:
            out.pop()
        ok = line.strip() == "[status 0]" and (not quoted or matches(quoted, out))
        print(("ok   " if ok else "FAIL ") + f"{os.path.basename(page)}:{at}: " + command.split("\n")[0], flush=True)
        if not ok:
            bad += 1
            print("  " + line.strip(), *out, open(log, errors="replace").read(), "the page has:", *quoted, sep="\n  ")
            if "ended" in line:
                break
    shell.stdin.close()
    shell.wait()
    for f in names_of_the_tree(work) if not install else []:
        bad += 1
        print(f"FAIL the sources or the build may not be named, but are by {f}")
    shutil.rmtree(work, ignore_errors=True)
    print(f"{len(todo)} commands, {bad} not as the page says")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
