"""rpk, kafkactl and JSON of other tools; what is no capture is refused early and by its name."""

import gzip
import json
from pathlib import Path

import pytest

from copartition.groups import parse_capture, read_source
from partitioning.errors import SourceError

CAPTURES = Path(__file__).parents[1] / "captures"


def captured(name):
    return (CAPTURES / f"{name}.txt").read_text()


def owners(state):
    """Client id of the owner of each partition."""
    names = [*(member.client_id for member in state.members), None]
    rows = zip(state.topic.tolist(), state.partition.tolist(), state.member.tolist(), strict=True)
    return {f"{state.topics[topic]}-{partition}": names[member] for topic, partition, member in rows}


# The group of captures/make.py, seen by tools that hide its idle member.
ORDERS = {"orders-0": "worker-4", "orders-1": "slow worker", "orders-2": "worker-0", "orders-3": "worker-1"}
CLICKS = {"clicks-0": "worker-4", "clicks-1": "slow worker"}
KAFKACTL = ["kafkactl-text", "kafkactl-yaml", "kafkactl-json"]


def test_rpk_shows_owners_strategy_and_state():
    state, target = parse_capture(captured("rpk"))
    assert target is None
    assert owners(state) == ORDERS | CLICKS
    assert (state.name, state.status, state.strategy) == ("billing", "Stable", "range")
    assert {member.client_id: member.instance_id for member in state.members}["worker-4"] == "pod-4"


def test_rpk_counts_members_so_that_hidden_ones_are_known_to_be_there():
    assert not parse_capture(captured("rpk"))[0].members_complete
    assert parse_capture(captured("rpk").replace("MEMBERS      5", "MEMBERS      4"))[0].members_complete


def test_partitions_nobody_has_are_blank_for_rpk():
    state, _ = parse_capture(captured("rpk-groups"), "empty")
    assert owners(state) == dict.fromkeys(["legacy-0", *(f"orders-{number}" for number in range(4))])
    assert state.members_complete


def test_a_row_of_rpk_without_its_blanks_may_lack_an_owner():
    cut = captured("rpk-groups").replace("                           \n", "\n")
    with pytest.raises(SourceError, match="line 35: the row ends before MEMBER-ID: it is cut off"):
        parse_capture(cut, "empty")


def test_of_several_groups_of_rpk_one_must_be_named():
    with pytest.raises(SourceError, match=r"3 groups \(ahead, billing, empty\); name one with --group"):
        parse_capture(captured("rpk-groups"))


def test_topics_of_a_member_are_in_order_in_kafkactl_text():
    first, a, b, *_ = TEXT.splitlines()
    state, _ = parse_capture("\n".join([first, b, a, ""]))
    assert state.member.tolist() == [0, 1, 1]


@pytest.mark.parametrize("name", KAFKACTL)
def test_kafkactl_shows_owners_in_topics_with_commits(name):
    state, target = parse_capture(captured(name))
    assert target is None
    assert owners(state) == ORDERS | {"legacy-0": None}
    assert not state.members_complete
    assert any(
        "neither members without partitions nor topics without a commit" in note for note in state.warnings
    )


def test_kafkactl_tells_name_state_and_strategy_as_an_object_only():
    known = [parse_capture(captured(name))[0] for name in KAFKACTL]
    assert [(state.name, state.status, state.strategy) for state in known] == [
        (None, None, None),
        ("billing", "Stable", "range"),
        ("billing", "Stable", "range"),
    ]


def test_of_an_empty_group_kafkactl_hides_no_member():
    state, _ = parse_capture(captured("kafkactl-empty-json"))
    assert (state.members, state.members_complete, state.status) == ((), True, "Empty")


def described(members, lag=0):
    topics = [{"Name": "t", "Partitions": [{"Partition": 0, "consumerOffset": 1, "Lag": lag}], "totalLag": 0}]
    return json.dumps(
        {
            "Group": {"Name": "g", "ProtocolType": "consumer", "Topics": None},
            "Protocol": "range",
            "State": "Stable",
            "Topics": topics,
            "Members": [
                {
                    "clientHost": "/h",
                    "clientId": "c",
                    "assignedPartitions": [{"Name": "t", "Partitions": partitions}],
                }
                for partitions in members
            ],
        }
    )


def test_members_that_kafkactl_gives_one_name_are_told_apart_by_what_they_have():
    state, _ = parse_capture(described([[0, 2], [1]]))
    assert [member.id for member in state.members] == ["c@/h with t-0", "c@/h with t-1"]
    assert state.member.tolist() == [0, 0, 1]


def test_a_lag_below_zero_is_noted_from_kafkactl_too():
    state, _ = parse_capture(described([[0]], lag=-7))
    assert state.lag.tolist() == [-7]
    assert any(note.startswith("t-0 has a lag of -7") for note in state.warnings)


TEXT = """CLIENT_HOST     CLIENT_ID     TOPIC     ASSIGNED_PARTITIONS
/h              c             a         0,1
/h              c             b         0
/h              c             a         2

"""


def test_rows_of_one_name_in_kafkactl_text_are_one_member_and_that_is_assumed():
    state, _ = parse_capture(TEXT)
    assert state.member.tolist() == [0, 0, 0, 1]
    assert len(state.assumed) == 1
    assert parse_capture(captured("kafkactl-text"))[0].assumed == ()


UNOWNED = """TOPIC     PARTITION     CONSUMER_OFFSET     LAG
t         0             1                   0
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (described([[4294967301]]), "2147483646 - at"),
        (described([["x"]]), "Expected `int`"),
        (described([[0]])[:-20], "no whole output of kafkactl"),
        (TEXT.replace("0,1", "0, "), "line 2: ASSIGNED_PARTITIONS is '0,', no numbers"),
        (TEXT.replace("0,1", "4294967301"), "line 2: a-4294967301 is above 2147483646"),
        (TEXT.rstrip(), "ends within ASSIGNED_PARTITIONS"),
        (UNOWNED, "no members"),
    ],
)
def test_what_kafkactl_cannot_have_printed_is_refused(text, fault):
    with pytest.raises(SourceError, match=fault):
        parse_capture(text)


REASSIGNMENT = (
    '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},'
    '{"topic":"t","partition":1,"replicas":[2,1],"log_dirs":["any","any"]}]}'
)


@pytest.mark.parametrize(
    "text",
    [
        REASSIGNMENT,
        f"Current partition replica assignment\n{REASSIGNMENT}\n\nProposed partition\n{REASSIGNMENT}",
    ],
)
@pytest.mark.parametrize("suffix", ["json", "txt"])
def test_a_reassignment_is_named_and_what_it_tells(tmp_path, text, suffix):
    path = tmp_path / f"plan.{suffix}"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"kafka-reassign-partitions.* brokers .*--grow t=2"):
        read_source(str(path))


@pytest.mark.parametrize(("name", "suffix"), [("kafkactl-json", "json"), ("kafkactl-yaml", "yaml")])
def test_kafkactl_is_no_scenario_whatever_the_file_is_called(tmp_path, name, suffix):
    path = tmp_path / f"group.{suffix}"
    path.write_text(captured(name))
    assert read_source(str(path)).state.name == "billing"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_capture_is_read_in_any_width_and_with_any_line_ends(tmp_path, encoding):
    path = tmp_path / "group.txt"
    path.write_bytes(captured("offsets-4.3.1").replace("\n", "\r\n").encode(encoding))
    state = read_source(str(path)).state
    assert owners(state) == ORDERS | CLICKS | {"legacy-0": None}


class Endless:
    """A file that never ends and counts what is read of it."""

    def __init__(self, content):
        self.content = content
        self.read_bytes = 0

    def read(self, size):
        self.read_bytes += size
        return (self.content * (size // len(self.content) + 1))[:size]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"2026-01-01 INFO nothing of interest\n", "no output of kafka-consumer-groups"),
        (b'{"no": "group"}\n', "no group snapshot, scenario, output of kafkactl or status of connectors"),
        (b"\xff", "not UTF-8 text"),
        (b"a\0", "is binary|no output"),
        (gzip.compress(b"TOPIC", mtime=0), r"compressed \(gzip\)"),
    ],
)
def test_garbage_is_refused_within_its_first_megabyte(monkeypatch, content, fault):
    file = Endless(content)
    monkeypatch.setattr("sys.stdin", type("Standard", (), {"buffer": file}))
    with pytest.raises(SourceError, match=fault):
        read_source("-")
    assert file.read_bytes == 2**20


def test_one_group_of_several_is_read_for_a_diff():
    state = read_source(str(CAPTURES / "groups-4.3.1.txt"), group="billing").state
    assert state.name == "billing"
