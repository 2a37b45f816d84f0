"""The JVM's answers, as committed under `tests/golden/assignors`; the format is in its README."""

from __future__ import annotations

import json
import lzma
import uuid
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignors.group import Group, Member, Topic
from partitioning.topic_partition import TopicPartition
from tests.support.tiers import tier

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

GOLDEN = Path(__file__).parents[1] / "golden" / "assignors"
ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "broker-range")


def golden_files(folder: str = "") -> list[str]:
    """Names of the golden files, such as "sticky/quirks"."""
    paths = (GOLDEN / folder).rglob("*.jsonl.xz")
    return sorted(path.relative_to(GOLDEN).as_posix().removesuffix(".jsonl.xz") for path in paths)


def golden_lines(name: str, every: int = 1, folder: Path = GOLDEN) -> Iterator[Json]:
    """The lines of one golden file: in `quick` the first of each `every`, in `test` five times as many.

    All of them in CI.
    """
    path = folder / f"{name}.jsonl.xz"
    for line in _text_lines(path, {"quick": every, "test": max(1, every // 5), "ci": 1}[tier()]):
        yield json.loads(line)


@cache
def _text_lines(path: Path, every: int) -> list[str]:
    """The first of each `every` lines, as text that no test can change: several tests ask for the same."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return list(islice(lines, 0, None, every))


def recorded(assignor: str, every: int = 80, every_quirk: int = 1) -> Iterator[Json]:
    """Recorded groups of an assignor: `quirks`, then of each other family the first of each `every`.

    The quirks come first because their names say what a mistake breaks. All come, unless the quick tier
    is to take the first of each `every_quirk`.
    """
    quirks = f"{assignor}/quirks"
    yield from golden_lines(quirks, every_quirk)
    for name in golden_files(assignor):
        if name != quirks:
            yield from golden_lines(name, every)


def partitions_of(runs: list[list[Any]]) -> list[TopicPartition]:
    """An ordered list of partitions from its runs: a topic name followed by partition numbers."""
    return [TopicPartition(topic, number) for topic, *numbers in runs for number in numbers]


def group_of(step: Json) -> Group:
    """The group of one step."""
    return Group([_topic(about) for about in step["topics"]], [_member(about) for about in step["members"]])


def lists_of(step: Json) -> dict[str, list[TopicPartition]]:
    """What the JVM gave each member; a member that its map lacks got nothing."""
    lists: dict[str, list[TopicPartition]] = {about["id"]: [] for about in step["members"]}
    lists.update((member, partitions_of(runs)) for member, runs in step["assignment"])
    return lists


def _topic(about: Json) -> Topic:
    return Topic(
        about["name"],
        about["partitions"],
        about.get("racks"),
        uuid.UUID(about["id"]) if "id" in about else None,
    )


def _member(about: Json) -> Member:
    return Member(
        about["id"],
        about["topics"],
        instance_id=about.get("instance_id"),
        rack=about.get("rack"),
        owned=partitions_of(about.get("owned", [])),
        generation=about.get("generation"),
        user_data=bytes.fromhex(about["user_data"]) if "user_data" in about else None,
    )
