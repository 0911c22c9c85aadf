# SPDX-License-Identifier: Apache-2.0
"""Writes the table of figures in README.md from a result file of bench/cpu (`run --out`).

    bench/cpu/run --readme [RESULT.txt]            rewrites the table (default: the newest bench/results/cpu-*.txt)
    bench/cpu/run --readme --check [RESULT.txt]    exits with 1 if the table is not what the file gives

Needs Python's standard library only. The table shows batch 1: every model of the ONNX model zoo (`light_*`) and every
transformer, and the geometric means of all models of the file."""
import glob
import math
import os
import re
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
BEGIN, END = "<!-- figures: made by bench/cpu/run --readme -->", "<!-- end of figures -->"
LINE = re.compile(r"(\S+) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) ")


def measurements(text):
    """{model: {threads: (ms of ONNX Runtime, OpenVINO, Tenon)}} for batch 1, in the order of the file."""
    out = {}
    for part in re.split(r"^(?=Convolutional models|Transformers|machine, )", text, flags=re.M):
        if not part.startswith(("Convolutional models", "Transformers")):
            continue
        for line in part.split("\n"):
            m = LINE.match(line)
            if m and m.group(2) == "1":
                out.setdefault(m.group(1), {})[int(m.group(3))] = tuple(float(v) for v in m.groups()[3:])
    return out


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratios(models, threads, peer):
    return [ms[threads][peer] / ms[threads][2] for ms in models.values() if threads in ms]


def ratio_cells(values):
    return " | ".join(f"{v:.2f}" for v in values)


def table(path):
    """The lines between the two marks."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    models, name = measurements(text), os.path.relpath(path, ROOT)
    threads = sorted({t for ms in models.values() for t in ms})
    if not models:
        sys.exit(f"{path}: no measurements of models at batch 1")
    head = dict(line.split(" ", 1) for line in text.split("\n")[:2])
    versions = text.split("\n")[2]
    columns = [(peer, t) for peer in (0, 1) for t in threads]
    titles = [f"vs. {('ONNX Runtime', 'OpenVINO')[peer]}, {t} thread{'s' if t > 1 else ''}" for peer, t in columns]
    lines = [f"Batch 1, {head['device'].split(';')[0]}, {head['date']}; {versions.split(', ', 1)[1].rsplit(', ', 1)[0]}. "
             "Ratios are times as fast as the peer (above 1: Tenon is faster).",
             f"All figures: [{os.path.basename(name)}]({name}), [chart]({name[:-4]}.svg).", "",
             f"| model | Tenon, ms, {threads[0]} thread | " + " | ".join(titles) + " |", "|---" * (2 + len(titles)) + "|"]
    for model, ms in models.items():
        if not model.startswith(("light_", "bert", "gpt")) or set(ms) != set(threads):
            continue
        cells = ratio_cells(ms[t][peer] / ms[t][2] for peer, t in columns)
        lines.append(f"| {model.removeprefix('light_')} | {ms[threads[0]][2]:.1f} | {cells} |")
    for what, choose in ((f"**geometric mean of all {len(models)} models**", mean), ("lowest ratio of all", min)):
        lines.append(f"| {what} | | {ratio_cells(choose(ratios(models, t, peer)) for peer, t in columns)} |")
    return lines + startup(text)


def startup(text):
    """What the file says of compilation without a cache and of a new process, best of the repetitions."""
    found = re.findall(r"^(\S+): (cold compilation|start of a process to its first answer): ([\d. ]+) ms", text, re.M)
    best = {(m.removeprefix("light_"), what): min(map(float, ms.split())) for m, what, ms in found}
    return ["", *(f"{m}: compilation without a cache {best[m, what] / 1e3:.1f} s; start of a process to its first answer "
                  f"{best[m, 'start of a process to its first answer']:.0f} ms.  "
                  for m, what in best if what == "cold compilation")] if best else []


def main():
    args = sys.argv[1:]
    check = "--check" in args
    given = [a for a in args if not a.startswith("--")]
    results = given or sorted(glob.glob(os.path.join(ROOT, "bench", "results", "cpu-*.txt")))
    if not results:
        sys.exit("bench/results has no file cpu-*.txt")
    readme = os.path.join(ROOT, "README.md")
    with open(readme, encoding="utf-8") as f:
        old = f.read()
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        sys.exit(f"README.md: expected one line '{BEGIN}' and one line '{END}'")
    before, rest = old.split(BEGIN)
    new = before + BEGIN + "\n" + "\n".join(table(os.path.realpath(results[-1]))) + "\n" + END + rest.split(END)[1]
    if check and new != old:
        sys.exit(f"README.md: its table is not what {os.path.relpath(results[-1], ROOT)} gives\n  hint: run bench/cpu/run --readme")
    if new != old:
        with open(readme, "w", encoding="utf-8") as f:
            f.write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
