"""How often answers are so far from the best, as `docs/optimal.svg` draws it."""

from __future__ import annotations

from itertools import accumulate
from math import log10
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections import Counter

    from benchmarks.optimal.measuring import Counts

LINES = {"sticky": "#d55e00", "uniform": "#8a6fc9", "optimal": "#009e73"}
"""The assignors and their colours; the cooperative ones are drawn by their eager twins."""
WIDTH, HEIGHT, LEFT, TOP, GAP = 360, 220, 60, 92, 90
RAREST = -4
"""The least share that is drawn: one rebalance in ten thousand."""


class Panel(NamedTuple):
    """One diagram: a figure, for the groups of one shape, and what its axis says."""

    figure: str
    shape: str
    title: str
    axis: str


PANELS = (
    Panel(
        "topics",
        "equal",
        "One topic piles up on a member",
        "partitions of a topic above its fair share, or more",
    ),
    Panel("avoidable", "unequal", "Moves that were not needed", "moves above the fewest, or more"),
)

STYLE = """\
svg { color-scheme: light dark; --ink: #1c2430; --dim: #5d6875; --line: #d9dfe6; --page: #ffffff }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e8edf3; --dim: #98a5b3; --line: #313b47; --page: #12161c }
}
text { font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--ink) }
.dim { fill: var(--dim) } .strong { font-weight: 600 }
.end { text-anchor: end } .middle { text-anchor: middle }
.grid { stroke: var(--line) } .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }"""


def picture(counts: Counts) -> str:
    """The picture.

    Args:
        counts: what came out.
    """
    width, height = LEFT + len(PANELS) * (WIDTH + GAP) - GAP + 24, TOP + HEIGHT + 54
    panels = "\n".join(
        f'<g transform="translate({LEFT + number * (WIDTH + GAP)} {TOP})">\n{_drawn(panel, counts)}\n</g>'
        for number, panel in enumerate(PANELS)
    )
    legend = "\n".join(
        f'<rect x="{LEFT + 90 * row}" y="20" width="14" height="4" fill="{colour}"/>'
        f'<text x="{LEFT + 20 + 90 * row}" y="26">{name}</text>'
        for row, (name, colour) in enumerate(LINES.items())
    )
    told = "How many rebalances are so far from the best, under sticky, uniform and optimal"
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{told}">
<title>{told}</title>
<style>
{STYLE}
</style>
<rect width="{width}" height="{height}" fill="var(--page)"/>
{legend}
{panels}
</svg>
"""


def _drawn(panel: Panel, counts: Counts) -> str:
    lines = {name: _shares(counts[panel.figure][panel.shape, name]) for name in LINES}
    worst = max(max(shares, default=0) for shares in lines.values()) + 1
    parts = [
        f'<text class="strong" x="0" y="-38">{panel.title}</text>',
        f'<text class="dim" x="0" y="-20">{panel.shape} subscriptions: share of rebalances</text>',
        f'<text class="dim middle" x="{WIDTH / 2}" y="{HEIGHT + 40}">{panel.axis}</text>',
    ]
    for power in range(RAREST, 1):
        y = _y(10**power)
        parts += [
            f'<path class="grid" d="M0 {y:.1f}H{WIDTH}"/>',
            f'<text class="dim end" x="-8" y="{y + 4:.1f}">{100 * 10**power:g} %</text>',
        ]
    step = next(spacing for spacing in (1, 2, 5, 10, 20, 50, 100, 200, 500) if worst / spacing <= 8)
    parts += [
        f'<text class="dim middle" x="{_x(value, worst):.1f}" y="{HEIGHT + 20}">{value}</text>'
        for value in range(step, worst, step)
    ]
    parts += [
        f'<path class="line" stroke="{LINES[name]}" d="{_path(shares, worst)}"/>'
        for name, shares in lines.items()
        if shares
    ]
    if none := [name for name, shares in lines.items() if not shares]:
        parts.append(f'<text class="end" x="{WIDTH}" y="14">{" and ".join(none)}: none</text>')
    return "\n".join(parts)


def _path(shares: dict[int, float], worst: int) -> str:
    steps = "".join(f"V{_y(share):.1f}H{_x(value, worst):.1f}" for value, share in shares.items())
    return f"M0 {_y(max(shares.values())):.1f}{steps}V{HEIGHT}"


def _shares(values: Counter[int]) -> dict[int, float]:
    """For each amount above 0 the share of rebalances that have it or more."""
    above = sorted((value for value in values if value > 0), reverse=True)
    counted = accumulate(values[value] for value in above)
    return dict(reversed([(v, seen / values.total()) for v, seen in zip(above, counted, strict=True)]))


def _x(value: int, worst: int) -> float:
    return WIDTH * value / worst


def _y(share: float) -> float:
    return HEIGHT * min(log10(share) / RAREST, 1)
