"""Snapshots of share groups and Streams groups: they come back as they were; others refuse them by name."""

import pytest

from copartition.groups import read_any_source, read_source
from copartition.groups.kinds.capture import parse_other_capture
from copartition.groups.kinds.model import other_group_bytes, parse_other_group
from copartition.kit.places import by_place, by_topic
from copartition.shell.main import copartition
from partitioning.errors import OtherGroupKindError, SourceError
from tests.copartition.groups.kinds.test_capture import CAPTURES, SHARE, STREAMS
from tests.support.commands import invoker

run = invoker(copartition)
GROUPS = [parse_other_capture(SHARE, "share"), parse_other_capture(STREAMS, "streams")]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.protocol)
def test_a_snapshot_comes_back_as_it_was(group, tmp_path):
    assert parse_other_group(other_group_bytes(group).decode()) == group
    (path := tmp_path / "group.json").write_bytes(other_group_bytes(group))
    assert read_any_source(str(path)).state == group
    with pytest.raises(OtherGroupKindError, match=f"{group.name} is a "):
        read_source(str(path))


def test_the_command_keeps_a_capture_that_doctor_reads(tmp_path):
    kept = run("snapshot", CAPTURES / "share-members-4.4.0.txt", "--out", path := tmp_path / "shared.json")
    assert kept.exit_code == 0, kept.output
    examined = run("doctor", path, "-o", "json")
    assert '"protocol": "share"' in examined.stdout
    # What no table showed is unknown, never fine.
    assert examined.exit_code == 2


def test_snapshots_of_two_groups_are_no_two_looks(tmp_path):
    (path := tmp_path / "two.ndjson").write_bytes(b"".join(map(other_group_bytes, GROUPS)))
    with pytest.raises(SourceError, match="of different groups"):
        read_any_source(str(path))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"kind":"share-group-snapshot","format_version":"2.0"}', "of format 2.0; this release reads 1.0"),
        (
            '{"kind":"share-group-snapshot","members":[{}]}',
            r"missing required field `id` - at `\$.members\[0\]`",
        ),
        ('{"kind":"share-group-snapshot","lag":' + "[" * 5_000, "nested too deeply|malformed|Expected"),
    ],
)
def test_what_is_no_snapshot_is_refused(text, why):
    with pytest.raises(SourceError, match=why):
        parse_other_group(text)


def test_numbers_by_topic_and_by_place_are_each_others_inverse():
    places = {("orders", 0): 5, ("orders", 1): 7, ("clicks", 3): 9}
    assert by_place(by_topic(places)) == places
