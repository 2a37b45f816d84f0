"""What `__consumer_offsets` says of a group, from the records that `tools.oracle.offsets_topic` recorded."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from copartition.why.offsets_topic import Written, topic_history
from copartition.why.rebalances import Cause, GroupHistory
from partitioning.errors import ProtocolError

GOLDEN = Path(__file__).parents[2] / "golden" / "offsets_topic"
PROTOCOLS = ("classic", "consumer")


def recorded(protocol: str) -> tuple[str, str, list[Written]]:
    """The group, its topic, and the records of its partition."""
    document = json.loads((GOLDEN / f"{protocol}.json").read_text(encoding="utf-8"))
    rows = [
        Written(*place, *(None if text is None else base64.b64decode(text) for text in texts))
        for *place, key, value in document["records"]
        for texts in [(key, value)]
    ]
    return document["group"], document["topic"], rows


def changes(history: GroupHistory) -> list[tuple[Cause, str | None, tuple[str, ...]]]:
    """The generations in which somebody came or went."""
    return [(each.cause, each.member, each.names) for each in history.rebalances if each.member]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_generation_has_its_members(protocol: str) -> None:
    group, _, records = recorded(protocol)
    history = topic_history(group, records)
    assert history.protocol == protocol
    assert len(history.rebalances) == 4
    assert changes(history) == [
        (Cause.JOINED, "c0", ("c0",)),
        (Cause.JOINED, "c1", ("c0", "c1")),
        (Cause.GONE, "c1", ("c0",)),
        (Cause.GONE, "c0", ()),
    ]


def test_a_classic_generation_has_a_leader_and_an_assignor() -> None:
    group, _, records = recorded("classic")
    shown = [
        (each.generation, each.leader, each.assignor) for each in topic_history(group, records).rebalances
    ]
    assert [each for each in shown if each[1]] == [(number, "c0", "range") for number in (1, 2, 3)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_commits_are_counted_with_steps_back(protocol: str) -> None:
    group, topic, records = recorded(protocol)
    assert [each.what for each in topic_history(group, records).others] == [
        f"{topic}-1: 3 commits, first 3, last 4, largest step 7, 1 backward, 0 deleted"
    ]


def test_a_deleted_offset_ends_its_steps() -> None:
    group, topic, records = recorded("classic")
    commit = records[-1]
    [brief] = topic_history(group, [commit, commit._replace(value=None), commit]).others
    assert brief.what == f"{topic}-1: 2 commits, first 4, last 4, 0 backward, 1 deleted"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_joined_before_what_compaction_removed_is_unknown(protocol: str) -> None:
    group, _, records = recorded(protocol)
    written = [each for each in records if each.key[:2] in {b"\0\2", b"\0\3"} and group.encode() in each.key]
    history = topic_history(group, [each for each in records if each not in written[:-3] and each.offset])
    assert history.rebalances[0].names == ("c0", "c1")
    assert (history.rebalances[0].cause, history.rebalances[0].member) == (Cause.UNKNOWN, None)


def test_a_group_whose_name_begins_alike_is_another_one() -> None:
    group, _, records = recorded("classic")
    history = topic_history(group[:-1], records)
    assert (history.rebalances, history.others) == ((), ())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_record_that_is_cut_is_a_typed_error(protocol: str) -> None:
    group, _, records = recorded(protocol)
    values = [
        each for each in records if each.value and group.encode() in each.key and each.key[1] in {1, 2, 3, 5}
    ]
    assert values
    for each in values:
        with pytest.raises(ProtocolError):
            topic_history(group, [each._replace(value=(each.value or b"")[:3])])


def test_a_version_that_is_not_read_is_a_typed_error() -> None:
    group, _, records = recorded("classic")
    [first, *_] = [
        each for each in records if each.key[:2] == b"\0\2" and group.encode() in each.key and each.value
    ]
    with pytest.raises(ProtocolError, match="has version 4; up to 3 are read"):
        topic_history(group, [first._replace(value=b"\0\4" + (first.value or b"")[2:])])
