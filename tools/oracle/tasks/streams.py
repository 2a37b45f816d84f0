"""Lives of Kafka Streams applications: instances come and go, and their state stays on disk, or runs late."""

from __future__ import annotations

import copy
import uuid
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.support.oracle import Oracle

Json = dict[str, Any]
Task = tuple[str, int]

_RUNNING, _UNKNOWN = -2, -3


def application_answers(oracle: Oracle, seed: object, count: int, kind: str = "") -> Iterator[Json]:
    """Lives with the answers of the leader's assignor: a step goes on from the answer before, or almost.

    With "twice" second threads report some tasks of their process too, and something else of them; with
    "racks" brokers and processes have racks, and tasks are to be near their partitions.
    """
    for number in range(count):
        life = _Life(Random(f"application/{seed}/{number}"), kind)
        yield {"name": f"life-{seed}-{number}", "settings": life.settings, "steps": list(life.steps(oracle))}


def classic_sticky_answers(oracle: Oracle, seed: object, count: int, kind: str = "") -> Iterator[Json]:
    """The same of the sticky assignor, which looks at other things; every sixth has its state anywhere."""
    for number in range(count):
        rng = Random(f"classic-sticky/{seed}/{number}")
        if number % 6 == 0 and not kind:
            settings, step = _anywhere(rng)
            steps = [{**step, **oracle.ask("sticky", settings=settings, **step)}]
        else:
            life = _StickyLife(rng, kind)
            not_of_it = {"warmups", "lag", "tags"}
            settings = {name: value for name, value in life.settings.items() if name not in not_of_it}
            steps = list(life.steps(oracle))
        yield {"name": f"life-{seed}-{number}", "settings": settings, "steps": steps}


def _anywhere(rng: Random) -> tuple[Json, Json]:
    """So much state that all of Java's sets count: of processes and tasks some of which share a hash code."""
    count = rng.choice([4, 14, 26, 30])
    sizes = dict(enumerate(rng.choice([[40], [20] * 3, [7] * 13, [20] * 3])))
    kind = rng.random()
    if kind < 0.05:
        # Eleven tasks of each of many hash codes; the JVM takes minutes where too many tasks are together.
        count, sizes = 60, {name: 5 + 31 * (10 - name) for name in range(11)}
    elif kind < 0.4:
        # So many tasks meet in one bin that it is a tree.
        crowd = [name for name in range(5000) if (961 * name + 29_791 ^ 961 * name + 29_791 >> 16) % 64 == 5]
        sizes = dict.fromkeys(sorted({*rng.sample(crowd, 20), *rng.sample(range(5000), 22)}), 1)
    hashes = [rng.getrandbits(64) for _ in range(rng.choice([2, count, count]))]
    halves = [rng.getrandbits(64) for _ in range(count)]
    ids = [half << 64 | half ^ rng.choice(hashes) for half in halves]
    state: dict[int, dict[Task, int]] = {process: {} for process in ids}
    holders = rng.choice([1, 3] if count == 60 else [1, 3, 12, 13, 25])
    for task in ((str(name), number) for name, size in sizes.items() for number in range(size)):
        for process in rng.sample(ids, min(count, rng.randint(holders // 2, holders))):
            state[process][task] = _RUNNING if rng.random() < 0.1 / holders else 5
    step = {
        "subtopologies": [{"id": str(name), "tasks": size, "stateful": True} for name, size in sizes.items()],
        "processes": [
            {
                "id": str(uuid.UUID(int=process)),
                "threads": rng.choice([1, 1, 2]),
                "offsets": _runs(state[process]),
            }
            for process in ids
        ],
        "ranks": _ranks(rng),
    }
    return {"standbys": rng.choice([0, 1, 2])}, step


def _ranks(rng: Random) -> list[int]:
    """A factor that divides no count of tasks, so that each gets another rank, and where they begin."""
    return [rng.choice([1, 7919, 104_729]), rng.randrange(1000)]


def scattered_answers(oracle: Oracle, seeds: Iterable[object]) -> Iterator[Json]:
    """Applications whose state is anywhere, with the answers: in few does the order of Java's heap matter."""
    for seed in seeds:
        rng = Random(f"scattered/{seed}")
        processes = [
            {"id": str(uuid.UUID(int=rng.getrandbits(128))), "threads": rng.choice([1, 3, 5, 7, 16, 30])}
            for _ in range(8)
        ]
        tasks = [("0", number) for number in range(rng.choice([20, 60]))]
        state: dict[str, dict[Task, int]] = {process["id"]: {} for process in processes}
        holders = rng.choice([2, 3, 5])
        for task in tasks:
            for process in rng.sample(processes, holders):
                state[process["id"]][task] = rng.choice([_RUNNING, 10**9 - 5, 10**9 - 5, 7])
        step = {
            "subtopologies": [{"id": "0", "tasks": len(tasks), "stateful": True}],
            "ends": _runs(dict.fromkeys(tasks, 10**9)),
            "processes": [{**process, "offsets": _runs(state[process["id"]])} for process in processes],
        }
        settings = {"standbys": 1, "warmups": rng.choice([1, 2]), "lag": 10_000, "tags": []}
        answer = oracle.ask("streams", settings=settings, **step)
        yield {"name": f"scattered-{seed}", "settings": settings, "steps": [{**step, **answer}]}


class _Life:
    """An application, its instances, and those that are away with their state."""

    op = "streams"

    def __init__(self, rng: Random, kind: str) -> None:
        self._rng = rng
        self._twice, self._has_racks = kind == "twice", kind == "racks"
        most = rng.choice([4, 8, 15] if self._has_racks else [4, 8, 15, 40])
        self._subtopologies = [
            {"id": str(number), "tasks": rng.randrange(most), "stateful": rng.random() < 0.75}
            for number in rng.sample(
                range(13), rng.choice([1, 2, 3, 4] if self._has_racks else [1, 1, 2, 3, 12])
            )
        ]
        self._zones = rng.choice([1, 2, 3])
        tags = rng.choice([[], [], ["zone"], ["zone", "cluster"]])
        self.settings = {
            "standbys": rng.choice([0, 1, 1, 2, 3]) if tags else rng.choice([0, 0, 1, 1, 2, 3]),
            "warmups": rng.choice([1, 2, 2, 5, 1000]),
            "lag": rng.choice([0, 10_000, 10_000, 10_000, 2**63 - 1]),
            "tags": tags,
        }
        if self._has_racks:
            self._add_racks()
        self._same_hash = rng.random() < 0.15
        self._processes: list[Json] = []
        self._away: list[Json] = []
        self._state: dict[str, dict[Task, int]] = {}
        self._ends: dict[Task, int] = {}
        for _ in range(rng.choice([2, 3, 5, 9] if self._has_racks else [1, 2, 3, 5, 9, 20])):
            self.join()

    def _add_racks(self) -> None:
        """Topics with a rack or two a partition; rarely a partition or process without one."""
        rng = self._rng
        self._racks = "abcd"[: rng.choice([2, 3, 3, 4])]
        self._rackless = rng.choice([0, 0, 0, 0, 0, 0, 0, 0, 0.02])
        self.settings["strategy"] = rng.choice(["min_traffic", "balance_subtopology"])
        for cost in ("traffic_cost", "non_overlap_cost"):
            if rng.random() < 0.9:
                self.settings[cost] = rng.choice([0, 1, 1, 2, 10, 10, 100])
        for subtopology in self._subtopologies:
            subtopology["sources"] = [[] for _ in range(rng.choice([1, 1, 2, 3]))]
            subtopology["changelogs"] = (
                rng.choice([[[]], [[]], [[], []], [0], [0, []]]) if subtopology["stateful"] else []
            )
            self._grow_topics(subtopology)

    def _grow_topics(self, subtopology: Json) -> None:
        """The first source topic, and all changelogs, have a partition for each task."""
        rng = self._rng
        for place, topic in enumerate(subtopology["sources"] + subtopology["changelogs"]):
            if isinstance(topic, list) and (place not in range(1, len(subtopology["sources"])) or not topic):
                while len(topic) < subtopology["tasks"]:
                    racks = rng.sample(self._racks, rng.choice([1, 1, 2]))
                    topic.append("" if rng.random() < self._rackless else "".join(sorted(racks)))

    def steps(self, oracle: Oracle) -> Iterator[Json]:
        """Rebalances until something is wrong, some ten at most."""
        for _ in range(self._rng.randint(3, 7)):
            step = self._step()
            answer = oracle.ask(self.op, settings=self.settings, **step)
            yield {**step, **answer}
            if "error" in answer:
                return
            self._restore(answer["assignment"])
            events = ["join", "leave", "back", "scale", "grow", "quiet", "quiet"]
            for event in self._rng.choices(events, [3, 2, 3, 1, 1, 2, 2], k=self._rng.choice([1, 1, 2])):
                getattr(self, event)()

    def join(self) -> None:
        """A new instance, whose directory is empty."""
        half = self._rng.getrandbits(64)
        number = half << 64 | (
            half ^ self._rng.choice([7, 1 << 32]) if self._same_hash else self._rng.getrandbits(64)
        )
        process = {"id": str(uuid.UUID(int=number)), "threads": self._rng.choice([1, 1, 1, 2, 4])}
        if self._rng.random() < 0.95 and (self.settings["tags"] or self._rng.random() < 0.1):
            tags = {"zone": str(self._rng.randrange(self._zones)), "cluster": self._rng.choice("ab")}
            process["tags"] = tags if self._rng.random() < 0.9 else {"zone": tags["zone"], "other": "x"}
        if self._has_racks:
            process["rack"] = self._rng.choice(self._racks)
            if self._rng.random() < self._rackless:
                process["second"] = {"rack": self._rng.choice(["z", None])}
        self._processes.append(process)
        self._state[process["id"]] = {}

    def leave(self) -> None:
        """One goes, and may come back with its state."""
        if len(self._processes) > 1:
            self._away.append(self._processes.pop(self._rng.randrange(len(self._processes))))
            state = self._state[self._away[-1]["id"]]
            for task, offset in state.items():
                state[task] = self._ends.get(task, 0) if offset == _RUNNING else offset

    def back(self) -> None:
        """One that went comes back."""
        if self._away:
            self._processes.append(self._away.pop(self._rng.randrange(len(self._away))))

    def scale(self) -> None:
        """Many come at once."""
        for _ in range(self._rng.choice([2, 5, 10])):
            self.join()

    def grow(self) -> None:
        """Topics get more partitions."""
        for subtopology in self._subtopologies:
            subtopology["tasks"] += self._rng.choice([0, 0, 1])
            if self._has_racks:
                self._grow_topics(subtopology)

    def quiet(self) -> None:
        """Time passes: a probing rebalance."""

    def _step(self) -> Json:
        rng = self._rng
        for subtopology in self._subtopologies:
            for number in range(subtopology["tasks"] if subtopology["stateful"] else 0):
                task = (subtopology["id"], number)
                more = rng.choice([0, 0, 500, 50_000])
                self._ends[task] = self._ends.get(task, rng.choice([0, 5_000, 50_000, 10**12])) + more
        ends = dict(self._ends)
        if ends and rng.random() < 0.005:
            del ends[rng.choice(list(ends))]
        processes = [
            {**process, "offsets": _runs(self._state[process["id"]])}
            if self._state[process["id"]]
            else process
            for process in self._processes
        ]
        if self._twice:
            processes = [
                {**process, "second": self._second_report(process["id"])}
                if process["threads"] > 1
                else process
                for process in processes
            ]
        # Without members the JVM throws, and something else where no task has state.
        nobody = rng.random() < (
            0.005 if any(subtopology["stateful"] for subtopology in self._subtopologies) else 0.05
        )
        return {
            "subtopologies": copy.deepcopy(self._subtopologies),
            "ends": _runs(ends),
            "processes": [] if nobody else processes,
        }

    def _second_report(self, process: str) -> Json:
        """Some tasks of which the first thread reports something too, and tasks that only this one has."""
        rng = self._rng
        everything = [*self._state[process], *rng.sample(sorted(self._ends), min(2, len(self._ends)))]
        some = [task for task in everything if rng.random() < 0.3]
        return {"offsets": _runs({task: rng.choice([_RUNNING, 0, 5, self._ends[task]]) for task in some})}

    def _restore(self, assignment: list[Any]) -> None:
        """What the instances have on disk some time later: of standby tasks they may not have all yet."""
        rng = self._rng
        speed = rng.choice([0.1, 0.5, 0.9, 1])
        for process, active, standby in assignment:
            state = self._state[process]
            given = {
                (name, number): active is runs
                for runs in (active, standby)
                for name, *numbers in runs
                for number in numbers
            }
            for task in sorted(state.keys() - given.keys()):
                if rng.random() < 0.5:
                    del state[task]  # the cleaner was there
                elif state[task] == _RUNNING:
                    state[task] = self._ends.get(task, 0)
            for task, runs_it in given.items():
                end = self._ends.get(task)
                if end is None:
                    continue
                if runs_it and rng.random() < 0.97:
                    state[task] = _RUNNING
                elif rng.random() < speed:
                    state[task] = max(0, end - rng.choice([0, 0, 100, 10_000, 10_001]))
                else:
                    state[task] = rng.choice([0, end // 2, end + 1, _UNKNOWN, rng.randrange(end + 1)])


class _StickyLife(_Life):
    """What runs is reported too where it has no state, and more tasks than Java counts are an error."""

    op = "sticky"

    def __init__(self, rng: Random, kind: str) -> None:
        super().__init__(rng, kind)
        self._active: dict[str, list[list[Any]]] = {}

    def join(self) -> None:
        super().join()
        self._processes[-1].pop("tags", None)

    def leave(self) -> None:
        super().leave()
        for process in self._away:
            self._active.pop(process["id"], None)

    def _step(self) -> Json:
        step = super()._step()
        del step["ends"]
        active = self._active
        step["processes"] = [
            {**process, "active": active[process["id"]]} if active.get(process["id"]) else process
            for process in step["processes"]
        ]
        if self._rng.random() < 0.003:
            many: Json = {"id": "0", "tasks": self._rng.choice([46_342, 65_536]), "stateful": False}
            if self._has_racks:
                many["sources"], many["changelogs"] = [["a"] * many["tasks"]], []
            step |= {"subtopologies": [many], "processes": []}
        return {**step, "ranks": _ranks(self._rng)}

    def _second_report(self, process: str) -> Json:
        """It may also own partitions of tasks that the first thread has state of, or owns too."""
        report = super()._second_report(process)
        some = [[name, *numbers[::2]] for name, *numbers in report["offsets"]]
        return {**report, "active": some} if self._rng.random() < 0.3 else report

    def _restore(self, assignment: list[Any]) -> None:
        super()._restore(assignment)
        self._active = {
            process: active for process, active, _ in assignment if active and self._rng.random() < 0.95
        }


def _runs(offsets: dict[Task, int]) -> list[list[Any]]:
    """By subtopology: its id, then task and offset, task and offset."""
    runs: dict[str, list[Any]] = {}
    for (name, number), offset in sorted(offsets.items(), key=lambda pair: (int(pair[0][0]), pair[0][1])):
        runs.setdefault(name, [name]).extend((number, offset))
    return list(runs.values())
