# SPDX-License-Identifier: Apache-2.0
"""What shells offer is taken: each option that the completions of bash, zsh and fish offer, by the command that they offer it for, and each
word of a value. Models are not there, so that nothing is compiled: what an option or a word is refused for is said before."""
import concurrent.futures
import os
import re
import shutil
import subprocess

from clitest import TENON, check, done, path, tenon, write

NONE = path("none.onnx")
WORDS = {c: re.findall(r"[a-z_]+", m) for c, m in re.findall(r"hint: usage: tenon (\w+) \[options\] ([a-z_|]+)", "".join(
    tenon(c).stderr for c in ("list", "show", "plugin")))}
COMMANDS = re.findall(r"^  ([a-z][a-z-]+) ", tenon("--help").stdout, re.M)
# operands with which a command says what it does not take before it works
OPERANDS = {"diff": [NONE, NONE], "opt": [NONE, "-p", ""], "onnx-test": [NONE], "new-plugin": [""], "check-plugin": [NONE], "generate": [NONE],
            "doctor": [], "check-config": [], "help": []}
NAMED = {"plugin": "none", "pass": "none", "rule": "none", "op": "none", "model": NONE, "kernel": NONE, "placement": NONE, "target": "none", "pipeline": "none",
         "legalizers": "none"}
cases = [(c, [w, NAMED[w]] if w in NAMED else [w]) for c, words in WORDS.items() if c != "plugin" for w in words]
cases += [("plugin", [w, "none"]) for w in WORDS["plugin"]]
cases += [(c, OPERANDS.get(c, [NONE])) for c in COMMANDS if c not in WORDS]
check(len(WORDS) == 3 and len(cases) > len(COMMANDS) + 30, f"{len(cases)} commands and first operands")
VALUES = {"N": "1", "X": "0.5", "S": "1", "SECONDS": "1", "NAME=N": "n=1", "INPUT=[N, ...]": "n=1", "NAME=FILE": f"n={NONE}", "KEY=JSON": "a.b=1", "LEVEL": "warn",
          "LIST": "no-verify", "SECTION.NAME.KEY=VALUE": "tenon.threads=1", "SHELL": "bash", "KIND": "c", "DIR": path("dir"), "DIRS": path(""),
          "CPU": "native", "FILE": write("empty.ini", "")}


def offered_by_bash(typed):
    """What follows the words that were typed."""
    r = subprocess.run(["bash", "-c", '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon; printf "%s\\n" "${COMPREPLY[@]}"',
                        script["bash"], *typed], capture_output=True, text=True, env=dict(os.environ, PATH=f"{os.path.dirname(TENON)}:{os.environ['PATH']}"))
    return [w for w in r.stdout.split("\n") if w]


def offered_by_fish(typed):
    r = subprocess.run(["fish", "-c", f"source {script['fish']}; complete -C '{' '.join(typed)}'"], capture_output=True, text=True)
    return [line.split("\t")[0] for line in r.stdout.splitlines()]


def said_by_zsh(c, operand):
    """The options in the text of the case; running the completion takes a terminal."""
    text = open(script["zsh"]).read()
    if c in WORDS and f"        {c})\n        case" in text:
        body = text[text.index(f"        {c})\n        case"):]
        body = body[body.index(f"        {operand}) "):]
    else:
        flat = re.sub(r"^        \w+\)\n        case .*?esac ;;\n", "", text, flags=re.M | re.S)
        body = flat[flat.index(f"        {c}) _arguments"):]
    return re.findall(r"'\*?(--[a-z-]+)", body[:body.index(";;")])


script = {}
for shell in ("bash", "zsh", "fish"):
    script[shell] = write(f"completion.{shell}", tenon("help", "--completion", shell).stdout)
kinds = {}
for c in COMMANDS:
    for name, value in re.findall(r"--([a-z-]+)(?: ([A-Z]\S*(?:, \.\.\.\])?))?(?:  |\n)", tenon(c, "--help").stdout):
        kinds[c, name] = value
tries = []
for c, operands in cases:
    first = operands[0] if operands else ""
    offers = {"bash": offered_by_bash(["tenon", c, first, "--"])}
    offers["zsh"] = said_by_zsh(c, first)
    if shutil.which("fish"):
        offers["fish"] = [w for w in offered_by_fish(["tenon", c, first, "--"]) if w.startswith("--")]
    for shell, options in offers.items():
        check(options and set(options) == set(offers["bash"]), f"{shell} offers options of {c} {first}: {sorted(set(options) ^ set(offers['bash']))}")
    words = {o: f"{o}={VALUES.get(kinds.get((c, o[2:]), ''), 'x')}" if kinds.get((c, o[2:])) else o for o in offers["bash"] if o[2:] not in ("help", "man")}
    tries.append((c, operands, words))


# help texts that begin with the operands which an option is for name all of them
for c, words in WORDS.items():
    helped = tenon(c, "--help").stdout
    for name, text in re.findall(r"^ +(?:-\w, )?--([a-z-]+)(?: [A-Z]\S*)* +(.*)", helped, re.M):
        told = text.partition(":")[0].split(", ")
        if set(told) <= set(words):
            of = {operands[0] for command, operands in cases if command == c and operands[0] in words and
                  "--" + name in offered_by_bash(["tenon", c, operands[0], "--"])}
            check(set(told) == of, f"tenon {c} --help says what --{name} is for: {sorted(of)}")


def refused(t):
    """What is refused of the options, all of which are given at once; of two that go not together one is left out."""
    c, operands, words = t
    out, words = [], dict(words)
    while words:
        r = tenon(c, *operands, *words.values())
        m = re.search(r"unknown option '(--[a-z-]+)|option '(--[a-z-]+)' (?:has no effect (without|beside)?|takes no value|is for (?!artifacts))", r.stderr)
        if not m:
            break
        name = m[1] or m[2]
        if not m[3]:
            out.append(f"{c} {' '.join(operands[:1])} {name}: {r.stderr.splitlines()[0]}")
        del words[name]
    return len(t[2]), out


with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
    results = list(pool.map(refused, tries))
for c in WORDS:
    check(tenon(c, "").returncode == 2, f"tenon {c} of an empty word ends")
refusals = [x for _, out in results for x in out]
count = sum(n for n, _ in results)
check(count > 300 and not refusals, f"{count} options that are offered are taken: {refusals}")

# words that are values of options
for option, command in (("--emit", ["compile", NONE, "-o", path("x")]), ("--log", ["doctor"]), ("--mcpu", ["compile", NONE]), ("--debug", ["compile", NONE]), ("--target", ["compile", NONE])):
    words = offered_by_bash(["tenon", command[0], option, ""])
    check(words, f"bash offers words for {option}")
    for w in words[:1] + words[-1:]:
        r = tenon(*command, f"{option}={w + 'FuseOps' if w.endswith('=') else w}")
        check(not re.search(rf"option '{option}'|no target '|did you mean|unknown", r.stderr), f"{option}={w} is taken", r)
done()
