"""Outputs of Kafka's tools for groups of other kinds: what they are is said, and nothing else is."""

from pathlib import Path

import pytest

from copartition.groups import read_source
from copartition.shell.main import copartition
from partitioning.errors import OtherGroupKindError, SourceError
from tests.support.commands import invoker

CAPTURES = Path(__file__).parents[1] / "captures"
run = invoker(copartition)
SAID = {
    "share": "shared is a share group (KIP-932): several members read one partition by design",
    "streams": "words is a Streams group (KIP-1071): its members have tasks",
}
NAMES = [*sorted(CAPTURES.glob("share-*-4.4.0.txt")), *sorted(CAPTURES.glob("streams-*-4.4.0.txt"))]


@pytest.mark.parametrize("path", NAMES, ids=lambda path: path.stem)
def test_a_group_of_another_kind_is_named_and_not_judged(path):
    with pytest.raises(OtherGroupKindError) as refused:
        read_source(str(path))
    assert SAID[path.name.partition("-")[0]] in str(refused.value)


@pytest.mark.parametrize(
    "command",
    [["diff"], ["snapshot", "--as-scenario"], ["simulate", "--deploy", "rolling"], ["migrate", "uniform"]],
    ids=lambda words: words[0],
)
def test_a_question_about_owners_says_it(command):
    name, *options = command
    found = run(name, CAPTURES / "share-members-4.4.0.txt", *options)
    assert (found.exit_code, found.stdout) == (2, "")
    assert SAID["share"] in found.stderr


@pytest.mark.parametrize("name", ["", "> "])
def test_a_notice_alone_names_the_group(tmp_path, name):
    path = tmp_path / "group.txt"
    path.write_text(f"{name}\n{name}Share group 'shared' has no active members.\n")
    with pytest.raises(OtherGroupKindError, match="shared is a share group"):
        read_source(str(path))


def test_a_list_of_groups_is_one_to_choose_from():
    with pytest.raises(SourceError, match=r"list of groups: .*shared \(share\)") as refused:
        read_source(str(CAPTURES / "groups-list-4.4.0.txt"))
    assert "billing (classic)" in str(refused.value)
    assert "words (streams)" in str(refused.value)


def test_consumer_groups_with_such_columns_are_read():
    for name in ("groups-4.4.0.txt", "state-verbose-4.4.0.txt"):
        text = (CAPTURES / name).read_text()
        assert "KIP-932" not in text
    assert read_source(str(CAPTURES / "members-4.4.0.txt")).state.name == "billing"
