"""Lives of Connect clusters: workers come, go, restart, miss answers; connectors change; time passes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from tools.oracle.assignors.worlds import ID_STYLES, TOPIC_STYLES

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

ASSIGNORS = ("connect-eager", "connect-incremental")
_EVENTS = (
    ["quiet", "join", "leave", "back", "restart", "create", "delete", "resize", "lead"],
    [5, 3, 2, 2, 1, 1, 1, 1, 0.5],
)
"""What happens between two rebalances, and how often."""


def connect_lives(assignor: str, seed: object, count: int) -> Iterator[Json]:
    """Clusters of one assignor, each decided by its number and the seed alone."""
    for number in range(count):
        rng = Random(f"{assignor}/{seed}/{number}")
        cluster = _Cluster(rng)
        is_growing = rng.random() < 0.15
        max_delay_ms = rng.choice([0, 1, 30, 10_000, 300_000, 300_000])
        pauses_ms = [300_000] if is_growing else [1, 40, 1_600, 5_000, 64_000, max(max_delay_ms, 1), 300_000]
        now_ms, steps = 1_000, []
        for _ in range(rng.randint(6, 14)):
            for event in ["join"] if is_growing else rng.choices(*_EVENTS, k=rng.choice([1, 1, 2])):
                getattr(cluster, event)()
            steps.append({"at": now_ms, **cluster.step(0 if is_growing else 0.12)})
            now_ms += rng.choice(pauses_ms)
        yield {
            "name": f"life-{seed}-{number}",
            "assignor": assignor,
            "max_delay_ms": max_delay_ms,
            "steps": steps,
        }


class _Cluster:
    """Workers and connectors between two rebalances."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._worker = ID_STYLES[rng.choice(["plain", "real", "real", "colliding", "odd", "crowded"])]
        self._connector = TOPIC_STYLES[rng.choice(["plain", "dotted", "colliding", "crowded"])]
        self._connectors: dict[str, int] = {}
        self._workers: list[str] = []
        self._away: list[str] = []
        self._fresh: list[str] = []
        self._joined = self._created = 0
        for _ in range(rng.randint(1, rng.choice([3, 8, 20]))):
            self.create(rng.choice([0, 1, 1, 2, 3, 5, 8, 20]))
        for _ in range(rng.randint(1, rng.choice([3, 6, 12]))):
            self.join()
        self._leader = self._workers[0]

    def step(self, missing: float) -> Json:
        """The next rebalance; with this chance some workers do not get its answer."""
        rng = self._rng
        if self._leader not in self._workers:
            self._leader = self._workers[0]
        made = {"connectors": dict(self._connectors), "members": list(self._workers), "leader": self._leader}
        if self._fresh:
            made["fresh"] = self._fresh
            self._fresh = []
        if rng.random() < missing:
            made["missed"] = rng.sample(self._workers, rng.randint(1, len(self._workers)))
        return made

    def quiet(self) -> None:
        """Nothing."""

    def join(self) -> None:
        self._workers.append(self._worker(self._rng, self._joined))
        self._joined += 1

    def leave(self) -> None:
        if len(self._workers) > 1:
            self._away.append(self._workers.pop(self._rng.randrange(len(self._workers))))

    def back(self) -> None:
        """A worker that left is there again, now and then with all that it ran."""
        if self._away:
            worker = self._away.pop(self._rng.randrange(len(self._away)))
            self._workers.insert(self._rng.randrange(len(self._workers) + 1), worker)
            if self._rng.random() < 0.8:
                self._fresh.append(worker)

    def restart(self) -> None:
        self._fresh.append(self._rng.choice(self._workers))

    def create(self, tasks: int | None = None) -> None:
        self._connectors[self._connector(self._created)] = self._rng.randint(0, 6) if tasks is None else tasks
        self._created += 1

    def delete(self) -> None:
        if self._connectors:
            del self._connectors[self._rng.choice(list(self._connectors))]

    def resize(self) -> None:
        if self._connectors:
            self._connectors[self._rng.choice(list(self._connectors))] = self._rng.randint(0, 9)

    def lead(self) -> None:
        """Another worker leads."""
        self._leader = self._rng.choice(self._workers)
