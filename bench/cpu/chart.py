# SPDX-License-Identifier: Apache-2.0
"""Records as an SVG chart: a group of bars per model or kernel, one bar per batch and number of threads. Colours are of
middle brightness and nothing is behind them: it reads on light and on dark pages."""
import xml.sax.saxutils

import report

COLOURS = ["#4e8fc7", "#2f6a9e", "#d39a4a", "#a8702a", "#6aa36f", "#8d75b5"]
BAR, GAP, LABEL, WIDE, VALUE = 6, 5, 250, 460, 46  # pixels

STYLE = """<style>
text { font: 11px system-ui, sans-serif; fill: #767676 }
.title { font-weight: bold; font-size: 13px }
.number { font-size: 8px }
line { stroke: #8a8a8a; stroke-width: 1 }
.grid { stroke-dasharray: 2 3; stroke-opacity: .6 }
@media (prefers-color-scheme: dark) { text { fill: #a8a8a8 } }
</style>"""


class Drawing:
    def __init__(self):
        self.parts, self.y = [], 0

    def text(self, x, y, s, kind="", anchor="start"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">'
                          f"{xml.sax.saxutils.escape(s)}</text>")

    def line(self, x, y0, y1, kind):
        self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y0:.1f}" y2="{y1:.1f}" class="{kind}"/>')

    def bar(self, y, width, colour):
        self.parts.append(f'<rect x="{LABEL}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{BAR - 1}" fill="{colour}"/>')

    def panel(self, title, groups, series, top, marks, form):
        """groups: (label, [value or None per series], limit or None). Bars end at `top`; `marks` are lines."""
        self.y += 22
        self.text(4, self.y, title, "title")
        x = LABEL
        self.y += 18
        for name, colour in zip(series, COLOURS):
            self.parts.append(f'<rect x="{x:.1f}" y="{self.y - 8}" width="9" height="9" fill="{colour}"/>')
            self.text(x + 13, self.y, name)
            x += 22 + 5.4 * len(name)
        self.y += 22
        start = self.y
        for label, values, limit in groups:
            height = BAR * len(values)
            self.text(LABEL - 6, self.y + height / 2 + 4, label, anchor="end")
            for k, v in enumerate(values):
                if v is not None:
                    y = self.y + k * BAR
                    width = WIDE * min(v, top) / top
                    self.bar(y, width, COLOURS[k % len(COLOURS)])
                    self.text(LABEL + width + 3, y + BAR - 0.5, form % v, "number")
            if limit is not None:
                self.line(LABEL + WIDE * limit / top, self.y - 1, self.y + height, "")
            self.y += height + GAP
        for m in marks:
            self.line(LABEL + WIDE * m / top, start - 3, self.y, "grid")
            self.text(LABEL + WIDE * m / top, start - 6, "%g" % m, anchor="middle")

    def svg(self):
        width, height = LABEL + WIDE + VALUE, self.y + 10
        return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                          f'viewBox="0 0 {width} {height}">', STYLE, *self.parts, "</svg>", ""])


def svg(records):
    d = Drawing()
    ratios = report.ratios(records)
    if ratios:
        keys = sorted({k for by in ratios.values() for k in by})
        series = [f"batch {b}, {t} thread{'s' * (t > 1)}" for b, t in keys]
        groups = [(name, [by.get(k) for k in keys], None) for name, by in ratios.items()]
        d.panel("Speed relative to ONNX Runtime (above 1: Tenon is faster)", groups, series, 2, (0.5, 0.7, 1, 1.5), "%.2f")
    kernels = report.kernel_percents(records)
    if kernels:
        threads = sorted({t for by, _ in kernels.values() for t in by}, key=int)
        groups = [(name, [by.get(t) for t in threads], limit) for name, (by, limit) in kernels.items()]
        d.panel("Kernels: % of the multiply-add peak, or of stream bandwidth; the stroke is what is wanted", groups,
                [f"{t} thread{'s' * (t != '1')}" for t in threads], 120, (20, 40, 60, 80, 100), "%.0f")
    return d.svg()
