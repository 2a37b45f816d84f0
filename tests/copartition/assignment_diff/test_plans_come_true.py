"""What a plan says of a real group beforehand, and what becomes of the group."""

import uuid

import pytest
from click.testing import CliRunner

from copartition.assignment_diff import Joiner, WhatIf, read_pair
from copartition.groups import snapshot_bytes
from copartition.shell.main import copartition
from tests.copartition.groups.worker import read_or_nobody, settings
from tests.support.tiers import sample
from tests.support.waiting import wait_for

CONFIGS = {
    "classic": {"partition.assignment.strategy": "range", "session.timeout.ms": 6000},
    "consumer": {"group.protocol": "consumer", "group.remote.assignor": "uniform"},
}


class Planned:
    """A group of which every change is planned before it happens."""

    def __init__(self, broker, workers, folder, protocol):
        self.broker, self.plan = broker, folder / "plan.json"
        self.topic, self.group = broker.create_topic(7), f"planned-{uuid.uuid4()}"
        config = {**CONFIGS[protocol], "topic.metadata.refresh.interval.ms": 1000}
        self.start = lambda client_id: workers(self.group, self.topic, client_id, **config)

    def expect(self, **change):
        pair = read_pair(
            f"live:{self.group}", "plan:current", config=settings(self.broker), what_if=WhatIf(**change)
        )
        self.plan.write_bytes(snapshot_bytes(pair.after))

    def settle(self, members, partitions):
        def settled(state):
            owners = state.member[state.member >= 0].tolist()
            return (state.status, len(set(owners)), len(owners)) == ("Stable", members, partitions)

        wait_for(lambda: read_or_nobody(self.group, self.broker)[0], settled)

    def differs(self):
        arguments = ["diff", str(self.plan), f"live:{self.group}", "-b", self.broker.bootstrap_servers]
        result = CliRunner().invoke(copartition, arguments)
        assert result.exit_code in {0, 1}, result.output
        return result.exit_code == 1


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", sample([*CONFIGS], before_ci=2))
def test_a_diff_of_plan_and_group_finds_something_before_the_change_and_nothing_after_it(
    broker, workers, tmp_path, protocol
):
    group = Planned(broker, workers, tmp_path, protocol)
    _, _, mango = map(group.start, ("kiwi", "apple", "mango"))
    group.settle(members=3, partitions=7)
    differs = []

    group.expect(partitions={group.topic: 9})
    differs.append(group.differs())
    broker.grow_topic(group.topic, 9)
    group.settle(members=3, partitions=9)
    differs.append(group.differs())

    group.expect(remove_members=("mango",))
    differs.append(group.differs())
    mango.stop()
    group.settle(members=2, partitions=9)
    differs.append(group.differs())

    group.expect(joining=(Joiner("banana"),))
    differs.append(group.differs())
    group.start("banana")
    group.settle(members=3, partitions=9)
    differs.append(group.differs())

    assert differs == [True, False] * 3
