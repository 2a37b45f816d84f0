"""What brokers of Kafka 4.x log of share, Streams and consumer groups, and of groups that change their kind.

The lines are those of GroupMetadataManager in kafka-group-coordinator 4.3.1 and 4.4.0.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from copartition.shell.main import copartition

if TYPE_CHECKING:
    from pathlib import Path

M1, M2 = "aAbBcCdDeEfFgGhHiIjJkK", "lLmMnNoOpPqQrRsStTuUvV"
APP, APP2 = f"[GroupId app][MemberId {M1}]", f"[GroupId app][MemberId {M2}]"
HASH = "with metadata hash 7 and validated topic epoch 0."
HASH8 = "with metadata hash 8 and validated topic epoch 0."
SHARE = [
    f"[GroupId s] Member {M1} joins the share group using the share protocol.",
    "[GroupId s] Bumped group epoch to 1 with metadata hash 5.",
    "[GroupId s] Computed a new target assignment for epoch 1 with 'simple' assignor in 1ms: {}.",
    f"[GroupId s] Member {M1} new assignment state: epoch=1, previousEpoch=0, state=STABLE.",
    f"[GroupId s] Member {M2} joins the share group using the share protocol.",
    "[GroupId s] Bumped group epoch to 2 with metadata hash 5.",
    "[GroupId s] Computed a new target assignment for epoch 2 with 'simple' assignor in 1ms: {}.",
    f"[GroupId s] Member {M2} fenced from the group because the member session expired.",
    "[GroupId s] Bumped group epoch to 3 with metadata hash 5.",
    f"[GroupId s] Member {M1} left the share group.",
    "[GroupId s] Bumped group epoch to 4 with metadata hash 5.",
]
STREAMS = [
    f"{APP} Member joins the streams group.",
    f"{APP} Member initialized the topology with epoch 0",
    f"{APP} Bumped streams group epoch to 1 {HASH}",
    "[GroupId app] Computed a new target assignment for epoch 1 with 'sticky' assignor in 2ms.",
    f"{APP2} Member joins the streams group.",
    f"{APP2} Member joined with stale topology epoch 0",
    f"{APP2} Bumped streams group epoch to 2 {HASH}",
    "[GroupId app] Computed a new target assignment for epoch 2 with 'sticky' assignor in 2ms.",
    f"{APP} Assignment configurations changed to {{num.standby.replicas=1}}. Triggering rebalance.",
    f"{APP} Bumped streams group epoch to 3 {HASH}",
    f"{APP} Bumped streams group epoch to 4 {HASH8}",
    f"[GroupId app] Streams member {M2} fenced from the group because the member session expired.",
    f"{APP} Bumped streams group epoch to 5 {HASH8}",
]
BEGINS = "Preparing to rebalance group g in state PreparingRebalance with old generation"
CLASSIC = [
    f"{BEGINS} 6 (reason: Adding new member c-1).",
    "Stabilized group g generation 7 with 2 members.",
    "Assignment received from leader c-1 for group g for generation 7.",
]
CONSUMER = [
    "[GroupId g] Converted the classic group to a consumer group.",
    f"[GroupId g] Member {M1} joins the consumer group using the consumer protocol.",
    "[GroupId g] Bumped group epoch to 8 with metadata hash 1.",
    "[GroupId g] Computed a new target assignment for epoch 8 with 'uniform' assignor in 1ms.",
]
DOWNGRADE = [
    f"[GroupId g] Member {M1} left the consumer group.",
    f"{BEGINS} 8 (reason: Downgrade group g from consumer to classic for member leaving.).",
    "[GroupId g] Converted the consumer group to a classic group.",
    "Stabilized group g generation 9 with 1 members.",
]


def written(path: Path, lines: list[str]) -> str:
    """A broker's log with these lines, a second apart."""
    file = path / "server.log"
    where = "INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=0]"
    file.write_text(
        "".join(f"[2026-11-28 10:00:{at:02},000] {where} {line}\n" for at, line in enumerate(lines))
    )
    return str(file)


def answer(path: Path, lines: list[str]) -> dict[str, Any]:
    """The group of a log in JSON."""
    result = CliRunner().invoke(copartition, ["why", written(path, lines), "-o", "json"])
    assert result.exit_code == 1, result.output
    document = json.loads(result.stdout)
    assert document["unread"] is None
    (group,) = document["groups"]
    return dict(group)


def causes(group: dict[str, Any]) -> list[tuple[int, str, str | None]]:
    return [(shown["generation"], shown["cause"], shown["member"]) for shown in group["rebalances"]]


def test_a_share_group_is_told_in_its_own_terms(tmp_path: Path) -> None:
    group = answer(tmp_path, SHARE)
    assert group["protocol"] == "share"
    assert causes(group) == [
        (1, "joined", M1),
        (2, "joined", M2),
        (3, "session expired", M2),
        (4, "left", M1),
    ]
    text = CliRunner().invoke(copartition, ["why", written(tmp_path, SHARE)]).stdout
    assert text.startswith("s: 4 new assignments in 9.0 s")
    assert "share group (KIP-932)" in text
    assert "many readers by design" in text
    assert "group.share.session.timeout.ms" in text
    assert "group.instance.id" not in text


def test_words_that_share_and_consumer_groups_have_in_common_are_told_by_the_others(tmp_path: Path) -> None:
    assert answer(tmp_path, SHARE[1:4] + SHARE[9:])["protocol"] == "share"
    assert answer(tmp_path, SHARE[1:4])["protocol"] == "consumer"


def test_a_streams_group_is_told_in_its_own_terms(tmp_path: Path) -> None:
    group = answer(tmp_path, STREAMS)
    assert group["protocol"] == "streams"
    assert causes(group) == [
        (1, "joined", M1),
        (2, "joined", M2),
        (3, "assignment settings changed", M1),
        (4, "topics changed", None),
        (5, "session expired", M2),
    ]
    assert [(other["what"], other["member"]) for other in group["others"] if other["finding"]] == [
        ("has an older topology than its Streams group", M2)
    ]
    text = CliRunner().invoke(copartition, ["why", written(tmp_path, STREAMS)]).stdout
    assert "Streams group (KIP-1071)" in text
    assert "assigns tasks" in text


def test_a_group_that_was_classic_first_keeps_its_epochs(tmp_path: Path) -> None:
    group = answer(tmp_path, CLASSIC + CONSUMER)
    assert group["protocol"] == "consumer"
    assert causes(group) == [(7, "joined", "c-1"), (8, "joined", M1)]


def test_a_downgrade_is_nobodys_fault(tmp_path: Path) -> None:
    group = answer(tmp_path, CONSUMER + DOWNGRADE)
    assert group["protocol"] == "classic"
    assert causes(group) == [(8, "joined", M1), (9, "assignors or protocol changed", None)]


def test_a_share_consumer_that_polls_late_is_told_in_its_own_terms(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    prefix = "2026-11-28T10:00:00.000Z WARN [ShareConsumer clientId=s-1, groupId=sg]"
    file.write_text(f"{prefix} Consumer poll timeout has expired. This means the time between polls\n")
    text = CliRunner().invoke(copartition, ["why", str(file)]).stdout
    assert text.startswith("sg: 1 new assignment, because s-1 polled too late")
    assert "a member that is stuck stays in the group as long" in text
    assert "a rebalance waits" not in text
