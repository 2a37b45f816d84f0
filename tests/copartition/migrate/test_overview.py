"""The migration of all groups of a cluster in one report."""

import json
from dataclasses import replace

import pytest

from copartition.deploys.pace import Pace
from copartition.migrate.command import _migrate_state, migrate
from copartition.migrate.overview import (
    GroupMigration,
    migrations_exit_code,
    migrations_json,
    print_migrations,
)
from partitioning.errors import SourceError
from tests.copartition.doctor.test_page import group
from tests.support.commands import invoker
from tests.support.drawing import drawn

UNREAD = {"sinks": SourceError("it is a group of Kafka Connect")}


def migrated(name, **changes):
    """The way of a classic group of two Java members to uniform."""
    state = replace(group([0, 0, 1, 1], name=name), **changes)
    return GroupMigration(name, state, *_migrate_state(state, name, ["uniform"], (), "bidirectional", Pace()))


@pytest.fixture
def easy():
    return migrated("easy")


@pytest.fixture
def old_client():
    return migrated("python", clients=("kafka-python",))


@pytest.fixture
def migrated_before(easy):
    members = tuple(member._replace(protocol="consumer") for member in easy.state.members)
    return migrated("done", strategy="uniform", protocol="consumer", members=members)


@pytest.fixture
def groups(easy, old_client, migrated_before):
    return sorted([migrated_before, easy, old_client], key=lambda group: group.rank)


def test_groups_that_are_held_up_come_first(groups):
    assert [(group.name, group.way) for group in groups] == [
        ("python", "no way"),
        ("easy", "1 bounce"),
        ("done", "nothing to do"),
    ]


def test_a_row_says_what_the_bounces_stop_and_which_settings_go(groups, easy):
    head, _, _, row, *rest = drawn(lambda console: print_migrations(groups, UNREAD, console), width=160)
    assert head == "4 groups   2 can go online   1 not read"
    assert " ".join(row.split()).startswith("easy classic range 2 1 bounce ")
    assert easy.stops.partition_seconds.digits in row
    assert "partition.assignment.strategy" in row
    text = "\n".join(rest)
    assert "python: " in text
    assert "sinks: it is a group of Kafka Connect" in text


def test_json_has_the_whole_migration_of_each_group(groups):
    document = json.loads(migrations_json(groups, UNREAD))
    assert [group["group"] for group in document["groups"]] == ["python", "easy", "done"]
    assert document["groups"][1]["stops"]["partition_seconds"]["most"] > 0
    assert document["unread"] == [{"group": "sinks", "why": "it is a group of Kafka Connect"}]


@pytest.mark.parametrize(
    ("names", "unread", "code"),
    [(["old_client"], UNREAD, 1), (["easy"], UNREAD, 2), (["easy", "migrated_before"], {}, 0)],
)
def test_the_exit_code_is_that_of_the_worst_group(names, unread, code, request):
    groups = [request.getfixturevalue(name) for name in names]
    assert migrations_exit_code(groups, unread) == code


def test_all_groups_of_a_cluster_are_brought_to_one_strategy():
    result = invoker(migrate)("range", "uniform", "--all-groups")
    assert (result.exit_code, "--all-groups goes with TO alone" in result.stderr) == (2, True)
