"""The states of a classic group as a diagram, from the table that moves them.

`python -m docs.states_picture` draws it.
"""

from __future__ import annotations

from math import hypot
from pathlib import Path

from copartition.simulation.group.classic_states import MOVES, ClassicGroupState, GroupEvent, Move

PICTURE = Path(__file__).with_name("states.svg")
PLACES = {
    ClassicGroupState.EMPTY: (120, 90),
    ClassicGroupState.PREPARING_REBALANCE: (600, 90),
    ClassicGroupState.STABLE: (120, 330),
    ClassicGroupState.COMPLETING_REBALANCE: (600, 330),
}
"""The centre of each state's box, in pixels."""
WIDTH, HEIGHT = 200, 44
"""The size of a box, in pixels."""
APART = 17
"""How far each of two opposite arrows stands to the right of the line between two boxes, in pixels."""
ALONG = 0.3
"""Where the event of an arrow is written, as a share of its length: at a half, diagonals would cross."""
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 400" role="img" aria-label="{label}">
<style>
svg {{ background: #fff; font: 14px system-ui, sans-serif; fill: #1f2328 }}
.state {{ fill: #ddf4ff; stroke: #0969da }} .name {{ font-weight: 600; text-anchor: middle }}
.move {{ stroke: #59636e; fill: none; marker-end: url(#head) }} #head path {{ fill: #59636e }}
.event {{ font-size: 12px; text-anchor: middle; paint-order: stroke; stroke: #fff; stroke-width: 5px }}
@media (prefers-color-scheme: dark) {{
svg {{ background: #0d1117; fill: #f0f6fc }} .state {{ fill: #0c2d6b; stroke: #4493f8 }}
.move {{ stroke: #9198a1 }} #head path {{ fill: #9198a1 }} .event {{ stroke: #0d1117 }}
}}
</style>
<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">\
<path d="M0 0L10 5L0 10z"/></marker>
"""


def draw() -> str:
    """Return the diagram as SVG: a box for each state, an arrow for each row of the table."""
    label = "; ".join(
        f"{_name(state)}, {_name(event)}: {_name(move.to)}" for (state, event), move in MOVES.items()
    )
    arrows = "".join(_arrow(state, event, move) for (state, event), move in MOVES.items())
    return f"{HEAD.format(label=label)}{arrows}{''.join(map(_box, PLACES))}</svg>\n"


def _name(member: ClassicGroupState | GroupEvent) -> str:
    return member.name.replace("_", " ").lower()


def _box(state: ClassicGroupState) -> str:
    x, y = PLACES[state]
    left, top = x - WIDTH // 2, y - HEIGHT // 2
    return (
        f'<rect class="state" x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>'
        f'<text class="name" x="{x}" y="{y + 5}">{_name(state)}</text>\n'
    )


def _arrow(state: ClassicGroupState, event: GroupEvent, move: Move) -> str:
    if move.to is state:
        x, y = PLACES[state][0] + WIDTH // 2, PLACES[state][1]
        path = f"M{x} {y - 12}C{x + 70} {y - 50} {x + 70} {y + 50} {x} {y + 12}"
        return _label(path, x + 80, y - 34, event)
    (x, y), (to_x, to_y) = PLACES[state], PLACES[move.to]
    length = hypot(to_x - x, to_y - y)
    along_x, along_y = (to_x - x) / length, (to_y - y) / length
    if any(start is move.to and to.to is state for (start, _), to in MOVES.items()):
        # The right-hand side of the direction, so that two opposite arrows do not lie on each other.
        right_x, right_y = round(-APART * along_y), round(APART * along_x)
        x, y, to_x, to_y = x + right_x, y + right_y, to_x + right_x, to_y + right_y
    # From a box's border to the other's: the box is left by whichever side the line meets first.
    border = min(
        (WIDTH / 2) / abs(along_x) if along_x else length, (HEIGHT / 2) / abs(along_y) if along_y else length
    )
    begin_x, begin_y = round(x + border * along_x), round(y + border * along_y)
    end_x, end_y = round(to_x - border * along_x), round(to_y - border * along_y)
    text_x = round(begin_x + ALONG * (end_x - begin_x))
    text_y = round(begin_y + ALONG * (end_y - begin_y)) + 4
    return _label(f"M{begin_x} {begin_y}L{end_x} {end_y}", text_x, text_y, event)


def _label(path: str, x: int, y: int, event: GroupEvent) -> str:
    return f'<path class="move" d="{path}"/><text class="event" x="{x}" y="{y}">{_name(event)}</text>\n'


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
