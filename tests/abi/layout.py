#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiled plugins know of the public headers is what it was when a version was released.

Usage: layout.py RELEASED-INCLUDE TODAY-INCLUDE...

Both header sets are compiled with debugging information, which `readelf` prints. Every released structure, enumeration and
function has to be there still: members at their places with their types, and no larger unless the structure says its
own size, begins with a descriptor's or an entry's head or stands in `grows` beside this file; enumerators with their values; functions with their types.
"""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
CC = os.environ.get("CC", "cc").split()

# Instructions are added at the end, each time with a minor version of the artifact format, which is not stable between such.
RISING = {"TNB_VM_N_OPS", "TNB_TNO_MINOR"}


def headers(include):
    found = []
    for folder, _, files in os.walk(os.path.join(include, "tenon")):
        found += [os.path.relpath(os.path.join(folder, f), include) for f in files if f.endswith(".h")]
    return sorted(found)


def functions(include, layer=""):
    """The names that the headers (of a layer) export: functions and data."""
    names = set()
    for h in headers(include):
        if not h.startswith(os.path.join("tenon", layer)):
            continue
        text = re.sub(r"/\*.*?\*/", " ", open(os.path.join(include, h)).read(), flags=re.S)
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
        for m in re.finditer(r"\bTNB_EXPORT\b([^;{]*);", text):
            name = re.search(r"\b(tn[bklr]?_\w+)\s*(?:\(|\[|$)", m.group(1).strip())
            if not name:
                sys.exit(f"{h}: what is exported here? {' '.join(m.group(1).split())}")
            names.add(name.group(1))
    return sorted(names)


def compiled(include, paths, wanted, folder):
    """The DWARF text of a file that includes all of `include`'s headers, as `paths` have them."""
    source = os.path.join(folder, "all.c")
    with open(source, "w") as f:
        f.writelines(f'#include "{h}"\n' for h in headers(include))
        f.writelines(f"__typeof__({n}) *have_{n};\n" for n in wanted)
    obj = os.path.join(folder, "all.o")
    flags = [f"-I{p}" for p in paths]
    done = subprocess.run(CC + ["-std=gnu17", "-g", "-gdwarf-4", "-gstrict-dwarf", "-fno-eliminate-unused-debug-types", "-c", source,
                                "-o", obj] + flags, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("the headers no longer have what was released:\n" + done.stderr)
    return subprocess.run(["readelf", "--debug-dump=info", obj], stdout=subprocess.PIPE, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout


class Entry:
    def __init__(self, depth, tag):
        self.depth, self.tag, self.at, self.children = depth, tag, {}, []

    def name(self):
        return self.at.get("name", "")

    def number(self, key):
        text = self.at.get(key)
        return None if text is None else int(text.split()[0], 0)


class Facts:
    def __init__(self, text):
        self.by, stack, e = {}, [], None
        for line in text.splitlines():
            m = re.match(r"\s*<(\d+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)", line)
            if m:
                e = self.by[m.group(2)] = Entry(int(m.group(1)), m.group(3))
                del stack[e.depth:]
                if stack:
                    stack[-1].children.append(e)
                stack.append(e)
                continue
            m = re.match(r"\s*<[0-9a-f]+>\s+DW_AT_(\w+)\s*: (.*)", line)
            if m and e:
                e.at[m.group(1)] = re.sub(r"^\(indirect string, offset: 0x[0-9a-f]+\): ", "", m.group(2)).strip()
        self.structures, self.enumerators, self.exported = {}, {}, {}
        for e in self.by.values():
            if e.tag == "typedef" and e.name().startswith("tn"):
                self.structure(e.name(), self.type_of(e))
            elif e.tag in ("structure_type", "union_type") and e.name().startswith("tn"):
                self.structure(e.name(), e)
            elif e.tag == "enumerator" and e.name().startswith("TN"):
                self.enumerators[e.name()] = e.number("const_value")
            elif e.tag == "variable" and e.name().startswith("have_"):
                self.exported[e.name()[5:]] = self.words(e)

    def type_of(self, e):
        m = re.match(r"<0x([0-9a-f]+)>", e.at.get("type", ""))
        return self.by[m.group(1)] if m else None

    def structure(self, name, e):
        if e is None or e.tag not in ("structure_type", "union_type") or "byte_size" not in e.at:
            return
        members = [(c.name(), c.number("data_member_location") or 0, self.words(c)) for c in e.children if c.tag == "member"]
        self.structures[name] = (e.number("byte_size"), members)

    def words(self, e):
        """The type of a member, parameter or function, spelled so that equal types read the same."""
        t = self.type_of(e)
        if t is None:
            return "void"
        if t.tag == "pointer_type":
            return self.words(t) + " *"
        if t.tag in ("const_type", "volatile_type", "restrict_type"):
            return t.tag[:-5] + " " + self.words(t)
        if t.tag == "array_type":
            ends = [c.number("upper_bound") for c in t.children if c.tag == "subrange_type"]
            return self.words(t) + "".join("[]" if n is None else f"[{n + 1}]" for n in ends)
        if t.tag == "subroutine_type":
            of = [self.words(c) for c in t.children if c.tag == "formal_parameter"]
            of += ["..." for c in t.children if c.tag == "unspecified_parameters"]
            return f"{self.words(t)} ({', '.join(of)})"
        if t.name():
            return t.name()
        inner = [f"{c.name()}@{c.number('data_member_location') or 0} {self.words(c)}" for c in t.children if c.tag == "member"]
        return f"{t.tag[:-5]} of {t.at.get('byte_size')} {{{'; '.join(inner)}}}"


def says_its_size(members):
    return bool(members) and (members[0][0] == "size" or members[0][2] in ("tnb_plugin_head", "tnb_entry"))


def compare(old, new, may_grow):
    bad = []
    for name, (size, members) in sorted(old.structures.items()):
        if name not in new.structures:
            bad.append(f"{name}: is gone")
            continue
        now_size, now = new.structures[name]
        have = {m[0]: m for m in now}
        for m in members:
            n = have.get(m[0])
            if n != m:
                bad.append(f"{name}.{m[0]}: was {m[2]} at {m[1]}, is " + (f"{n[2]} at {n[1]}" if n else "gone"))
        if now_size != size and not says_its_size(members) and name not in may_grow:
            bad.append(f"{name}: was {size} bytes, is {now_size}; it does not say its size (tests/abi/grows lists those that only Tenon makes)")
        elif now_size < size:
            bad.append(f"{name}: was {size} bytes, is {now_size}")
        known = {m[0] for m in members}
        bad += [f"{name}.{n[0]}: is new, at {n[1]}, before the end of {size} bytes" for n in now if n[0] not in known and n[1] < size]
    for name, value in sorted(old.enumerators.items()):
        now = new.enumerators.get(name)
        if now != value and not name.endswith("_COUNT") and not (name in RISING and now and now > value):
            bad.append(f"{name}: was {value}, is {now}")
    for name, words in sorted(old.exported.items()):
        if new.exported.get(name) != words:
            bad.append(f"{name}: was {words}, is {new.exported.get(name)}")
    return bad


def grows():
    """The structures without a size of their own that may grow."""
    with open(os.path.join(HERE, "grows")) as f:
        lines = (line.split("#")[0].strip() for line in f)
        return {line for line in lines if line}


def main():
    released, today = sys.argv[1], sys.argv[2:]
    wanted = functions(released)
    with tempfile.TemporaryDirectory() as folder:
        old = Facts(compiled(released, [released], wanted, folder))
        new = Facts(compiled(released, today, wanted, folder))
    bad = compare(old, new, grows())
    for b in bad:
        print(b)
    print(f"{len(old.structures)} structures, {len(old.enumerators)} enumerators, {len(old.exported)} functions: {len(bad)} changed")
    sys.exit(bool(bad) or not old.structures or len(old.exported) < len(wanted))


if __name__ == "__main__":
    main()
