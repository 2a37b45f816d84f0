"""Requests to a group coordinator, one after the other, as the members of a random group might send them.

An epoch or a generation of "known" stands for the one the member was answered last, and `owned` of "given"
for the partitions it was given last; whoever replays the requests fills them in from the answers.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from tools.oracle.assignors.worlds import Json, topic

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSION_MS = 45_000
PAUSES_MS = (0, 1, 3, 40, 300, 999, 1_000, 2_500, 5_000, 5_000, 11_000)
LONG_MS = (20_000, 46_000)
STATIC = (("i", ["a"]), ("j", ["a", "b"]), ("k", ["a", "b"]), ("l", ["a", "ab", "b"]))
FAMILIES = {"members": 150, "static": 100, "patterns": 80, "migration": 150}


def heartbeats(family: str, seed: str = "", count: int | None = None) -> Iterator[Json]:
    """The scenarios of one family: name, settings of the broker, and steps."""
    for number in range(FAMILIES[family] if count is None else count):
        rng = Random(f"{family} {seed}{number}")
        settings = {
            "group.consumer.assignment.interval.ms": str(rng.choice((0, 1_000, 1_000))),
            "group.initial.rebalance.delay.ms": "0",
        }
        yield {"name": f"{family} {number}", "settings": settings, "steps": _Life(rng, family).steps()}


class _Life:
    """One group's life; it keeps what the members would know, not what the coordinator decides."""

    def __init__(self, rng: Random, family: str) -> None:
        self._rng = rng
        self._family = family
        self._at = 1
        self._steps: list[Json] = []
        self._topics = {name: rng.randint(1, 6) for name in ("a", "ab", "b")[: rng.randint(1, 3)]}
        self._members: dict[str, Json] = {}
        self._ever = 0
        self._assignor = rng.choice(({}, {"assignor": "range"}))
        self._protocol = rng.choice(("range", "cooperative-sticky"))
        self._pattern = rng.choice(("a.*", "b.*", ".*"))

    def steps(self) -> list[Json]:
        rng = self._rng
        self._tell_topics()
        for _ in range(rng.randint(10, 60)):
            pause = rng.choice(LONG_MS) if rng.random() < 0.02 else rng.choice(PAUSES_MS)
            self._at += pause
            chance = rng.random()
            if not self._members or (chance < 0.12 and len(self._members) < 5):
                self._join()
            elif chance < (0.3 if self._family == "static" else 0.18):
                self._leave(rng.choice(list(self._members)))
            elif chance < 0.33 and rng.random() < 0.3:
                self._change_topics()
            else:
                self._speak(rng.choice(list(self._members)))
        return self._steps

    def _add(self, op: str, **more: Any) -> None:
        self._steps.append({"at": self._at, "op": op, **more})

    def _tell_topics(self) -> None:
        self._add("topics", topics=[topic(name, partitions) for name, partitions in self._topics.items()])

    def _change_topics(self) -> None:
        name = self._rng.choice(("a", "ab", "b", "bc"))
        self._topics[name] = self._topics.get(name, 0) + self._rng.randint(1, 3)
        self._tell_topics()

    def _join(self) -> None:
        rng = self._rng
        self._ever += 1
        about: Json = {"rebalance_timeout": rng.choice((12_000, 300_000))}
        if self._family == "migration" and self._members and rng.random() < 0.6:
            about["classic"] = self._protocol
            about["topics"] = rng.choice((["a"], ["a", "b"]))
        elif self._family == "patterns":
            about["regex"] = self._pattern
        else:
            about["topics"] = rng.choice((["a"], ["a", "b"], ["a", "ab", "b"]))
        if self._family == "static" and rng.random() < 0.8:
            about["instance"], about["topics"] = rng.choice(STATIC)
        member = f"m{self._ever}"
        self._members[member] = about
        self._come(member)

    def _come(self, member: str) -> None:
        about = self._members[member]
        if "classic" in about:
            self._join_classic(member, [])
        else:
            self._add("heartbeat", member=member, epoch=0, owned=[], **self._assignor, **about)

    def _join_classic(self, member: str, owned: list[Any] | str) -> None:
        about = dict(self._members[member])
        protocol = about.pop("classic")
        self._add(
            "join", member=member, protocols=[protocol], owned=owned, session_timeout=SESSION_MS, **about
        )

    def _leave(self, member: str) -> None:
        about = self._members[member]
        instance = {"instance": about["instance"]} if "instance" in about else {}
        if "classic" in about:
            self._add("leave", member=member)
        else:
            epoch = -2 if instance and self._rng.random() < 0.8 else -1
            self._add("heartbeat", member=member, epoch=epoch, **instance)
        del self._members[member]

    def _speak(self, member: str) -> None:
        rng = self._rng
        about = self._members[member]
        instance = {"instance": about["instance"]} if "instance" in about else {}
        chance = rng.random()
        if "classic" in about:
            if chance < 0.4:
                self._add("beat", member=member, generation="known")
            elif chance < 0.75:
                self._join_classic(member, "given" if about["classic"] == "cooperative-sticky" else [])
            else:
                self._add("sync", member=member, generation="known")
        elif chance < 0.45:
            self._add("heartbeat", member=member, epoch="known", **instance)
        elif chance < 0.9:
            self._add("heartbeat", member=member, epoch="known", owned="given", **instance)
        elif chance < 0.93:
            self._add("heartbeat", member=member, epoch="before", owned=[], **instance)
        else:
            self._come(member)
