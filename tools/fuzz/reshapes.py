"""Plans to reshape a topic, and groups at its switch: any names, settings, commits and transactions.

What a cluster says of a topic and of its groups is other people's text and numbers. Every form of a report
must hold it whole, and nothing that is unseen on a terminal.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any

from copartition.kit.grid import VisibleConsole
from copartition.reshape.observed import OFFSETS_TOPIC, ObservedTopic, OpenTransaction, ReadingGroup
from copartition.reshape.plan import plan_reshape
from copartition.reshape.report import plan_json, plan_markdown, print_plan
from copartition.reshape.report_steps import print_switch, switch_json
from copartition.reshape.switch import GroupSwitch
from tests.copartition.check.invented import Topic
from tests.copartition.reshape.invented import KEYS, group, observed
from tools.fuzz.clusters import NAMES, unseen

if TYPE_CHECKING:
    from random import Random

SETTINGS = {
    "cleanup.policy": ["delete", "compact", "compact,delete", "delete,compact", ""],
    "retention.ms": ["604800000", "-1", "0", "5000", str(2**63 - 1)],
    "message.timestamp.type": ["CreateTime", "LogAppendTime"],
    "min.insync.replicas": ["1", "2", "2147483647"],
}
"""Values that a broker takes: it refuses others, so that no client reads them."""
OFFSETS = [0, 1, 7, 2**31, 2**63 - 1]
PROFILES = [None, "java", "librdkafka", "kafka-go-crc32", "none of these", ""]


@cache
def _topic(count: int) -> ObservedTopic:
    """A topic of so many partitions, with 400 records: its audit is made once."""
    return observed(Topic("orders", (("java", count, KEYS[:200] * 2),), count))


def _group(rng: Random) -> ReadingGroup:
    name, topics = rng.choice(NAMES), ("orders", rng.choice(NAMES))[: rng.randint(1, 2)]
    commits = {place: rng.choice(OFFSETS) for place in range(rng.choice((0, 3, 12)))}
    lag = rng.choice((None, 0, *OFFSETS))
    if rng.random() < 0.3:
        return ReadingGroup(name, rng.choice(("share", "streams")), None, commits, lag)
    shown = group(
        "billing",
        lag=lag,
        kind=rng.choice(("classic", "consumer")),
        running=rng.random() < 0.05,
        strategy=rng.choice(("range", "sticky", "stream", "uniform", "", rng.choice(NAMES))),
        topics=topics,
    )
    return shown._replace(name=name, commits=commits)


def _transaction(rng: Random) -> OpenTransaction:
    topics = rng.sample(["orders", OFFSETS_TOPIC, *NAMES], rng.randint(0, 3))
    return OpenTransaction(rng.choice(NAMES), tuple(sorted(topics)), tuple(range(rng.randrange(3))))


def _switch(rng: Random) -> GroupSwitch:
    def offsets() -> dict[int, int]:
        return {place: rng.choice(OFFSETS) for place in range(rng.randrange(4))}

    return GroupSwitch(
        rng.choice(NAMES), rng.choice((0, 1, 7)), offsets(), offsets(), offsets(), *rng.choices(OFFSETS, k=2)
    )


def make_reshapes(rng: Random) -> dict[str, Any]:
    """A topic's changed parts, what is asked of it, and groups at the switch."""
    names = ["orders", "orders", *NAMES]
    return {
        "count": rng.choice((1, 2, 12)),
        "changes": {
            "name": rng.choice(names),
            "settings": {name: rng.choice(values) for name, values in SETTINGS.items() if rng.random() < 0.7},
            "own_settings": tuple(sorted(rng.sample(NAMES, rng.randrange(3)))),
            "written_per_s": rng.choice((0.0, 1e-9, 100.0, 1e9)),
            "looked_s": rng.choice((0.0, 2.0)),
            "transactions": tuple(_transaction(rng) for _ in range(rng.randrange(3))),
            "groups": tuple(_group(rng) for _ in range(rng.randrange(3))),
            "others": {name: rng.choice((1, 12, 2**31 - 1)) for name in rng.sample(NAMES, rng.randrange(3))},
            "target_partitions": rng.choice((None, None, 1, 48)),
        },
        "target": rng.choice(["orders.p48", *NAMES]),
        "partitions": rng.choice((1, 2, 12, 48, 1000)),
        "profile": rng.choice(PROFILES),
        "copy_rate": rng.choice((None, 1e-9, 1.0, 1e12)),
        "switch": [_switch(rng) for _ in range(rng.randrange(3))],
    }


def check_reshapes(case: dict[str, Any]) -> None:
    """A plan's text, Markdown and JSON, and those of a switch."""
    groups, target = case["switch"], case["target"]
    written = [group.name for group in groups[:1]]
    assert [group["group"] for group in json.loads(switch_json(groups, target, written))["groups"]] == [
        group.name for group in groups
    ]
    console = VisibleConsole(file=StringIO(), width=120)
    print_switch(groups, target, written, console)
    plan = plan_reshape(
        replace(_topic(case["count"]), **case["changes"]),
        target,
        case["partitions"],
        profile=case["profile"],
        copy_rate=case["copy_rate"],
    )
    document = plan_json(plan)
    assert document.isascii()
    json.loads(document, parse_constant=_no_number)
    print_plan(plan, console)
    assert not unseen(console.file.getvalue())  # type: ignore[attr-defined]
    assert not unseen(plan_markdown(plan))


def _no_number(name: str) -> float:
    raise AssertionError(f"{name} is no number in JSON")


TARGETS = {"reshapes": (make_reshapes, check_reshapes)}
