# SPDX-License-Identifier: Apache-2.0
"""Speed of Tenon on the CPU. Parts (default: all of them):

models        convolutional models of --models, beside ONNX Runtime and OpenVINO; those named light_* with seeded weights
transformers  BERT- and GPT-shaped graphs, beside the same
choices       what `tenon bench` compiles for by itself, beside x86-64-v3, native, and native with vectors of 32 bytes
startup       squeezenet: compiling it cold, and the first answer of a new process
kernels       single kernels: the part of the measured multiply-add peak or of the stream bandwidth that each reaches

Each result is checked before its time is taken. What was measured is kept in --records and not measured again, so a
run may be split: --prepare compiles and checks without measuring, --limit stops after so many seconds with status 3.
"""
import argparse
import fnmatch
import os
import sys
import time

import numpy as np

import chart
import choices
import engines
import kernels
import machine
import report
import startup
from records import Records
from report import DISPATCHED
from tenon import Failed, Tenon

PARTS = ["models", "transformers", "choices", "startup", "kernels"]
QUICK = ["cnn_mnist_pytorch", "light_squeezenet", "yunet_n_320_320", "bert-128"]


class Run:
    """What all parts share: the program, where files are, what to measure, how long, and what is known."""

    def __init__(self, args):
        self.args = args
        self.work = os.path.abspath(args.work if args.mcpu == "native" else os.path.join(args.work, args.mcpu))
        os.makedirs(self.work, exist_ok=True)
        self.records = Records(args.records or os.path.join(self.work, "records.json"))
        self.tenon = Tenon(os.path.abspath(args.tenon), os.path.join(self.work, "cache"), args.mcpu)
        self.threads = [int(t) for t in args.threads.split(",")]
        self.repeat = 1 if args.quick else args.repeat
        self.seconds = 0.2 if args.quick else args.seconds
        self.start = time.monotonic()
        self.left = 0

    def wanted(self, name):
        only = self.args.only
        return not only or any(fnmatch.fnmatch(name, pattern) for pattern in only.split(","))

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def time_is_up(self):
        """Counts what is left undone."""
        up = self.args.limit is not None and time.monotonic() - self.start > self.args.limit
        self.left += up
        return up

    def is_known(self, record):
        """Whether the record is of this build."""
        made = (record or {}).get("build")
        return made == self.tenon.build

    def prepare(self, subject):
        """Compiles and checks a kernel or a model, unless this build did."""
        if not self.tenon.is_current(subject.artifact(self.work)):
            self.say(f"{subject}: compiling and checking")
            subject.prepare(self.tenon, self.work)

    def peak(self, threads):
        return self.records.get("machine", str(threads))


def look_at_memory(run, threads):
    """Bandwidth is shared with whatever else the hardware runs: the best figure of the whole run counts."""
    figures = machine.measure(os.path.join(run.work, "machine"), threads, seconds=0.2)
    run.records.put(machine.better(run.peak(threads), figures), "machine", str(threads))


def measure_machine(run):
    """The first figures for each number of threads."""
    program = machine.build(run.work)
    for t in run.threads:
        if run.args.prepare or run.peak(t) or run.time_is_up():
            continue
        figures = machine.measure(program, t, seconds=0.2 if run.args.quick else 1.0)
        run.records.put(machine.better(run.peak(t), figures), "machine", str(t))


def measure_kernels(run):
    for k in kernels.kernels():
        if not run.wanted(k.name) or (run.args.quick and not k.small and not run.args.only):
            continue
        todo = [t for t in run.threads if not run.is_known(run.records.get("kernels", k.name, str(t)))]
        if not todo or run.time_is_up():
            continue
        try:
            run.prepare(k)
            for t in [] if run.args.prepare else todo:
                if run.time_is_up():
                    break
                if not k.flops:
                    look_at_memory(run, t)
                r = k.measure(run.tenon, run.work, t, run.repeat, run.seconds, run.peak(t))
                run.records.put(dict(r, build=run.tenon.build), "kernels", k.name, str(t))
                run.say(report.kernel_line(k.name, t, r, run.peak(t)))
        except Failed as e:
            for t in todo:
                run.records.put({"failed": str(e), "build": run.tenon.build}, "kernels", k.name, str(t))
            run.say(f"{k.name}: failed: {e}")


def bench_models(run, part, sources, batches):
    """Every model at every batch and number of threads, a round of all engines at a time."""
    import models
    which = engines.available()
    for name, source in sources.items():
        if not run.wanted(name) or (run.args.quick and name not in QUICK and not run.args.only):
            continue
        for batch in batches:
            m = models.Model(name, batch, source)
            try:
                measure_model(run, part, m, which)
            except models.Skipped as e:
                run.records.put({"skipped": str(e)}, part, name, str(batch))
                run.say(f"{name}, batch {batch}: skipped: {e}")
            except Failed as e:
                run.records.put({"failed": str(e), "build": run.tenon.build}, part, name, str(batch))
                run.say(f"{name}, batch {batch}: failed: {e}")


def prepare_dispatched(run, m):
    """The model with oneDNN if it gives the right results, and else what a round says of that."""
    other = m.dispatched()
    try:
        run.prepare(other)
        return [other], {}
    except Failed as e:
        run.say(f"{other}: failed: {e}")
        return [], {DISPATCHED: {"failed": str(e)}}


def measure_model(run, part, m, which):
    known = run.records.get(part, m.name, str(m.batch)) or {}
    if "skipped" in known or ("failed" in known and run.is_known(known)):
        return
    rounds = {t: [r for r in known.get(str(t), []) if run.is_known(r) and (not run.args.dnnl or DISPATCHED in r)]
              for t in run.threads}
    if all(len(r) >= run.repeat for r in rounds.values()) or run.time_is_up():
        return
    run.prepare(m)
    others, failed = prepare_dispatched(run, m) if run.args.dnnl else ([], {})
    for t, done in [] if run.args.prepare else rounds.items():
        while len(done) < run.repeat and not run.time_is_up():
            r = m.repetition(run.tenon, run.work, t, run.seconds, which, others)
            done.append(dict(r, **failed, build=run.tenon.build))
            run.records.put({str(t): r for t, r in rounds.items() if r}, part, m.name, str(m.batch))
            run.say(report.model_line(m.name, m.batch, t, done))


def bench_choices(run, sources):
    import models
    cache = os.path.join(run.work, "cache-choices")
    for name, source in sources.items():
        if not run.wanted(name) or (run.args.quick and name not in QUICK and not run.args.only):
            continue
        m = models.Model(name, 1, source)
        todo = [t for t in run.threads if not run.is_known(run.records.get("choices", name, str(t)))]
        if not todo or run.time_is_up():
            continue
        try:
            run.prepare(m)
            if run.args.prepare:
                choices.prepare(run.tenon, cache, m, run.work)
            for t in [] if run.args.prepare else todo:
                if run.time_is_up():
                    break
                r = {"ms": choices.measure(run.tenon, cache, m, run.work, t, run.seconds, run.repeat), "build": run.tenon.build}
                run.records.put(r, "choices", name, str(t))
                run.say(choices.lines({"choices": {name: {str(t): r}}})[1])
        except (models.Skipped, Failed) as e:
            for t in todo:
                run.records.put({"failed": str(e), "build": run.tenon.build}, "choices", name, str(t))
            run.say(f"{name}: failed: {e}")


def bench_startup(run, sources):
    import models
    for name in ("light_squeezenet", "squeezenet_fp16"):
        if name not in sources or not run.wanted(name) or run.is_known(run.records.get("startup", name)):
            continue
        m = models.Model(name, 1, sources[name])
        try:
            run.prepare(m)
            if run.args.prepare or run.time_is_up():
                continue
            r = startup.measure(run.tenon, m.path(run.work, "model.onnx"), m.artifact(run.work), m.inputs(run.work), run.repeat)
        except Failed as e:
            r = {"failed": str(e)}
        run.records.put(dict(r, build=run.tenon.build), "startup", name)


def arguments():
    p = argparse.ArgumentParser(prog="bench/cpu/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("parts", nargs="*", metavar="PART", help="parts to run: " + ", ".join(PARTS))
    p.add_argument("--tenon", default="tenon", help="the program (default: tenon)")
    p.add_argument("--models", metavar="DIR", default=os.environ.get("TENON_MODELS"),
                   help="folder of MODEL/model.onnx with test_data_set_0 (default: $TENON_MODELS)")
    p.add_argument("--batches", default="1,8", help="comma-separated batches of models and transformers (default 1,8)")
    p.add_argument("--mcpu", default="native",
                   help="processor that Tenon compiles for (default: native, as the others choose their kernels)")
    p.add_argument("--dnnl", action="store_true", help="models and transformers also with DNNLDispatch")
    p.add_argument("--threads", help="comma-separated numbers of threads (default: 1 and 2, or 1 on one processor)",
                   default="1,2" if len(os.sched_getaffinity(0)) > 1 else "1")
    p.add_argument("--only", metavar="PATTERNS", help="comma-separated names, or patterns as *resnet*: only these models and kernels")
    p.add_argument("--repeat", type=int, default=3, help="repetitions, each of which is shown (default 3)")
    p.add_argument("--seconds", type=float, default=0.5, help="spent on one repetition (default 0.5)")
    p.add_argument("--quick", action="store_true", help="one short repetition of a few of each part")
    p.add_argument("--work", default=os.path.join(os.environ.get("TMPDIR", "/tmp"), "tenon-bench-cpu"),
                   help="scratch folder for models, artifacts and records (default: tenon-bench-cpu in the temporary folder)")
    p.add_argument("--records", metavar="FILE", help="what was measured (default: records.json in the scratch folder)")
    p.add_argument("--again", action="store_true", help="forget the records of what is chosen, first")
    p.add_argument("--prepare", action="store_true", help="compile and check only")
    p.add_argument("--limit", type=float, metavar="SECONDS", help="begin nothing new after so long; exit with 3 if some is left")
    p.add_argument("--report", action="store_true", help="only print what the records hold")
    p.add_argument("--out", metavar="NAME", help="write the table to NAME.txt and the chart to NAME.svg")
    args = p.parse_args()
    for part in args.parts:
        if part not in PARTS:
            p.error(f"unknown part '{part}'; there are {', '.join(PARTS)}")
    args.parts = args.parts or PARTS
    return args


def main():
    args = arguments()
    run = Run(args)
    load = os.getloadavg()[0]
    if args.again and not args.report:
        for part in args.parts:
            run.records.forget(part, run.wanted)
        if "kernels" in args.parts:
            run.records.forget("machine", lambda threads: not args.only)
    if not args.report:
        sources = {}
        if {"models", "startup"} & set(args.parts):
            import models
            sources = models.convolutional(args.models) if args.models else {}
            if not sources:
                run.say("no models: --models names their folder")
        batches = [1] if args.quick else [int(b) for b in args.batches.split(",")]
        if "models" in args.parts:
            bench_models(run, "models", sources, batches)
        if "transformers" in args.parts:
            import models
            bench_models(run, "transformers", models.shaped_transformers(), batches)
        if "choices" in args.parts:
            import models
            bench_choices(run, {**(models.with_data(args.models) if args.models else {}), **models.shaped_transformers()})
        if "startup" in args.parts:
            bench_startup(run, sources)
        if "kernels" in args.parts:
            measure_machine(run)
            measure_kernels(run)
        if not args.prepare:
            run.records.put({"tenon": run.tenon.version().removeprefix("tenon "), "numpy": np.__version__,
                             **engines.versions()}, "versions")
            run.records.put(max(load, run.records.all.get("load", 0)), "load")
            run.records.put(machine.processor(), "device")
            run.records.put("bench/cpu/run " + " ".join(sys.argv[1:]), "command")
    if run.left:
        run.say(f"{run.left} left for another run")
        return 3
    if not args.prepare:
        text = report.table(run.records.all)
        print(text)
        if args.out:
            with open(args.out + ".txt", "w", encoding="utf-8") as f:
                f.write(text + "\n")
            with open(args.out + ".svg", "w", encoding="utf-8") as f:
                f.write(chart.svg(run.records.all))
    return 1 if report.failures(run.records.all) else 0


if __name__ == "__main__":
    sys.exit(main())
