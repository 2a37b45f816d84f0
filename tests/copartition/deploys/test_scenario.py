"""A captured group as a scenario."""

from dataclasses import replace

import numpy as np
import pytest

from assignors.state import UNKNOWN_LAG, MemberIdentity
from copartition.deploys.scenario import (
    NOTHING,
    parse_happening,
    scenario_of,
    scenarios_of_record,
    with_waiting,
)
from copartition.groups.snapshot import RecordStep, record_line
from copartition.simulation import Crash, Deployment, Grow, Leave, Load, RollingRestart, Scenario, simulate
from copartition.simulation.inputs.file import scenario_to_dict
from partitioning.errors import SourceError
from tests.copartition.assignment_diff.states import group
from tests.copartition.watch.groups import group as watched

MEMBERS = [
    MemberIdentity("pod-0-1", None, "pod-0", topics=("orders",)),
    MemberIdentity("pod-1-1", "static-1", "pod-1", topics=("orders", "clicks"), rack="r1"),
    MemberIdentity("same-1", None, "same", topics=("orders",)),
    MemberIdentity("same-2", None, "same", topics=("orders",)),
]


def captured(**known):
    return replace(
        group(MEMBERS, {"pod-0-1": [("orders", 0)]}, {"orders": 4, "clicks": 2}), strategy="range", **known
    )


def test_members_topics_and_strategy_are_those_of_the_group():
    scenario, assumed = scenario_of(captured(clients=("librdkafka",)))
    assert {topic.name: topic.partitions for topic in scenario.topics} == {"orders": 4, "clicks": 2}
    told = [
        (consumer.name, consumer.static, consumer.topics, consumer.rack, consumer.client)
        for consumer in scenario.consumers
    ]
    assert told == [
        ("pod-0", False, ("orders",), None, "librdkafka"),
        ("static-1", True, ("orders", "clicks"), "r1", "librdkafka"),
        ("same-1", False, ("orders",), None, "librdkafka"),
        ("same-2", False, ("orders",), None, "librdkafka"),
    ]
    assert (scenario.assignor, scenario.events) == ("range", ())
    assert assumed == ("the group begins as 'range' assigns it anew", "timeouts are Kafka's defaults")
    assert Scenario.from_dict(scenario_to_dict(scenario), scenario.name) == scenario


def of_a_group(load, lag):
    """The load of a captured group with this lag of orders-0, and the last thing that is assumed of it."""
    state = captured()
    if lag is not None:
        known = [place == ("orders", 0) for place in state.places]
        state = replace(state, lag=np.where(known, lag, UNKNOWN_LAG))
    base = scenario_of(state)
    result = with_waiting(base._replace(scenario=replace(base.scenario, load=load)), state)
    return result.scenario.load, result.assumed[-1]


@pytest.mark.parametrize(
    ("lag", "waits", "assumed"),
    [
        (70, 70, "what was not committed waits at the start"),
        (-3, 0, "what was not committed waits at the start"),
        (UNKNOWN_LAG, 0, "nothing waits at the start"),
        (None, 0, "nothing waits at the start"),
    ],
    ids=["behind", "committed beyond the end", "unknown", "no lag at all"],
)
def test_what_a_group_has_not_committed_waits_at_the_start(lag, waits, assumed):
    load, said = of_a_group(Load(50.0), lag)
    assert load == Load(50.0, waiting={"orders": (waits, 0, 0, 0), "clicks": (0, 0)})
    assert said == assumed


@pytest.mark.parametrize(
    "load", [None, Load(50.0, waiting=9)], ids=["no load", "a load that says what waits"]
)
def test_lags_change_no_load_that_is_not_asked_for_or_has_its_own(load):
    assert of_a_group(load, 70)[0] == load


@pytest.mark.parametrize(
    ("deploy", "event", "assumed"),
    [
        (
            "rolling",
            RollingRestart(at_ms=60_000, every_ms=60_000, down_ms=10_000),
            "a member is restarted every 1 min, and is away for 10 s",
        ),
        (
            "surge",
            Deployment(at_ms=60_000, start_ms=10_000, ready_ms=10_000),
            "one new member at a time, up in 10 s and ready 10 s later",
        ),
        ("crash pod-1", Crash(60_000, "static-1"), None),
        ("leave pod-0", Leave(60_000, "pod-0"), None),
        ("grow orders=9", Grow(60_000, "orders", 9), None),
    ],
)
def test_what_happens_is_an_event_that_runs(deploy, event, assumed):
    scenario, told = scenario_of(captured(), parse_happening(captured(), deploy))
    assert (scenario.events, scenario.name) == ((event,), f"group, {deploy}")
    assert assumed is None or told[0] == assumed
    assert simulate(scenario).log


def test_a_topic_that_no_member_reads_is_left_out():
    members = [member._replace(topics=("orders",)) for member in MEMBERS]
    scenario, assumed = scenario_of(replace(captured(), members=tuple(members)))
    assert [topic.name for topic in scenario.topics] == ["orders"]
    assert assumed[0] == "no member reads clicks, so the scenario goes without"


@pytest.mark.parametrize(
    ("state", "deploy", "fault"),
    [
        (replace(captured(), strategy=None, protocol="connect"), None, "workers of Kafka Connect"),
        (replace(group([], {}, {"t": 1}), strategy="range"), None, "the group has no members"),
        (captured(), "crash", "'crash' is none of rolling, surge, crash MEMBER, leave MEMBER, add N, grow"),
        (captured(), "crash nobody", "`crash_member` nobody: the group has no such instance id"),
        (captured(), "grow other=9", "a topic that the group reads: clicks, orders"),
        (captured(), "grow orders", "is not TOPIC=N"),
        (captured(), "blue", "'blue' is none of"),
    ],
)
def test_what_makes_no_scenario_is_refused(state, deploy, fault):
    with pytest.raises(SourceError, match=fault):
        scenario_of(state, NOTHING if deploy is None else parse_happening(state, deploy))


@pytest.fixture
def recorded(tmp_path):
    """A record of a group of two partitions: when it was seen, and where they ended."""

    def write(*seen, committed=None, before=()):
        path = tmp_path / "night.ndjson"
        one = watched("Stable", "range", count=2, a=[0], b=[1])
        since = [None, *(at - 1 for at, _ in seen[1:])]
        states = [*before, *[one] * (len(seen) - len(before))]
        rows = zip(seen, since, states, strict=True)
        steps = [
            RecordStep(at, earlier, state, None, {"t": ends}, committed)
            for (at, ends), earlier, state in rows
        ]
        path.write_text("".join(map(record_line, steps)))
        return str(path)

    return write


def rates(path):
    first, *_ = scenarios_of_record(path)
    return first.scenario.load and first.scenario.load.rate


def test_a_record_is_its_group_through_a_roll_and_a_crash(recorded):
    found = list(scenarios_of_record(recorded((0, {0: 0, 1: 0}), (100, {0: 200, 1: 50}))))
    assert [deploy.scenario.name for deploy in found] == ["g, rolling", "g, crash a"]
    assert [type(deploy.scenario.events[0]) for deploy in found] == [RollingRestart, Crash]
    assert {deploy.scenario.load.rate["t"] for deploy in found} == {(2.0, 0.5)}
    assert found[0].assumed[0] == (
        "rates are those of the busiest 1 min 40 s between two ends in the record; nothing waits at the start"
    )
    (surge,) = scenarios_of_record(recorded((0, {})), ["surge"], ["uniform"])
    assert (surge.scenario.assignor, surge.scenario.load) == ("uniform", None)


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ([(0, {0: 0, 1: 0}), (600, {0: 60, 1: 60}), (1_200, {0: 660, 1: 1_260})], (1.0, 2.0)),
        ([(0, {0: 0, 1: 0}), (59, {0: 900, 1: 900}), (100, {0: 1_000, 1: 1_000})], (10.0, 10.0)),
        ([(0, {0: 0}), (100, {0: 9, 1: 0}), (200, {0: 109, 1: 0})], (1.0, 0.0)),  # one had no leader
        ([(0, {0: 90, 1: 90}), (100, {0: 0, 1: 0}), (200, {0: 50, 1: 100})], (0.5, 1.0)),  # made anew
    ],
)
def test_rates_are_those_of_the_busiest_stretch_with_all_ends(recorded, seen, found):
    assert rates(recorded(*seen)) == {"t": found}


@pytest.mark.parametrize(
    "seen",
    [
        [(0, {0: 0, 1: 0})],
        [(0, {0: 0, 1: 0}), (59, {0: 5, 1: 5})],
        [(0, {0: 0}), (900, {0: 900})],
        [(0, {0: 9, 1: 9}), (900, {0: 0, 1: 0})],
    ],
)
def test_rates_that_a_record_does_not_show_are_unknown(recorded, seen):
    path = recorded(*seen)
    assert rates(path) is None
    assert next(iter(scenarios_of_record(path))).assumed[0] == (
        "the record shows no rates: it has no ends of all partitions 60 s apart"
    )


def test_what_a_record_shows_to_be_uncommitted_waits_at_the_start(recorded):
    path = recorded(
        (0, {0: 0, 1: 0}), (100, {0: 200, 1: 50}), committed={"t": {0: 190, 1: 60}, "old": {0: 1}}
    )
    first, *_ = scenarios_of_record(path)
    assert first.scenario.load.waiting == {"t": (10, 0)}
    assert first.assumed[0].endswith("in the record; what was not committed waits at the start")
    assert simulate(first.scenario).records.arrived.sum() > 10


ALONE = watched("Stable", "range", count=2, a=[0, 1])
HIDDEN = watched("PreparingRebalance", "range", count=2, a=[], b=[])


@pytest.mark.parametrize(
    ("before", "seen", "quiet_s"),
    [
        ([], [0, 600], 3_600),  # since before the record began
        ([ALONE], [0, 100, 700], 600),
        ([ALONE, HIDDEN], [0, 100, 103, 123], 20),
        ([ALONE, HIDDEN], [0, 100, 103], 0),
    ],
)
def test_a_group_has_been_quiet_since_the_last_rebalance_of_its_record(recorded, before, seen, quiet_s):
    path = recorded(*((at, {0: 0, 1: 0}) for at in seen), before=before)
    first, *_ = scenarios_of_record(path, ["rolling"])
    assert first.scenario.settled_ms == 1_000 * quiet_s


def test_a_group_was_quiet_until_it_was_seen_last_before_the_next_rebalance(tmp_path):
    one = watched("Stable", "range", count=2, a=[0], b=[1])
    steps = [RecordStep(0, None, ALONE), RecordStep(10, 9, one), RecordStep(50, 49, HIDDEN)]
    path = tmp_path / "night.ndjson"
    path.write_text("".join(map(record_line, steps)))
    assert {deploy.scenario.settled_ms for deploy in scenarios_of_record(str(path))} == {39_000}


def test_a_record_of_a_group_that_never_settles_is_refused(tmp_path):
    path = tmp_path / "night.ndjson"
    path.write_text(record_line(RecordStep(0, None, watched("PreparingRebalance", "range", a=[]))))
    with pytest.raises(SourceError, match=r"night\.ndjson: no step shows a stable group with members"):
        list(scenarios_of_record(str(path)))


@pytest.mark.parametrize(("topics", "reads"), [((), ()), (None, ("orders", "clicks"))])
def test_a_member_without_topics_reads_nothing_and_one_of_unknown_topics_everything(topics, reads):
    members = [*MEMBERS[:2], MemberIdentity("idle-1", None, "idle", topics=topics)]
    state = group(members, {"pod-0-1": [("orders", 0)]}, {"orders": 4, "clicks": 2})
    scenario, _ = scenario_of(replace(state, strategy="range"))
    assert sorted(scenario.consumers[-1].topics) == sorted(reads)
