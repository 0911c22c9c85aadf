# SPDX-License-Identifier: Apache-2.0
"""`tenon chat` answers line by line, and what the cache keeps of a conversation changes no answer."""
import os
import signal
import subprocess
import sys

from lmtest import models

sys.path.insert(0, os.path.join(os.environ["top_srcdir"], "tests", "tools"))
from clitest import TENON, Terminal, check, done, path, tenon, write  # noqa: E402

GGUF = models("llm", "stories260K", "stories260K.gguf")
# the whole conversation is the prompt, so that an answer depends on all of it
TEMPLATE = write("chat.jinja", "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{{ '\n' if m['role'] == 'user' }}{% endfor %}")
tno = path("stories.tno")
tenon("compile", GGUF, "-o", tno)


def chat(lines, *args):
    return subprocess.run([TENON, "chat", tno, "--chat-template", TEMPLATE, "--max-tokens", "12", *args], input="".join(s + "\n" for s in lines),
                          capture_output=True, text=True, timeout=300)


r = chat(["Once upon a time", "Lily said"])
check(r.returncode == 0 and r.stderr.count("answer") == 2, "two lines get two answers", r)
first = chat(["Once upon a time"]).stdout
want = tenon("generate", tno, "--prompt", "Once upon a time\n" , "--max-tokens", "12").stdout
check(first.rstrip("\n") == want.rstrip("\n"), "the first answer is what the model writes behind the template's text")
check(r.stdout.startswith(first), "the first answer is the same beside another", r)
# the second from the start: the text that the template makes of the whole conversation
whole = "Once upon a time\n" + want + "Lily said\n"
second = tenon("generate", tno, "--prompt", whole, "--max-tokens", "12").stdout
check(r.stdout[len(first):].rstrip("\n") == second.rstrip("\n"), "the second answer is that without a cache", r)
again = chat(["Lily said", "/clear", "Once upon a time"])
check(again.stdout.endswith(first), "/clear begins a new conversation", again)
r = chat(["/help", "/quit", "Once upon a time"])
check(r.returncode == 0 and not r.stdout and "/clear: " in r.stderr, "/help says what there is, /quit ends", r)
for what, given, told in (("no UTF-8", b"Once\nab\xff\n", "line 2 of the input: byte 2 (0xff) is no UTF-8"), ("a zero", b"ab\0c\n", "line 1 of the input: byte 2 is 0")):
    r = subprocess.run([TENON, "chat", tno, "--chat-template", TEMPLATE, "--max-tokens", "3"], input=given, capture_output=True, timeout=300)
    check(r.returncode == 1 and told in r.stderr.decode(), f"a line with {what} is refused with its place", r)
r = tenon("chat", tno, "--chat-template", TEMPLATE, "--system", os.fsdecode(b"\xff"))
check(r.returncode == 1 and "--system: byte 0" in r.stderr, "and so is a system's message", r)
r = subprocess.run([TENON, "chat", tno, "--chat-template", TEMPLATE, "--max-tokens", "12"], input=b"Once upon a time\r\n", capture_output=True, timeout=300)
check(r.stdout.decode() == first, "the end of a line may have a carriage return", r)
r = tenon("chat", tno)
check(r.returncode == 1 and "no chat template" in r.stderr, "a model without a template is told", r)
bad = write("bad.jinja", "a\n{% if %}")
r = tenon("chat", tno, "--chat-template", bad)
check(r.returncode == 1 and "bad.jinja:2: expected an expression" in r.stderr, "a mistake in a template is told with its line", r)
refuses = write("refuses.jinja", "{{ raise_exception('no system message') if messages[0].role == 'system' }}{{ messages[-1].content }}")
r = subprocess.run([TENON, "chat", tno, "--chat-template", refuses, "--system", "x"], input="hi\n", capture_output=True, text=True)
check(r.returncode == 1 and "no system message" in r.stderr, "what the template refuses is told", r)
r = chat(["a " * 5000])
check(r.returncode == 1 and "more than the" in r.stderr, "a message beyond the context is refused", r)
p = subprocess.Popen([TENON, "chat", tno, "--chat-template", TEMPLATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
p.stdin.write("Once upon a time\n")
p.stdin.flush()
p.stdout.read(20)
p.send_signal(signal.SIGINT)
p.stdin.close()
p.stdout.read()
check(p.wait(60) in (0, -signal.SIGINT), "Ctrl-C ends an answer, the end of the input the program")

CHAT = ("chat", tno, "--chat-template", TEMPLATE)
t = Terminal(*CHAT)
t.until("> ")
t.type("half a line\x03")
check(t.until("Ctrl-C again, Ctrl-D or /quit: end") and t.until("> "), "Ctrl-C at the prompt says how to end", t.result())
t.type("Once upon a time\n")
t.until("time\r\n")
shown = t.until(" ")
t.type("\x03")
check(shown and t.until("\r\n> "), "Ctrl-C during an answer ends the answer: the prompt comes again", t.result())
t.type("\x03")
check(t.until("> "), "one Ctrl-C behind an answer does not end the program", t.result())
t.type("/help\n")
check(t.until("/clear") and t.until("> "), "after it a line is taken", t.result())
t.type("\x03")
t.until("> ")
t.type("\x03")
check(t.end() == -signal.SIGINT, "a second Ctrl-C at the prompt ends the program")
t = Terminal(*CHAT, "--max-tokens", "2")
t.until("> ")
t.type("\x04")
check(t.end() == 0, "Ctrl-D at the prompt ends the program")
done()
