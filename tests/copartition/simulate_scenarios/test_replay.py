"""A record beside the model."""

from dataclasses import replace
from functools import partial

import pytest

from copartition.groups.snapshot import RecordStep, record_line
from copartition.simulate_scenarios import replay as replaying
from partitioning.errors import ScenarioError, SourceError, UnknownStrategyError
from tests.copartition.watch.groups import group
from tests.support.tiers import sample

PREPARING = "PreparingRebalance"
TWO = group("Stable", "range", a=[0, 1], b=[2, 3])
ONE = group("Stable", "range", a=[0, 1, 2, 3])
ALONE = group(PREPARING, "range", a=[])

replay_record = partial(replaying.replay_record, seeds=sample(range(replaying.SEEDS), 5))


@pytest.fixture
def record(tmp_path):
    """Writes a record of steps, each (at, since, state)."""

    def write(*steps, end="\n"):
        path = tmp_path / "night.ndjson"
        path.write_text("".join(record_line(RecordStep(*step)) for step in steps).removesuffix("\n") + end)
        return path

    return write


def left(ends=13):
    """b leaves; its partitions are nobody's until a has them."""
    return (0, None, TWO), (11, 10, ALONE), (ends, ends - 1, ONE)


def test_an_event_is_told_with_its_owners_and_times(record):
    replay = replay_record(record(*left()))
    [found] = replay.compared
    assert [(cause.kind, cause.name) for cause in found.causes] == [("left", "b")]
    assert (found.first, found.last, found.partitions, found.differing) == (0, 2, 4, ())
    assert found.recorded == (1000, 3000)
    assert 0 <= found.predicted.least < found.predicted.middle < found.predicted.most <= 3020
    assert (found.in_time, replay.agrees) == (True, True)


def test_a_rebalance_that_took_longer_than_the_model_knows_is_no_agreement(record):
    replay = replay_record(record(*left(ends=60)))
    assert (replay.compared[0].in_time, replay.agrees) == (False, False)


def test_given_settings_are_those_of_the_model(record):
    path = record(*left(ends=60))
    replay = replay_record(path, changes={"session.timeout.ms": "300000", "heartbeat.interval.ms": "60000"})
    assert replay.compared[0].in_time
    assert "heartbeat.interval.ms=60000" in replay.assumed[0]


def test_a_group_of_the_consumer_protocol_is_told_the_names_of_the_broker(record):
    replay = replay_record(record(*left()), "uniform", {"group.consumer.heartbeat.interval.ms": "4000"})
    told = "group.consumer.heartbeat.interval.ms=4000, group.consumer.session.timeout.ms=45000 (--set)"
    assert told in replay.assumed[0]


def test_each_run_is_a_draw_of_a_seed(record):
    path = record(*left())
    [one], [again], [other] = (
        replay_record(path, seeds=range(seed, seed + 1)).compared for seed in (3, 3, 4)
    )
    assert one.predicted == again.predicted != other.predicted


def test_partitions_that_others_have_are_named(record):
    odd = group("Stable", "range", a=[0, 3], b=[1, 2])
    [found] = replay_record(record((0, None, ONE), (11, 10, odd))).compared
    apart = [(recorded, model, [*partitions]) for recorded, model, partitions in found.differing]
    assert apart == [("b", "a", [("t", 1)]), ("a", "b", [("t", 3)])]


def test_each_event_begins_with_what_was_recorded_before_it(record):
    """`sticky` keeps what it can, however it came about."""
    odd = group("Stable", "sticky", a=[0, 3], b=[1, 2])
    later = group("Stable", "sticky", b=[0, 1, 2, 3])
    steps = (0, None, group("Stable", "sticky", a=[0, 1, 2, 3])), (11, 10, odd), (21, 20, later)
    first, second = replay_record(record(*steps)).compared
    assert first.differing
    assert not second.differing


def test_another_assignor_may_be_tried(record):
    replay = replay_record(record(*left()), "roundrobin")
    assert replay.assignor == "roundrobin"


@pytest.mark.parametrize(
    ("before", "after", "causes"),
    [
        (ONE, TWO, [("joined", "b")]),
        (TWO, group("Stable", "range", count=6, a=[0, 1, 2], b=[3, 4, 5]), [("grew", "t")]),
        (TWO, group("Stable", "range", a=[0, 1], b_2=[2, 3]), [("restarted", "b")]),
        (group("Stable", "range", static=[0, 1, 2, 3]), group("Stable", "range", a=[0, 1, 2, 3]), None),
        (group("Empty", "range", count=0), ONE, [("joined", "a")]),
    ],
)
def test_whatever_happens_is_replayed(record, before, after, causes):
    [found] = replay_record(record((0, None, before), (11, 10, after))).compared
    if causes is not None:
        assert [(cause.kind, cause.name) for cause in found.causes] == causes
    assert (found.differing, found.in_time) == ((), found.in_time and True)


def test_what_the_record_does_not_explain_is_unknown(record):
    swapped = group("Stable", "range", a=[2, 3], b=[0, 1])
    [found] = replay_record(record((0, None, TWO), (11, 10, swapped))).compared
    assert (found.causes, found.predicted, found.in_time) == ((), None, None)
    assert sum(len(difference.partitions) for difference in found.differing) == 4


@pytest.mark.parametrize(
    ("steps", "end", "said"),
    [
        (left(), "\n{", "the last line is cut"),
        ([(0, None, ALONE), (3, 2, ONE), (9, 8, TWO)], "\n", "not replayed up to #1"),
        ([*left(), (20, 19, ALONE)], "\n", "not replayed from #2 on"),
    ],
)
def test_what_is_left_out_is_told(record, steps, end, said):
    [warning] = replay_record(record(*steps, end=end)).warnings
    assert said in warning


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([(11, 10, TWO)], "line 1 has a time `since`, so the record's beginning is missing"),
        ([(0, None, TWO), (9, None, ONE)], "another record begins in line 2"),
        ([(0, None, TWO), (9, 8, ONE), (12, 7, TWO)], "line 3 is earlier than the line above"),
        ([(0, None, ALONE), (9, 8, ALONE)], "no step shows a stable group"),
        ([(0, None, TWO), (9, 8, replace(ONE, strategy="sticky"))], "tells of range and sticky"),
        ([(0, None, replace(TWO, strategy=None))], "does not tell the group's assignor"),
    ],
)
def test_what_is_no_whole_record_is_refused(record, steps, said):
    with pytest.raises(SourceError, match=said):
        replay_record(record(*steps))


def test_a_look_that_showed_a_state_began_before_its_answer_came(record):
    replay = replay_record(record((0.1, None, TWO), (11, 0, ALONE), (13, 10.9, ONE)))
    assert replay.compared[0].recorded.most == pytest.approx(13_000)


def test_a_foreign_version_is_refused_with_its_line(record):
    path = record(*left())
    path.write_text(path.read_text().replace('"format_version":"1.', '"format_version":"9.'))
    with pytest.raises(SourceError, match="line 1"):
        replay_record(path)


@pytest.mark.parametrize("name", ["session.timeout", "until_ms", "seed"])
def test_only_settings_and_costs_may_be_set(record, name):
    with pytest.raises(ScenarioError, match="no setting"):
        replay_record(record(*left()), changes={name: "1"})


def test_an_assignor_that_is_not_known_is_refused(record):
    steps = [(at, since, replace(state, strategy="ours")) for at, since, state in left()]
    with pytest.raises(UnknownStrategyError, match="ours"):
        replay_record(record(*steps))


def test_a_partition_that_a_member_lists_twice_is_replayed_once(record):
    twice = group("Stable", "range", a=[0, 0, 1], b=[2, 3])
    [compared] = replay_record(record((0, None, ONE), (11, 10, twice))).compared
    assert [(cause.kind, cause.name) for cause in compared.causes] == [("joined", "b")]
