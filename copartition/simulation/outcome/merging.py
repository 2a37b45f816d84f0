"""Many calls about a few partitions each, as a few calls about many.

Under the consumer protocol (KIP-848) every member gives up and opens partitions at heartbeats of its own.
Each time that is a call of `Phases` about the handful that one member has, and NumPy needs as long for five
partitions as for five hundred. Nothing but the order of calls about the same partition matters. So the first
calls about each partition can be made together, then the second ones, and so on.
"""

from __future__ import annotations

from contextlib import nullcontext
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from partitioning.kit.columns import ranks, run_starts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from copartition.simulation.outcome.phases import Phases
    from copartition.simulation.records.flow import Flow


class Told(NamedTuple):
    """A call of `Phases` that can be made together with others.

    Attributes:
        what: the method.
        partitions: which partitions, each once, in any order.
        at_ms: when.
        same: arguments that those of other calls must equal.
        member: who opens the partitions ("hand" only).
        begins_ms: when that one begins to read; None: at once ("hand" only).
    """

    what: Literal["halt", "wait", "hand"]
    partitions: Collection[int]
    at_ms: float
    same: tuple[Any, ...]
    member: int = -1
    begins_ms: float | None = None


if TYPE_CHECKING:
    Call = Told | tuple[str, tuple[object, ...]]
    """A call of `Phases`: one that can be made together with others, or a method and its arguments."""


class _Together(NamedTuple):
    """Such calls as one: the columns have an element for each partition.

    Attributes:
        turn: the place of its call among those that were told.
        place: its place among the partitions of that call, by number.
    """

    what: str
    partitions: NDArray[np.int32]
    at_ms: NDArray[np.float64]
    same: tuple[Any, ...]
    member: NDArray[np.int32]
    begins_ms: NDArray[np.float64]
    turn: NDArray[np.intp]
    place: NDArray[np.intp]


def do_all(log: Sequence[Call], phases: Phases, flow: Flow | None) -> None:
    """Make these calls, of which `phases` tells `flow`."""
    for together, calls in groupby(log, lambda call: isinstance(call, Told)):
        if together:
            _do_together(cast("list[Told]", [*calls]), phases, flow)
        else:
            for name, arguments in cast("Iterator[tuple[str, tuple[object, ...]]]", calls):
                getattr(phases, name)(*arguments)


def _do_together(told: Sequence[Told], phases: Phases, flow: Flow | None) -> None:
    with nullcontext() if flow is None else flow.out_of_turn() as turns:
        for each in _merged(told):
            if turns is not None:
                turns[each.partitions] = each.turn
            if each.what == "halt":
                phases.halt(each.partitions, each.at_ms, *each.same)
            elif each.what == "wait":
                phases.wait(each.partitions, each.at_ms, *each.same)
            else:
                (at_once,) = each.same
                begins_ms = None if at_once else each.begins_ms
                phases.hand(each.partitions, each.at_ms, each.member, each.place, begins_ms)


def _merged(told: Sequence[Told]) -> Iterator[_Together]:
    """Fewer calls that do the same, if made in this order."""
    sizes = np.array([len(each.partitions) for each in told])
    turn = np.repeat(np.arange(len(told)), sizes)
    partitions = np.fromiter(chain.from_iterable(each.partitions for each in told), np.int32, len(turn))
    partitions, place = partitions[np.lexsort((partitions, turn))], ranks(turn)
    at_ms = np.array([each.at_ms for each in told])
    member = np.array([each.member for each in told], np.int32)
    begins_ms = np.array([each.begins_ms for each in told], np.float64)
    numbers: dict[tuple[object, ...], int] = {}
    kind = np.array([numbers.setdefault((each.what, each.same), len(numbers)) for each in told])
    step = _occurrence(partitions) * len(numbers) + kind[turn]
    order = step.argsort(kind="stable")
    for rows in np.split(order, run_starts(step[order])[1:]):
        turns = turn[rows]
        first = told[turns[0]]
        yield _Together(
            first.what,
            partitions[rows],
            at_ms[turns],
            first.same,
            member[turns],
            begins_ms[turns],
            turns,
            place[rows],
        )


def _occurrence(column: NDArray[np.int32]) -> NDArray[np.intp]:
    """How often each value has occurred before."""
    order = column.argsort(kind="stable")
    occurrence = np.empty(len(column), np.intp)
    occurrence[order] = ranks(column[order])
    return occurrence
