# SPDX-License-Identifier: Apache-2.0
"""What a user gets for the tab key in bash, zsh and fish: commands, options, words, names with commas between them, files behind NAME=.
zsh runs at a terminal with its completion system, fish by `complete -C`, bash by its function as readline calls it. A shell that is not
there is left out; with bash alone the test is skipped."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

from clitest import TENON, check, done, path, tenon, write

HAVE = [s for s in ("bash", "zsh", "fish") if shutil.which(s)]
missing = {"bash", "zsh", "fish"} - set(HAVE)
if missing:
    print(f"not found, so left out: {', '.join(sorted(missing))} (packages of the same names)")
if not {"zsh", "fish"} & set(HAVE):
    sys.exit(77)
HOME, PLACE, HITS = path("home"), path("place"), path("hits")
os.makedirs(HOME)
for f in ("place/model.onnx", "place/in.npy", "place/folder/x.npy"):
    write(f, "")
SCRIPT = {"bash": "tenon.bash", "zsh": "functions/_tenon", "fish": "tenon.fish"}
for shell, f in SCRIPT.items():
    SCRIPT[shell] = write(f, tenon("help", "--completion", shell).stdout)
ENV = dict(os.environ, PATH=f"{os.path.dirname(TENON)}:{os.environ['PATH']}", HOME=HOME, ZDOTDIR=HOME, TERM="dumb")


def bash(line):
    """The last words, which '=' parts, as the user reads them."""
    words = re.findall(r"=|[^\s=]+", line) + ([""] if line.endswith(" ") else [])
    r = subprocess.run(["bash", "-c", '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon; printf "%s\\n" "${COMPREPLY[@]}"', SCRIPT["bash"], *words],
                       capture_output=True, text=True, env=ENV, cwd=PLACE)
    return {w for w in r.stdout.split("\n") if w}


def fish(line):
    r = subprocess.run(["fish", "-c", f"source {SCRIPT['fish']}; complete -C {line!r}"], capture_output=True, text=True, env=ENV, cwd=PLACE)
    return {w.split("\t")[0] for w in r.stdout.splitlines()}


class Zsh:
    """An interactive zsh, whose compadd also writes what it is given and fits to a file."""

    def __init__(self):
        rc = write("zshrc", f"""
fpath=({os.path.dirname(SCRIPT['zsh'])} $fpath)
autoload -Uz compinit; compinit -u -D
compadd() {{
    if [[ " ${{(j: :)@[1,(i)(-|--)]}} " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
    local -a fits; builtin compadd -A fits "$@"
    (( $#fits )) && print -rl -- "$fits[@]" >>{HITS}
    builtin compadd "$@"
}}
ready() {{ print -r -- "LINE $BUFFER" >>{HITS}; BUFFER= }}
zle -N ready; bindkey '^X^E' ready; bindkey '^I' complete-word
print -r -- LINE >>{HITS}
""")
        write("hits", "")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(PLACE)
            os.execvpe("zsh", ["zsh", "-f", "-i"], ENV)
        self.said = ""
        self.go(f"source {rc}\n")

    def go(self, text):
        os.write(self.fd, text.encode())
        end = time.monotonic() + 120
        while "LINE" not in open(HITS, errors="replace").read() and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                self.said += os.read(self.fd, 4096).decode(errors="replace")

    def __call__(self, line):
        """What is offered, and the line behind the tab key."""
        write("hits", "")
        self.go(line + "\t\x18\x05")
        out = open(HITS, errors="replace").read().splitlines()
        self.line = "".join(x[5:] for x in out if x.startswith("LINE"))
        return {x for x in out if not x.startswith("LINE")}

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def names(*of):
    return {line.split()[0] for line in tenon("list", *of).stdout.splitlines() if line[:1].strip()}


TARGETS, PASSES, FILES = names("targets"), names("passes"), {"model.onnx", "in.npy", "folder"}
COMMANDS = set(re.findall(r"^  ([a-z][a-z-]+) ", tenon("--help").stdout, re.M))
DEBUG = {"verify-each", "no-verify", "roundtrip", "compact", "skip=", "stop-after=", "print="}
LOG = {"error", "warn", "info", "debug"}


def begin(words, text):
    return {w for w in words if w.startswith(text)}


# what is typed: what follows, without what stands before the last comma or '='
CASES = {
    "tenon ": COMMANDS, "tenon com": {"compile"}, "tenon --": {"--help", "--version"}, "tenon help com": {"compile"},
    "tenon compile --emi": {"--emit"}, "tenon compile --emit ": {"tno", "c", "obj", "static-lib"}, "tenon compile --emit=stat": {"static-lib"},
    "tenon compile ": FILES, "tenon compile mod": {"model.onnx"}, "tenon compile model.onnx -o ": FILES,
    "tenon compile -t ": TARGETS, "tenon compile -t cp": {"cpu"}, "tenon compile -t cpu,": TARGETS, "tenon compile -t cpu,nul": {"null"},
    "tenon compile --target=nul": {"null"}, "tenon compile --target=cpu,nul": {"null"}, "tenon compile --target=cpu,null,open": begin(TARGETS, "open"),
    "tenon compile --dump-only FuseT": begin(PASSES, "FuseT"), "tenon compile --dump-only FuseOps,Legal": {"LegalizeOps"},
    "tenon opt model.onnx -p ": PASSES, "tenon opt model.onnx -p FuseOps,Legal": {"LegalizeOps"},
    "tenon compile --debug ": DEBUG, "tenon compile --debug compact,ro": {"roundtrip"}, "tenon compile --debug ski": {"skip="},
    "tenon compile --debug skip=FuseT": begin(PASSES, "FuseT"), "tenon compile --debug compact,print=Legal": {"LegalizeOps"},
    "tenon compile --log ": LOG, "tenon compile --profile ": names("profiles"), "tenon compile --config ": FILES,
    "tenon compile model.onnx --bind x=mod": {"model.onnx"}, "tenon run model.onnx -i x=in": {"in.npy"}, "tenon run model.onnx --expect=x=in": {"in.npy"},
    "tenon show pla": {"placement"}, "tenon show pass Legal": {"LegalizeOps"}, "tenon show plugin onn": {"onnx"}, "tenon show plugin en": set(),
    "tenon show model mod": {"model.onnx"}, "tenon show rule cpu.Mat": {"cpu.Matmul"}, "tenon plugin ": {"enable", "disable"},
    "tenon plugin disable onn": {"onnx"}, "tenon list legalizers ": TARGETS, "tenon list passes --js": {"--json"}, "tenon list passes --wh": set(),
    "tenon new-plugin mine --from nul": {"null"}, "tenon help --completion ": {"bash", "zsh", "fish"},
}
AFTER = {"tenon com": "tenon compile ", "tenon compile -t cpu,nul": "tenon compile -t cpu,null ", "tenon compile --debug ski": "tenon compile --debug skip=",
         "tenon compile --target=cpu,nul": "tenon compile --target=cpu,null ", "tenon compile --debug compact,print=Legal": "tenon compile --debug compact,print=LegalizeOps ",
         "tenon run model.onnx -i x=in": "tenon run model.onnx -i x=in.npy ", "tenon compile --emi": "tenon compile --emit="}
zsh = Zsh() if "zsh" in HAVE else None


def tail(word):
    """Without what stands before; a folder with the '/' that some shells add."""
    return re.sub(r"^.*(,|=(?!$))", "", word).rstrip("/")


for line, want in CASES.items():
    for shell, ask in (("bash", bash), ("zsh", zsh), ("fish", fish)):
        if shell not in HAVE:
            continue
        got = ask(line)
        if shell == "fish":  # which also offers what holds the text elsewhere
            got = {w for w in got if w.startswith(re.search(r"\S*$", line)[0])}
        check({tail(w) for w in got} == want, f"{shell}: {line!r} is followed by {sorted(want)[:5]}, not {sorted(got)[:5]}")
    if zsh and line in AFTER:
        check(zsh.line == AFTER[line], f"zsh makes {AFTER[line]!r} of {line!r}: {zsh.line!r}")
if zsh:
    zsh.end()
    check(not re.search(r"_tenon\w*:|parse error|command not found", zsh.said), "zsh complains of nothing")
done()
