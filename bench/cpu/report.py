# SPDX-License-Identifier: Apache-2.0
"""Records as a text of tables."""
from kernels import LIMITS, fraction


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
    for name, by_threads in records.get("kernels", {}).items():
        for t, r in sorted(by_threads.items(), key=lambda e: int(e[0])):
            lines.append(kernel_line(name, t, r, peaks[t]))
            count += 1
            below += "ms" in r and max(percents(r, peaks[t])) < 100 * LIMITS[r["kind"]]
    lines.append(f"{count} kernels, {below} below their limits")
    return lines


def failures(records):
    """Names of what gave wrong results or did not run."""
    return [name for name, by in records.get("kernels", {}).items() if any("failed" in r for r in by.values())]


def head(records):
    versions = ", ".join(f"{k} {v}" for k, v in sorted(records.get("versions", {}).items()))
    return [f"date {records.get('date')}", f"device {records.get('device')}; load average {records.get('load', 0):.1f} before",
            versions, f"command: {records.get('command')}", ""]


def table(records):
    lines = head(records)
    if records.get("kernels"):
        lines += kernel_tables(records) + [""]
    return "\n".join(lines).rstrip()
