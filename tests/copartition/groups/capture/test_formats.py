"""rpk and JSON of other tools; what is no capture is refused early and by its name."""

import gzip
from pathlib import Path

import pytest

from assignors.state import UNKNOWN_LAG
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


RPK_AHEAD = """GROUP        m
COORDINATOR  2
STATE        Empty
BALANCER
MEMBERS      0

TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG    MEMBER-ID  CLIENT-ID  HOST
t      0          9               9               {:<29}
"""


@pytest.mark.parametrize(("printed", "lag"), [("-8220", -8220), ("-1", UNKNOWN_LAG), ("7", 7)])
def test_a_lag_that_rpk_prints_below_minus_one_is_a_commit_beyond_the_end(printed, lag):
    """Minus one is what rpk prints for an error."""
    state, _ = parse_capture(RPK_AHEAD.format(printed))
    assert (UNKNOWN_LAG if state.lag is None else state.lag.tolist()[0]) == lag


def test_a_row_of_rpk_without_its_blanks_may_lack_an_owner():
    cut = captured("rpk-groups").replace("                           \n", "\n")
    # A group without members has no owner that could be lacking.
    assert (parse_capture(cut, "empty")[0].member == -1).all()
    with pytest.raises(SourceError, match="line 35: the row ends before MEMBER-ID: it is cut off"):
        parse_capture(cut.replace("MEMBERS      0", "MEMBERS      1"), "empty")


def test_of_several_groups_of_rpk_one_must_be_named():
    with pytest.raises(SourceError, match=r"3 groups \(ahead, billing, empty\); name one with `group`"):
        parse_capture(captured("rpk-groups"))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_capture_is_read_in_any_width_and_with_any_line_ends(tmp_path, encoding):
    path = tmp_path / "group.txt"
    path.write_bytes(captured("offsets-4.4.0").replace("\n", "\r\n").encode(encoding))
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
        (b'{"no": "group"}\n', "no group snapshot, scenario, status of connectors or"),
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
    state = read_source(str(CAPTURES / "groups-4.4.0.txt"), group="billing").state
    assert state.name == "billing"
