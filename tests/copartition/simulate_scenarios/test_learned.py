"""What takes time in a group, learned from a record of it."""

from statistics import median

import pytest

from assignors import Topic
from copartition.deploys.pace import Pace
from copartition.deploys.scenario import scenarios_of_record
from copartition.groups.snapshot import read_record
from copartition.simulate_scenarios.episodes import episodes, see
from copartition.simulate_scenarios.learned import LEAST, learn_costs
from copartition.simulation import Consumer, Costs, Leave, Restart, Scenario, simulate, simulate_seeds
from tests.copartition.simulate_scenarios.recorded import record_of

MEMBERS = tuple(Consumer(f"c{number}") for number in range(4))


def night(assignor, revoke_ms, restarts=10, poll_ms=0):
    """A run of a group whose members restart one after the other, every three minutes, off the minute."""
    events = tuple(
        Restart(60_000 + 181_700 * turn, MEMBERS[turn % 4].name, 20_000) for turn in range(restarts)
    )
    costs = Costs(revoke_ms=revoke_ms, poll_ms=poll_ms)
    return simulate(Scenario((Topic("t", 12),), MEMBERS, events, assignor, costs=costs, seed=restarts))


@pytest.fixture
def record(tmp_path):
    """Writes the record of a run."""

    def write(run, **more):
        path = tmp_path / "night.ndjson"
        path.write_text(record_of(run, **more))
        return str(path)

    return write


@pytest.mark.slow
@pytest.mark.parametrize(("assignor", "revoke_ms"), [("range", 4_000), ("cooperative-sticky", 9_000)])
def test_a_revoke_is_learned_from_the_rebalances_of_a_night(record, assignor, revoke_ms):
    pace, (text,) = learn_costs(record(night(assignor, revoke_ms)), Pace())
    assert float(pace.changes["revoke_ms"]) == pytest.approx(revoke_ms, rel=0.2)
    assert "rebalances of the record, within" in text
    assert "assign_ms, first_fetch_ms and partition_ms are not shown by a record" in text


@pytest.mark.slow
@pytest.mark.parametrize(("assignor", "revoke_ms"), [("range", 800), ("cooperative-sticky", 1_500)])
def test_frequent_looks_teach_a_revoke_that_is_shorter_than_a_heartbeat(record, assignor, revoke_ms):
    path = record(night(assignor, revoke_ms, restarts=5), interval_s=0.2)
    pace, _ = learn_costs(path, Pace())
    assert float(pace.changes["revoke_ms"]) == pytest.approx(revoke_ms, rel=0.2)


def test_only_rebalances_in_which_a_member_gives_up_partitions_teach_a_cooperative_group(record):
    # Three members leave one after the other, so nobody else gives up a partition.
    events = tuple(Leave(60_000 + 30_000 * turn, member.name) for turn, member in enumerate(MEMBERS[:3]))
    scenario = Scenario((Topic("t", 12),), MEMBERS, events, "cooperative-sticky", until_ms=180_000)
    pace, (text,) = learn_costs(record(simulate(scenario)), Pace())
    assert pace == Pace()
    assert text.startswith("the record shows 0 rebalances whose length it bounds")


@pytest.mark.heavy
def test_a_member_that_closes_begins_as_long_before_as_its_callback_takes(record):
    path = record(night("range", 0, restarts=2))
    [leaves, joins] = episodes(see(read_record(path)))[:2]
    early, late = (leaves.scenario("range", 0, closing_ms) for closing_ms in (0, 4_000))
    assert [event.at_ms for event in (*early.events, *late.events)] == [0, 0]
    early, late = (joins.scenario("range", 0, closing_ms) for closing_ms in (0, 4_000))
    assert [event.at_ms for event in (*early.events, *late.events)] == [0, 4_000]
    # The group has been quiet for that much less, so heartbeats come at the same moments.
    assert early.settled_ms - late.settled_ms == 4_000


@pytest.mark.slow
def test_what_cannot_be_told_from_chance_is_no_cost(record):
    pace, (text,) = learn_costs(record(night("range", 0)), Pace())
    assert pace == Pace()
    assert text.startswith("the batch in hand and the revoke callback take no time that shows, learned from")


@pytest.mark.slow
def test_a_cost_that_is_given_is_not_learned(record):
    given = Pace(changes={"revoke_ms": "50"})
    assert learn_costs(record(night("range", 4_000)), given) == (given, ())


def test_too_few_rebalances_teach_nothing(record):
    pace, (text,) = learn_costs(record(night("range", 4_000, restarts=1)), Pace())
    assert pace == Pace()
    assert text.startswith("the record shows ")
    assert "is not learned from it (--set revoke_ms=500)" in text
    assert LEAST == 3


def test_the_consumer_protocol_teaches_nothing(record):
    pace, (text,) = learn_costs(record(night("uniform", 4_000, restarts=1)), Pace())
    assert pace == Pace()
    assert text.startswith("in a group of the consumer protocol the next heartbeat hides")


@pytest.mark.slow
def test_a_deploy_after_the_night_stops_as_long_as_its_group_would(record):
    path = record(night("range", 6_000))
    taught, _ = learn_costs(path, Pace())
    pauses = []
    for pace in (taught, Pace(changes={"revoke_ms": "6000"})):
        [found] = scenarios_of_record(path, ["rolling"], pace=pace)
        runs = simulate_seeds(found.scenario, range(8))
        pauses.append(median(1_000 * run.summary.partition_seconds for run in runs))
    assert pauses[0] == pytest.approx(pauses[1], rel=0.2)
