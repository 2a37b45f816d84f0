"""The twenty cells: ten kinds of groups, each with a deploy that teaches and another one that judges."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from benchmarks.consumers.clients import JAVA, KAFKA_PYTHON, LIBRDKAFKA, Client
from benchmarks.rebalances.cell import Cell
from benchmarks.rebalances.scenarios import Scenario, Step, form_group, quiet

TAIL_S = 20
"""How long a run goes on after its last step."""


class Deploy(NamedTuple):
    """What is done to a group.

    Attributes:
        kind: "rolling" or "surge".
        members: how many are replaced, one after the other.
        partitions: of the topic.
        every_s: from one replacement to the next.
        apart_s: how long a restarted member is away; in a surge, how long a new one runs beside the old one.
    """

    kind: str
    members: int
    partitions: int
    every_s: float
    apart_s: float

    def steps(self, begins: float) -> list[Step]:
        """What is done when: a group forms, and is deployed from second `begins` on."""
        steps = form_group(self.members)
        for number in range(self.members):
            at = begins + self.every_s * number
            old = Step(at, "close", f"c{number}")
            if self.kind == "surge":
                new = Step(at, "start", f"c{number + self.members}")
                old = Step(at + self.apart_s, "close", old.consumer)
            else:
                new = Step(at + self.apart_s, "start", old.consumer)
            steps += [old, new]
        return steps

    @property
    def words(self) -> str:
        """The deploy in a word and the size of its group."""
        return f"{self.kind}, {self.members} members, {self.partitions} partitions"


TEACHES = Deploy("rolling", 4, 12, 16.7, 7.3)
"""Each restart is two rebalances, as a member is away for longer than a rebalance lasts."""
JUDGES = {
    "larger": Deploy("rolling", 5, 20, 13.3, 2),
    "smaller": Deploy("rolling", 3, 12, 17.3, 5),
    "surge": Deploy("surge", 4, 12, 15.7, 7.9),
}
"""Another day: a group of another size, whose members are away for another time, or another deploy."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Groups whose members take as long.

    Attributes:
        client: which client the consumers are.
        protocol: eager, cooperative or kip848.
        revoke_ms: the time of the revoke callback.
        batch_ms: the time that the application works on what a `poll` gave.
        judge: which of `JUDGES` is done to the other group.
    """

    client: Client
    protocol: str
    revoke_ms: int
    batch_ms: int
    judge: str

    @property
    def name(self) -> str:
        """The kind in words that are part of a group's name."""
        return f"{self.client.name}-{self.protocol}-{self.revoke_ms}-{self.batch_ms}"

    def deploy(self, role: str) -> Deploy:
        """What is done to its group that "teaches" or "judges"."""
        return TEACHES if role == "teaches" else JUDGES[self.judge]

    def cell(self, role: str) -> Cell:
        """The run of its group that "teaches" or "judges"."""
        name, deploy = f"{self.name}-{role}", self.deploy(role)
        begins = quiet(Random(name))
        steps = deploy.steps(begins)
        scenario = Scenario(
            steps,
            begins,
            steps[-1].at + TAIL_S,
            client=self.client,
            work={"revoke": self.revoke_ms / 1000, "batch": self.batch_ms / 1000},
            partitions=deploy.partitions,
        )
        return Cell(name, self.protocol, scenario)


ROLES = ("teaches", "judges")

KINDS = {
    kind.name: kind
    for kind in (
        Kind(LIBRDKAFKA, "eager", 500, 0, "larger"),
        Kind(LIBRDKAFKA, "eager", 1_500, 100, "surge"),
        Kind(LIBRDKAFKA, "eager", 0, 400, "smaller"),
        Kind(JAVA, "eager", 800, 50, "surge"),
        Kind(KAFKA_PYTHON, "eager", 600, 50, "larger"),
        Kind(LIBRDKAFKA, "cooperative", 1_000, 0, "larger"),
        Kind(JAVA, "cooperative", 1_200, 200, "smaller"),
        Kind(KAFKA_PYTHON, "cooperative", 700, 50, "surge"),
        Kind(LIBRDKAFKA, "kip848", 800, 50, "larger"),
        Kind(JAVA, "kip848", 400, 200, "surge"),
    )
}
"""The kinds by name, in the order of the page."""
