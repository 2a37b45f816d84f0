"""The states of a classic group and of the clients as diagrams, each from the table that moves them.

`python -m docs.states_picture` draws them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from math import hypot
from pathlib import Path
from typing import Any

from copartition.simulation.group.classic_client import ClassicClient
from copartition.simulation.group.classic_states import MOVES, ClassicGroupState
from copartition.simulation.group.client_states import ClassicClientState, ConsumerClientState
from copartition.simulation.group.consumer_client import ConsumerClient

Places = Mapping[Any, tuple[int, int]]
"""The centre of each state's box, in pixels."""

GROUP: Places = {
    ClassicGroupState.EMPTY: (120, 90),
    ClassicGroupState.PREPARING_REBALANCE: (600, 90),
    ClassicGroupState.STABLE: (120, 330),
    ClassicGroupState.COMPLETING_REBALANCE: (600, 330),
}
CONSUMER: Places = {
    ConsumerClientState.UNSUBSCRIBED: (120, 130),
    ConsumerClientState.JOINING: (430, 130),
    ConsumerClientState.FATAL: (1000, 130),
    ConsumerClientState.STABLE: (400, 540),
    ConsumerClientState.RECONCILING: (600, 340),
    ConsumerClientState.ACKNOWLEDGING: (660, 540),
    ConsumerClientState.FENCED: (1000, 300),
    ConsumerClientState.STALE: (1000, 480),
}
FRAME = frozenset({ConsumerClientState.JOINING, ConsumerClientState.STABLE, ConsumerClientState.RECONCILING})
"""States of `CONSUMER` in one frame: an event that leads all of them to one state has one arrow."""
LEFT, TOP, RIGHT, BOTTOM = 280, 95, 790, 580
"""The sides of that frame, in pixels; ACKNOWLEDGING, which takes no time, stands inside."""
CLASSIC: Places = {
    ClassicClientState.UNJOINED: (120, 90),
    ClassicClientState.PREPARING_REBALANCE: (680, 90),
    ClassicClientState.STABLE: (120, 390),
    ClassicClientState.COMPLETING_REBALANCE: (680, 390),
}
PICTURES: dict[str, tuple[Mapping[Any, Any], Places]] = {
    "states.svg": (MOVES, GROUP),
    "consumer_client_states.svg": (ConsumerClient.MOVES, CONSUMER),
    "classic_client_states.svg": (ClassicClient.MOVES, CLASSIC),
}
"""File beside this program -> the table, and where its states stand."""
WIDTH, HEIGHT = 200, 44
"""The size of a box, in pixels."""
APART = 17
"""How far each of two opposite arrows stands to the right of the line between two boxes, in pixels."""
ALONG = 0.3
"""Where the events of an arrow are written, as a share of its length: at a half, diagonals would cross."""
LEVEL = 0.98
"""The cosine of the angle below which an arrow counts as level."""
LINE = 14
"""The height of a line of text, in pixels."""
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">
<style>
svg {{ background: #fff; font: 14px system-ui, sans-serif; fill: #1f2328 }}
.state {{ fill: #ddf4ff; stroke: #0969da }} .frame {{ fill: none; stroke: #0969da; stroke-dasharray: 6 4 }}
.name {{ font-weight: 600; text-anchor: middle }}
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


def draw(table: Mapping[Any, Any], places: Places) -> str:
    """Return a table as SVG: a box for each state, and an arrow with the events that lead to another state.

    Events that leave a client in its state have no arrow, only a row of the table. The loop in the group's
    table is drawn, because there it is a step of the group.
    """
    events: dict[tuple[Enum | None, Enum], list[str]] = {}
    for (state, event), move in table.items():
        common = state in FRAME and all(
            (other, event) in table and table[other, event].to is move.to for other in FRAME - {move.to}
        )
        pair = (None if common and move.to not in FRAME else state, move.to)
        if (move.to is not state or places is GROUP) and _name(event) not in events.get(pair, ()):
            events.setdefault(pair, []).append(_name(event))
    label = "; ".join(
        f"{_name(state)}, {_name(event)}: {_name(move.to)}" for (state, event), move in table.items()
    )
    width = max(x for x, _ in places.values()) + WIDTH // 2 + (160 if places is GROUP else 20)
    height = max(y for _, y in places.values()) + 70
    arrows = "".join(
        _arrow(places, pair, names, opposite=pair[::-1] in events) for pair, names in events.items()
    )
    if None in {state for state, _ in events}:
        size = f'width="{RIGHT - LEFT}" height="{BOTTOM - TOP}"'
        arrows += f'<rect class="frame" x="{LEFT}" y="{TOP}" {size} rx="16"/>\n'
    boxes = "".join(_box(state, *place) for state, place in places.items())
    return f"{HEAD.format(label=label, width=width, height=height)}{arrows}{boxes}</svg>\n"


def _name(member: Enum) -> str:
    return member.name.replace("_", " ").lower()


def _box(state: Enum, x: int, y: int) -> str:
    left, top = x - WIDTH // 2, y - HEIGHT // 2
    return (
        f'<rect class="state" x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" rx="8"/>'
        f'<text class="name" x="{x}" y="{y + 5}">{_name(state)}</text>\n'
    )


def _arrow(places: Places, pair: tuple[Enum | None, Enum], events: list[str], *, opposite: bool) -> str:
    state, to = pair
    to_x, to_y = places[to]
    if state is None:
        end = to_x - WIDTH // 2
        above = to_y - 4 - LINE * (len(events) - 1) // 2  # the last line stands just above the arrow
        return _label(f"M{RIGHT} {to_y}L{end} {to_y}", (RIGHT + end) // 2, above, events)
    x, y = places[state]
    if to is state:
        x += WIDTH // 2
        path = f"M{x} {y - 12}C{x + 70} {y - 50} {x + 70} {y + 50} {x} {y + 12}"
        return _label(path, x + 80, y - 34, events)
    length = hypot(to_x - x, to_y - y)
    along_x, along_y = (to_x - x) / length, (to_y - y) / length
    # The right-hand side of the direction, so that two opposite arrows do not lie on each other.
    right_x, right_y = (round(-APART * along_y), round(APART * along_x)) if opposite else (0, 0)
    begins = _to_border(right_x, right_y, along_x, along_y)
    ends = _to_border(right_x, right_y, -along_x, -along_y)
    begin_x, begin_y = round(x + right_x + begins * along_x), round(y + right_y + begins * along_y)
    end_x, end_y = round(to_x + right_x - ends * along_x), round(to_y + right_y - ends * along_y)
    # Several lines of text would reach an arrow that lies beside a level one. Its middle has room for one.
    level = abs(along_x) > LEVEL
    lines, along = ([", ".join(events)], 0.5) if level else (events, ALONG)
    text_x = round(begin_x + along * (end_x - begin_x))
    text_y = round(begin_y + along * (end_y - begin_y)) + 4
    return _label(f"M{begin_x} {begin_y}L{end_x} {end_y}", text_x, text_y, lines)


def _to_border(right_x: int, right_y: int, along_x: float, along_y: float) -> float:
    """How far it is from beside a box's centre to its border: the line crosses one side before the other."""
    sides = [(WIDTH / 2, right_x, along_x), (HEIGHT / 2, right_y, along_y)]
    return min(
        (half - (right if along > 0 else -right)) / abs(along) for half, right, along in sides if along
    )


def _label(path: str, x: int, y: int, events: list[str]) -> str:
    lines = "".join(
        f'<text class="event" x="{x}" y="{y + LINE * line - LINE * (len(events) - 1) // 2}">{event}</text>'
        for line, event in enumerate(events)
    )
    return f'<path class="move" d="{path}"/>{lines}\n'


if __name__ == "__main__":
    for name, (table, places) in PICTURES.items():
        Path(__file__).with_name(name).write_text(draw(table, places), encoding="utf-8")
