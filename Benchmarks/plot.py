"""Draws the ratios of a record of tools/bench as an SVG: Vault's time over a peer's, on a logarithmic scale.

    python3 Benchmarks/plot.py RECORD.json PLOT.svg
"""

import html
import json
import math
import sys

LEFT, WIDTH, ROW, TOP = 430, 420, 22, 44


def draw(record):
    # What compares writers compares throughputs.
    rows = [row for row in record["rows"] if row.get("ratio") and row.get("peer") not in (None, "one writer")]
    low = min(0.05, min(row["ratio"] for row in rows))
    high = max(10, max(row["ratio"] for row in rows))

    def x(ratio):
        return LEFT + WIDTH * math.log(ratio / low) / math.log(high / low)

    height = TOP + ROW * len(rows) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 70} {height}" '
        'font-family="sans-serif" font-size="12" fill="#777">',
        f"<title>Vault's time over each peer's, {html.escape(record['date'])}</title>",
        f'<text x="{LEFT}" y="18" font-size="14">Vault\'s time over the peer\'s; left of the line Vault is faster</text>',
    ]
    for mark in (0.1, 0.25, 0.5, 1, 2, 4, 8):
        if low <= mark <= high:
            heavy = ' stroke="#777"' if mark == 1 else ' stroke="#7774"'
            parts.append(f'<path d="M{x(mark):.1f} {TOP - 8}V{height - 26}"{heavy}/>')
            parts.append(f'<text x="{x(mark):.1f}" y="{height - 10}" text-anchor="middle">{mark:g} ×</text>')
    for number, row in enumerate(rows):
        y = TOP + ROW * number
        begin, end = sorted((x(1), x(row["ratio"])))
        colour = "#2a8" if row["ratio"] <= 1 else "#d83"
        label = html.escape(f"{row['job']}: {row['peer']}")
        parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{label}</text>')
        parts.append(f'<rect x="{begin:.1f}" y="{y + 3}" width="{max(end - begin, 1):.1f}" height="13" fill="{colour}"/>')
        parts.append(f'<text x="{end + 5:.1f}" y="{y + 13}">{row["ratio"]:.2g}</text>')
    return "\n".join(parts + ["</svg>", ""])


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        plot = draw(json.load(file))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(plot)
