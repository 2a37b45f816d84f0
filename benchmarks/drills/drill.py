"""What a drill is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tests.support.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.drills.judging import Facts, Rule
    from benchmarks.drills.stage import Stage


class Outcome(NamedTuple):
    """What came after the answers.

    Attributes:
        done: what was done, a clause in the past tense.
        became: what the members and the broker did then, a clause in the past tense.
        facts: what the rules look at, by name; a name reads as a clause.
    """

    done: str
    became: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Drill:
    """A state of a group, questions about it, and what has to be true of the answers.

    Attributes:
        name: the drill's name, which is a command line's `--only`.
        state: what the group is like when it is asked about, a clause.
        walk: build the state, ask, do what was said, and look.
        rules: what has to be true of the answers, see `benchmarks.drills.judging`.
        settings: of the broker, besides those of tests.
        java_options: of the broker's JVM.
        cluster: the kind of broker.
        stops_broker: whether the walk stops it.
    """

    name: str
    state: str
    walk: Callable[[Stage], Outcome]
    rules: tuple[Rule, ...]
    settings: str = ""
    java_options: tuple[str, ...] = ()
    cluster: type[Broker] = Broker
    stops_broker: bool = False

    @property
    def alone(self) -> bool:
        """Whether it needs a broker of its own; the others share one, which starts once."""
        return bool(self.settings or self.java_options or self.stops_broker) or self.cluster is not Broker
