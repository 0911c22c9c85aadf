# SPDX-License-Identifier: Apache-2.0
"""Chat templates give what transformers' apply_chat_template gives: the templates of six models for conversations with and without a
system's message, tools and answers, and small templates for each thing that Jinja has here.

The packages jinja2 and transformers are needed (TENON_LM_PYTHON names a Python with them); without them the test is skipped."""
import json
import os
import subprocess
import sys
import tempfile

from lmtest import BUILD, MODELS

PYTHON = os.environ.get("TENON_LM_PYTHON")
if PYTHON and sys.executable != PYTHON and not os.environ.get("TENON_LM_INNER"):
    sys.exit(subprocess.run([PYTHON] + sys.argv, env={**os.environ, "TENON_LM_INNER": "1"}).returncode)
try:
    from transformers.utils.chat_template_utils import _compile_jinja_template
except ImportError as e:
    print(f"skipped: {e}; TENON_LM_PYTHON names a Python that has it")
    sys.exit(77)

tmp = tempfile.mkdtemp()
bad = n = 0
USER, ANSWER, SYSTEM = ({"role": r, "content": c} for r, c in (("user", "Hi \u4f60\u597d <b>'q'</b> \n two"), ("assistant", " Hello! \n"), ("system", "Be brief.")))
TOOL = {"type": "function", "function": {"name": "weather", "description": "The weather \u00e9", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "a \"city\""}, "days": {"type": "integer", "default": 1.5}}, "required": ["city"]}}}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {"name": "weather", "arguments": {"city": "Rome", "n": None, "x": True}}}]}
RESULT = {"role": "tool", "name": "weather", "content": "{\"sun\": 1}"}
THINKING = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."}
CONVERSATIONS = [[USER], [SYSTEM, USER], [USER, ANSWER, USER], [SYSTEM, USER, ANSWER, USER], [SYSTEM, USER, CALL, RESULT], [SYSTEM, USER, CALL, RESULT, RESULT, ANSWER, USER],
                 [USER, THINKING, USER], [ANSWER], [USER, USER], [], [USER, {"role": "assistant", "content": None, "tool_calls": CALL["tool_calls"]}, RESULT]]
EXTRA = [{}, {"add_generation_prompt": True}, {"add_generation_prompt": True, "tools": [TOOL]}, {"tools": [TOOL, TOOL]},
         {"add_generation_prompt": True, "enable_thinking": False}, {"add_generation_prompt": True, "documents": [], "date_string": "1 Jan 2025"}]

SMALL = r"""
{{ 1 + 2 * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 1.5 + 1 }} {{ 1e3 }} {{ 0.1 + 0.2 }}
{{ 'a' ~ 1 ~ none ~ true }}|{{ 'a' * 3 }}|{{ [1] + [2] }}|{{ (1, 'b') }}|{{ (1,) }}|{{ {'k': [1, "it's"]} }}|{{ [1.0, none, true, undefined_thing is defined] }}
{% for a in [1,2,3] %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{{ loop.cycle('x','y') }}{% else %}none{% endfor %}
{% for a, b in {'x': 1, 'y': 2}.items() if b > 1 %}{{ a }}{{ b }}{% endfor %}{% for a in [] %}{% else %}empty{% endfor %}
{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i > 4 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% set ns = namespace(a=1, b=[]) %}{% for i in range(3) %}{% set ns.a = ns.a + i %}{% set x = i %}{% endfor %}{{ ns.a }}{{ x is defined }}
{% macro m(a, b=2) %}[{{ a }}-{{ b }}{% if caller is defined %}:{{ caller() }}{% endif %}]{% endmacro %}{{ m(1) }}{{ m(1, b=3) }}{% call m(5) %}inner{% endcall %}
{% set t %}  block {{ 1 }}  {% endset %}[{{ t }}]{% set t | trim | upper %} up {% endset %}[{{ t }}]{% filter upper %}abc{% endfilter %}
{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}
{{ '  a b  '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a b c'.split(' ', 1) }}|{{ 'a-b-c'.rsplit('-', 1) }}|{{ 'a b c d'.split(None, 2) }}
{{ 'hello world'.title() }}|{{ 'ABC'.lower() }}|{{ 'straße'.upper() }}|{{ 'hello'.capitalize() }}|{{ 'abc'.startswith('ab') }}|{{ 'abc'.endswith(('x', 'c')) }}|{{ 'aXbX'.replace('X', '-') }}|{{ 'aXbX'.replace('X', '-', 1) }}
{{ 'abc'[0] }}{{ 'abc'[-1] }}{{ 'abc'[1:] }}{{ 'abc'[::-1] }}{{ [1,2,3,4][1:3] }}{{ [1,2,3,4][::-1] }}{{ [1,2,3,4][-2:] }}{{ [1,2,3][5:] }}{{ 'héé'[1:2] }}
{{ 1 < 2 < 3 }}{{ 1 == 1.0 }}{{ 'a' in 'abc' }}{{ 1 in [1,2] }}{{ 'k' in {'k': 1} }}{{ 3 not in [1] }}{{ not true }}{{ true and 'x' }}{{ false or 'y' }}{{ none or 0 }}
{{ 'x' if false }}|{{ 'x' if false else 'y' }}|{{ missing }}|{{ missing | default('d') }}|{{ '' | default('d', true) }}|{{ none | default('d') }}
{{ [3,1,2] | sort | join(',') }}|{{ ['b','A','c'] | sort }}|{{ [1,1,2] | unique | list }}|{{ [1,2,3] | reverse | list }}|{{ [1,2,3] | sum }}|{{ [1,2] | max }}|{{ [[1,2],[3]] | map('length') | list }}
{{ [{'a': 1, 'b': 'x'}, {'a': 2}] | map(attribute='a') | join('-') }}|{{ [{'a': 1}, {'a': 0}] | selectattr('a') | list }}|{{ [{'r': 'u'}, {'r': 'v'}] | selectattr('r', 'equalto', 'u') | list | length }}|{{ [1,2,3,4] | select('odd') | list }}|{{ [1,2,3,4] | reject('even') | list }}
{{ {'b': 1, 'a': [1, 2.5, none, true, 'é"\n']} | tojson }}|{{ {'b': 1, 'a': 2} | tojson(indent=2) }}|{{ [] | tojson(indent=4) }}|{{ {} | tojson }}|{{ 'a/<b>' | tojson }}
{{ 'abc' | length }}{{ 'a' | upper }}{{ ' a ' | trim }}{{ [1,2] | first }}{{ [1,2] | last }}{{ 'abc' | first }}{{ '42' | int + 1 }}{{ '1.5' | float }}{{ 'x' | int }}{{ 3.7 | int }}{{ 2.5 | round }}{{ 1.234 | round(2) }}{{ -3 | abs }}
{{ 'a\nb' | indent }}|{{ 'a\nb\n\nc' | indent(2, true) }}|{{ '<&>' | escape }}|{{ {'b': 1, 'a': 2} | dictsort }}|{{ {'b': 1} | items | list }}|{{ 'a b' | replace(' ', '_') }}|{{ 5 | string ~ 'x' }}
{{ 1 is number }}{{ 'a' is string }}{{ {} is mapping }}{{ [] is iterable }}{{ none is none }}{{ 1 is odd }}{{ 4 is divisibleby 2 }}{{ x is undefined }}{{ true is boolean }}{{ 1 is not string }}{{ true is true }}{{ 1 is integer }}{{ 1.0 is float }}{{ 'a' is in 'abc' }}{{ 1 is eq 1 }}
{{ {'a': 1}.get('a') }}{{ {'a': 1}.get('b', 9) }}{{ {'a': {'b': 2}}.a.b }}{{ {'a': 1}['a'] }}{{ {'items': 3}['items'] }}{{ {'a': 1}.keys() | list }}{{ {'a': 1}.values() | list }}
line
   {% if true %}
  kept
   {% endif %}
a {%- if true %} b {% endif -%}   c
   {%+ if true %}x{% endif %}
{# comment #}
  {# another #}  after
{% raw %}{{ raw }} {% if %}{% endraw %} {{- ' joined' -}}   end
{{ "a" "b" }}{{ 'esc\t\\ \x41 \u00e9' }}{{ "q'q" }}
{% generation %}inside{% endgeneration %}{{ raise_exception is callable }}
{% if a is defined %}1{% elif messages %}2{% else %}3{% endif %}{{ messages[0]['content'] | length if messages else 0 }}{{ messages | length }}
{% for m in messages %}{% for k, v in m.items() %}{{ loop.index0 }}{{ k }}{% endfor %}{{ loop.previtem.role if loop.previtem is defined }}{% endfor %}
{{ [1,[2,(3,)]] | string }}{{ 'a' < 'b' }}{{ [1,2] == [1,2] }}{{ {'a':1} == {'a':1.0} }}{{ 10 % 3 }}{{ 'é' | tojson }}{{ "%" }}{{ 'abc'.find('c') }}{{ 'aab'.count('a') }}{{ 1_000 }}
{{ none | selectattr('a') | list }}{{ 0 | map('upper') | list }}{{ missing | select | list }}{{ '' | reject | list }}
{{ '{}:{} {{x}} {}'.format(1, 'b', none) }}{{ '{1}{0}'.format('a', 'b') }}{{ '{n}|{}'.format(true, n=1.5) }}{{ '\u4f60{}'.format([1, 'x']) }}
{{ "it's"|safe + ' <b>' + 'c' }}|{{ '<' ~ ('>'|safe) }}|{{ '<' | escape | escape }}|{{ 'a<' + ('b&'|safe) }}|{{ ' <a> ' | safe | trim + '&' }}|{{ ('<'|safe) ~ '>' + '<' }}
{% if messages and false %}{{ 'x' | nosuch }}{% if 1 is nosuchtest %}{% endif %}{% endif %}{{ ('a' | nosuch) if false else 'b' }}
{% for i in [] %}{{ i | nosuch }}{% endfor %}
{% if true %}{% for i in [] %}{{ i | nosuch }}{% endfor %}{% endif %}
{{ 'x' | nosuch if true }}
{% if true %}{{ 1 is nosuchtest }}{% endif %}
{{ '{}{0}'.format(1) }}
{{ '{}{}'.format(1) }}
{{ '{x}'.format(1) }}
{{ '{'.format(1) }}
{{ missing.attribute }}
{{ [] + 1 }}
{{ raise_exception('no ' ~ 'way') }}
{{ messages.append(1) }}
{{ 1 / 0 }}
{% set a = 1 %}{% if true %}{% set a = 2 %}{% endif %}{{ a }}{% for i in [1] %}{% set a = 3 %}{{ a }}{% endfor %}{{ a }}
{{ strftime_now('%Y') | length }}{{ 'x' ~ ('a', 'b') | join('+') }}{{ -2 ** 2 }}{{ (1 if true else 2) + 1 }}{{ not 1 == 2 }}
""".strip("\n")


def compare(name, text, variables):
    global bad, n
    path = os.path.join(tmp, "template")
    with open(path, "w", encoding="utf-8", newline="") as f:
        f.write(text)
    r = subprocess.run([os.path.join(BUILD, "tests/lm/render"), path, "-1"], input="".join(json.dumps(v, ensure_ascii=False) + "\n" for v in variables).encode(),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = r.stdout.decode().split("\n")[:-1] if r.returncode == 0 else ["! " + r.stderr.decode().strip()] * len(variables)
    try:
        template = _compile_jinja_template(text)
    except Exception as e:
        template = e
    for v, g in zip(variables, got):
        n += 1
        try:
            if isinstance(template, Exception):
                raise template
            want = template.render(**v)
        except Exception as e:
            want = e
        given = g if g.startswith("! ") else bytes.fromhex(g).decode()
        if isinstance(want, Exception) != given.startswith("! ") or (not isinstance(want, Exception) and want != given):
            bad += 1
            print(f"FAIL {name}: {json.dumps(v)[:300]}\n  given    {given!r}\n  expected {want!r}")


folder = os.path.join(MODELS, "tokenizers", "chat_templates")
variables = [{"messages": c, "bos_token": "<s>", "eos_token": "</s>", **e} for c in CONVERSATIONS for e in EXTRA]
for f in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
    if f.endswith(".jinja"):
        compare(f, open(os.path.join(folder, f), encoding="utf-8", newline="").read(), variables)
some = [{"messages": []}, {"messages": [USER, ANSWER]}]
for line in SMALL.split("\n"):
    compare("small", line, some)
compare("all small ones that run", "\n".join(line for line in SMALL.split("\n") if not any(w in line for w in ("missing.attribute", "[] + 1", "raise_exception('no", "append", "1 / 0", "i | nosuch", "if true }}", "1 is nosuchtest }}{% endif", "'{}{", "'{x}'", "'{'"))), some)
print(f"{n} texts, {bad} wrong")
sys.exit(bad > 0)
