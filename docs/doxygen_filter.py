# SPDX-License-Identifier: Apache-2.0
"""Turns a header's plain comments into Doxygen's: doxygen_filter.py FILE, the text on standard output.

The comment at the top describes the file; one behind code on its line describes that code; one on lines of its own describes
what follows, and where several declarations follow without an empty line or another comment between them, all of them. Examples (indented by four) are verbatim.
Comments of sections (`---- name ----`) are left.
"""
import re
import sys

text = open(sys.argv[1]).read()
out, at, first = [], 0, True


def body(comment):
    """The text without stars; examples between @code and @endcode, what Doxygen would take for markup escaped."""
    lines = [re.sub(r"^\s*\* ?", "", l) if i else l for i, l in enumerate(comment[2:-2].rstrip().split("\n"))]
    made, code = [], False
    for l in lines:
        example = l.startswith("    ") or (code and not l.strip())
        if example and not code and (not made or not made[-1].strip()):
            made.append("@code{.c}")
            code = True
        elif code and l.strip() and not l.startswith("    "):
            made.append("@endcode")
            code = False
        made.append(l if code else re.sub(r"([@\\<>#%])", r"\\\1", l.replace("*/", "")))
    if code:
        made.append("@endcode")
    return made


def together(start):
    """Where the declarations end that a comment describes, if there are several without a comment of their own; else `start`."""
    stop = re.search(r"\n[ \t]*\n|/\*|^#", text[start:], re.M)
    part = text[start:start + stop.start()] if stop else ""
    return start + len(part) if "{" not in part and part.count(";") > 1 and part.rstrip().endswith(";") else start


for m in re.finditer(r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", text, re.S):
    comment = m.group()
    if not comment.startswith("/*"):
        continue
    out.append(text[at:m.start()])
    at = m.end()
    line = text[text.rfind("\n", 0, m.start()) + 1:m.start()]
    if "SPDX" in comment or re.match(r"/\* ----", comment) or line.lstrip().startswith("#"):
        out.append(comment)
        continue
    lines = body(comment)
    if first and not line.strip():
        first = False
        out.append("/** @file\n" + "\n".join(" * " + l.strip("\n") for l in lines) + "\n */")
    elif line.strip():
        out.append("/**< " + " ".join(l.strip() for l in lines) + " */")
    else:
        doc = "/** " + "\n".join(lines).strip() + " */"
        end = together(at) if not line else at
        if end > at: # a group without a name: each member is given its comment
            out.append(doc + "\n/** @{ */" + text[at:end] + "/** @} */\n")
            at = end
        else:
            out.append(doc)
out.append(text[at:])
sys.stdout.write("".join(out))
