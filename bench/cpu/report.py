# SPDX-License-Identifier: Apache-2.0
"""Records as a text of tables."""
import math

import choices
import startup
from kernels import LIMITS, fraction, kernels

DISPATCHED = "tenon+dnnl"  # in records: Tenon with DNNLDispatch


def percents(record, peak, key="ms"):
    return [100 * fraction(record, ms, peak) for ms in record[key]]


def rate(record):
    """Of the best repetition."""
    best = min(record["ms"]) * 1e-3
    return f"{record['flops'] / best * 1e-9:8.1f} Gflop/s" if record["flops"] else f"{record['bytes'] / best * 1e-9:8.1f} GB/s   "


def kernel_line(name, threads, record, peak):
    if "failed" in record:
        return f"{name:32} {threads:>2} failed: {record['failed']}"
    p = percents(record, peak)
    limit = 100 * LIMITS[record["kind"]]
    shown = " ".join(f"{v:5.1f}" for v in p)
    line = f"{name:32} {threads:>2} {min(record['ms']):10.3f} {rate(record)}  {shown}  {limit:3.0f}  "
    line += "ok" if max(p) >= limit else "BELOW"
    if record["kind"] == "conv":
        line += f"  (alone {max(percents(record, peak, 'whole_ms')):.1f})"
    return line


def kernels_of(records):
    """Records of kernels by name, in the order in which they are defined."""
    known = records.get("kernels", {})
    place = {k.name: i for i, k in enumerate(kernels())}
    return sorted(known.items(), key=lambda e: place.get(e[0], -1))


def kernel_tables(records):
    lines = []
    peaks = records.get("machine", {})
    for t in sorted(peaks, key=int):
        p = peaks[t]
        past = f", past the caches {max(p['copy_past_bytes'], p['triad_past_bytes']) * 1e-9:.1f}" if "triad_past_bytes" in p else ""
        lines.append(f"machine, {t} threads: {p['fma_flops'] * 1e-9:.1f} Gflop/s of multiply-adds in vectors of "
                     f"{p['vector_bytes']} bytes; GB/s: read {p['read_bytes'] * 1e-9:.1f}, copy {p['copy_bytes'] * 1e-9:.1f}, "
                     f"triad {p['triad_bytes'] * 1e-9:.1f}{past}")
    lines += ["", f"{'kernel':32} {'th':>2} {'best ms':>10} {'':16}  % of the peak or bandwidth, each repetition; limit"]
    below = count = 0
    for name, by_threads in kernels_of(records):
        for t, r in sorted(by_threads.items(), key=lambda e: int(e[0])):
            lines.append(kernel_line(name, t, r, peaks[t]))
            count += 1
            below += "ms" in r and max(percents(r, peaks[t])) < 100 * LIMITS[r["kind"]]
    lines.append(f"{count} kernels, {below} below their limits")
    return lines


def kernel_percents(records):
    """Name -> ({threads: percent of the best repetition}, limit)."""
    out, peaks = {}, records.get("machine", {})
    for name, by_threads in kernels_of(records):
        good = {t: r for t, r in by_threads.items() if "ms" in r}
        if good:
            limit = 100 * LIMITS[next(iter(good.values()))["kind"]]
            out[name] = {t: max(percents(r, peaks[t])) for t, r in good.items()}, limit
    return out


# ---- models ----

def best(rounds, engine, key="min_ms"):
    values = [r[engine][key] for r in rounds if engine in r and key in r[engine]]
    return min(values) if values else None


def entries(records, part):
    """Name, batch, threads, rounds of what was measured; rounds is a text where nothing could be."""
    for name, by_batch in sorted(records.get(part, {}).items()):
        for batch, by_threads in sorted(by_batch.items(), key=lambda e: int(e[0])):
            if "skipped" in by_threads or "failed" in by_threads:
                yield name, int(batch), 0, "; ".join(f"{k}: {v}" for k, v in by_threads.items())
                continue
            for threads, rounds in sorted(by_threads.items(), key=lambda e: int(e[0])):
                yield name, int(batch), int(threads), rounds


def ratio(rounds, peer="onnxruntime", engine="tenon"):
    """How many times as fast as the peer."""
    a, b = best(rounds, peer), best(rounds, engine)
    return a / b if a and b else None


def ratios(records):
    """Name -> {(batch, threads): speed relative to ONNX Runtime}."""
    out = {}
    for part in ("models", "transformers"):
        for name, batch, threads, rounds in entries(records, part):
            if threads and ratio(rounds):
                out.setdefault(name, {})[batch, threads] = ratio(rounds)
    return out


def number(v, form):
    return f"{v:{form}}" if v is not None else "-".rjust(int(form.split(".")[0]))


def mib(v):
    return v / (1 << 20) if v is not None else None


def model_line(name, batch, threads, rounds, dnnl=None):
    """A line of the table; `dnnl` says whether it has the column of oneDNN (default: if there is something to say)."""
    if not threads:
        return f"{name:40} {batch:>2}     {rounds}"
    each = " ".join(number(ratio([r]), "6.2f") for r in rounds)
    line = f"{name:40} {batch:>2} {threads:>2} {best(rounds, 'onnxruntime'):10.3f} {number(best(rounds, 'openvino'), '10.3f')} "
    line += f"{best(rounds, 'tenon'):10.3f} {number(ratio(rounds), '6.2f')} {number(ratio(rounds, 'openvino'), '6.2f')}  "
    if dnnl if dnnl is not None else any(DISPATCHED in r for r in rounds):
        failed = any("failed" in r.get(DISPATCHED, {}) for r in rounds)
        took = "failed" if failed else number(best(rounds, DISPATCHED), ".3f")
        line += f"{took:>10} {number(None if failed else ratio(rounds, 'tenon', DISPATCHED), '6.2f')}  "
    for key, form in (("peak_bytes", mib), ("load_ms", lambda v: v)):
        line += " ".join(number(form(best(rounds, e, key)), "6.0f") for e in ("onnxruntime", "openvino", "tenon")) + "  "
    return line + each


def model_head(dnnl):
    over, under = (f"{'with oneDNN':^17}  ", f"{'ms':>10} {'tenon':>6}  ") if dnnl else ("", "")
    return [
        f"{'':40} {'':2} {'':2} {'best ms':^32} {'ratio to':^13}  {over}{'peak MiB':^20}  {'load ms':^20}  ratio to ort,",
        f"{'model':40} {'b':>2} {'th':>2} {'ort':>10} {'ov':>10} {'tenon':>10} {'ort':>6} {'ov':>6}  {under}"
        + f"{'ort':>6} {'ov':>6} {'tenon':>6}  " * 2 + "each repetition",
    ]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def model_tables(records, part, limit):
    """Lines of one part, with the geometric mean of each form and of all."""
    dnnl = any(DISPATCHED in r for _, _, threads, rounds in entries(records, part) if threads for r in rounds)
    lines, forms, low = model_head(dnnl), {}, []
    for name, batch, threads, rounds in entries(records, part):
        lines.append(model_line(name, batch, threads, rounds, dnnl))
        if threads and ratio(rounds):
            forms.setdefault((batch, threads), []).append((ratio(rounds), ratio(rounds, "openvino")))
            if ratio(rounds) < limit:
                low.append(f"{name} (batch {batch}, {threads} threads) {ratio(rounds):.2f}")
    everything = [v for values in forms.values() for v in values]
    for what, values in [*((f"batch {b}, {t} threads", v) for (b, t), v in sorted(forms.items())), ("all", everything)]:
        ort, ov = [a for a, _ in values], [b for _, b in values if b]
        if ort:
            lines.append(f"geometric mean, {what}: {mean(ort):.3f} of {len(ort)} to ONNX Runtime, worst {min(ort):.2f}"
                         + (f"; {mean(ov):.3f} to OpenVINO" if ov else ""))
    lines.append(f"below {limit}: " + (", ".join(low) if low else "none"))
    return lines + (dnnl_lines(records, part) if dnnl else [])


def dnnl_lines(records, part):
    """Where Tenon with oneDNN is faster than without."""
    found, faster = [], []
    for name, batch, threads, rounds in entries(records, part):
        r = ratio(rounds, "tenon", DISPATCHED) if threads else None
        if r:
            found.append(r)
            if r > 1.05:
                faster.append(f"{name} (batch {batch}, {threads} threads) {r:.2f}")
    if not found:
        return ["with oneDNN: nothing measured"]
    return [f"with oneDNN: geometric mean {mean(found):.3f} of {len(found)} to Tenon without it, from {min(found):.2f} to "
            f"{max(found):.2f}", "with oneDNN more than 5% faster: " + (", ".join(faster) if faster else "none")]


def startup_lines(records):
    lines = []
    for name, r in records.get("startup", {}).items():
        if "failed" in r:
            lines.append(f"{name}: failed: {r['failed']}")
            continue
        for key, what, limit in (("cold_ms", "cold compilation", startup.COLD_MS),
                                 ("warm_ms", "start of a process to its first answer", startup.WARM_MS)):
            each = " ".join(f"{v:.1f}" for v in r[key])
            good = "ok" if min(r[key]) <= limit else "ABOVE"
            lines.append(f"{name}: {what}: {each} ms; limit {limit}  {good}")
    for name, batch, threads, rounds in entries(records, "models"):
        if "resnet50" in name and batch == 1 and threads:
            a, b = best(rounds, "tenon", "peak_bytes"), best(rounds, "onnxruntime", "peak_bytes")
            lines.append(f"{name}: peak memory, {threads} threads: {mib(a):.0f} MiB, ONNX Runtime {mib(b):.0f} MiB, "
                         f"{a / b:.2f} times; limit 1.2  {'ok' if a <= 1.2 * b else 'ABOVE'}")
    return lines


# ---- all of it ----

def failures(records):
    """Names of what gave wrong results or did not run."""
    out = [name for name, by in records.get("kernels", {}).items() if any("failed" in r for r in by.values())]
    for part in ("models", "transformers"):
        out += [name for name, by in records.get(part, {}).items() if any("failed" in r for r in by.values())]
        out += [name for name, _, threads, rounds in entries(records, part)
                if threads and any("failed" in r.get(DISPATCHED, {}) for r in rounds)]
    out += choices.failures(records)
    return out + [name for name, r in records.get("startup", {}).items() if "failed" in r]


def head(records):
    versions = ", ".join(f"{k} {v}" for k, v in sorted(records.get("versions", {}).items()))
    return [f"date {records.get('date')}", f"device {records.get('device')}; load average {records.get('load', 0):.1f} before",
            versions, f"command: {records.get('command')}", ""]


def table(records):
    lines = head(records)
    if records.get("models"):
        lines += ["Convolutional models", *model_tables(records, "models", 0.7), ""]
    if records.get("transformers"):
        lines += ["Transformers", *model_tables(records, "transformers", 0.9), ""]
    if records.get("choices"):
        lines += ["Choice of instructions", *choices.lines(records), ""]
    lines += startup_lines(records) + [""]
    if records.get("kernels"):
        lines += kernel_tables(records)
    return "\n".join(lines).rstrip()
