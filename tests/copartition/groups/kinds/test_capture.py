"""Tables of kafka-share-groups and kafka-streams-groups, as tools of 4.4.0 print and people paste them."""

from pathlib import Path

import pytest

from copartition.groups import OtherSource, read_any_source
from copartition.groups.kinds.capture import parse_other_capture
from partitioning.errors import SourceError

CAPTURES = Path(__file__).parents[1] / "captures"
FIELD = Path(__file__).parents[1] / "field"


def text_of(*names: str) -> str:
    return "".join((CAPTURES / f"{name}-4.4.0.txt").read_text() for name in names)


SHARE = text_of("share-members-verbose", "share-state-verbose", "share-offsets")
STREAMS = text_of("streams-members-verbose", "streams-state-verbose", "streams-offsets-verbose")


def test_a_share_group_has_members_epochs_and_offsets():
    group = parse_other_capture(SHARE, "share")
    assert (group.name, group.status, group.group_epoch, group.assignment_epoch) == ("shared", "Stable", 4, 4)
    assert {member.client_id: member.partitions for member in group.members} == {
        "sharer-2": {"orders": [2]},
        "sharer-1": {"orders": [1, 3]},
        "sharer-0": {"orders": [0]},
    }
    # A dash is "no offset is kept", and its lag is not known.
    assert group.positions == {"orders": dict.fromkeys(range(4), -1)}
    assert group.lag == {}


def test_a_streams_group_has_tasks_by_role():
    group = parse_other_capture(STREAMS, "streams")
    assert (group.name, group.status, group.strategy, group.group_epoch) == ("words", "Stable", "sticky", 4)
    first = group.members[0]
    assert (first.active, first.standby, first.target_active) == ({"0": [1, 3]}, {}, {"0": [1, 3]})
    assert (first.topology_epoch, first.classic, first.host) == (0, False, None)
    assert group.lag == {"orders": dict.fromkeys(range(4), 0)}


def test_what_members_are_to_have_is_unknown_without_verbose():
    group = parse_other_capture(text_of("streams-members"), "streams")
    assert {member.target_active for member in group.members} == {None}


ROLES = """GROUP MEMBER PROCESS CLIENT-ID ASSIGNMENTS
words m1 p1 c1 ACTIVE: 0:[1,3]; 1:[2]; STANDBY: 0:[0]; WARMUP: 1:[7];
words m2 p2 c2
"""


def test_members_may_have_several_roles_or_no_task():
    first, second = parse_other_capture(ROLES, "streams").members
    assert (first.active, first.standby, first.warmup) == ({"0": [1, 3], "1": [2]}, {"0": [0]}, {"1": [7]})
    assert second.active == {}


@pytest.mark.parametrize(
    "paste",
    [
        lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
        lambda text: f"$ kafka-share-groups.sh --describe --group shared\n{text}\nada@host:~$ \n",
        lambda text: f"```\n{text}```\n",
        lambda text: f'{text}pod "kafka-run-x" deleted\n',
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "".join(
            f"| {' | '.join(line.split())} |\n" for line in text.splitlines() if "(" not in line
        ),
    ],
    ids=["quoted", "prompt", "fence", "kubectl", "CRLF", "pipes"],
)
def test_a_paste_shows_the_same_members(paste):
    assert parse_other_capture(paste(SHARE), "share").members == parse_other_capture(SHARE, "share").members


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("share", SHARE.replace("orders:1,3", "orders:1"), "line 4: gtT3SUn7Tou"),
        ("share", SHARE.replace("orders:1,3", "orders:1,1"), "lists a partition twice"),
        ("share", SHARE.replace("orders:1,3", "orders=1,3"), "cannot read the assignment"),
        (
            "share",
            SHARE.replace("4                 3\n", "4                 5\n"),
            "by its state the group has 5 members",
        ),
        ("share", SHARE + text_of("share-offsets"), "a second table of offsets of 'shared'"),
        (
            "share",
            text_of("share-offsets").replace("2          -             -", "2          -"),
            "line 5: the row has 4 words",
        ),
        ("share", text_of("share-offsets").replace("2          -", "x          -"), "PARTITION is 'x'"),
        ("streams", STREAMS.replace("0:[1,3]; TARGET", "0:[1,3; TARGET"), "cannot read the tasks"),
    ],
)
def test_a_table_that_is_cut_or_contradicts_another_is_refused(kind, text, why):
    with pytest.raises(SourceError) as refused:
        parse_other_capture(text, kind)
    assert why in str(refused.value)


def test_one_of_several_groups_is_asked_for():
    two = SHARE + text_of("share-offsets").replace("shared", "others")
    with pytest.raises(SourceError, match=r"holds 2 groups.*name one with `group`"):
        parse_other_capture(two, "share")
    assert parse_other_capture(two, "share", "others").name == "others"
    with pytest.raises(SourceError, match="holds no group 'typo' but"):
        parse_other_capture(two, "share", "typo")


@pytest.mark.parametrize(
    ("kind", "said", "status"),
    [("share", "has no active members.", "Empty"), ("share", "is rebalancing.", "Reconciling")],
)
def test_a_notice_tells_the_state(kind, said, status):
    group = parse_other_capture(f"Share group 'shared' {said}\n", kind)
    assert (group.name, group.status) == ("shared", status)


@pytest.mark.parametrize("name", ["g18-streams-members.txt", "g18c-share-old.txt"])
def test_a_layout_of_no_release_is_named(name):
    # Whoever asks `doctor` is not sent to `doctor`: what the group is, and that the table has to be captured.
    with pytest.raises(SourceError, match=r"KIP-.*shown in no table .* from Kafka 4.1 on.*capture"):
        read_any_source(str(FIELD / name))


def test_a_report_of_the_field_is_read():
    read = read_any_source(str(FIELD / "g18b-share.txt"))
    assert isinstance(read, OtherSource)
    assert read.state.positions == {"topic1": {0: 4, 1: 17}}
    assert read.state.lag == {"topic1": {0: 0, 1: 3}}
