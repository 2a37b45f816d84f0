"""Records that a group skips in new partitions."""

import pytest

from copartition.simulation import Scenario, simulate
from copartition.simulation.growth import find_discoveries, skipped_records
from copartition.simulation.inputs.settings import Settings
from copartition.simulation.outcome.summary import Runs

GROW = {"event": "grow", "at_ms": "10 min", "topic": "orders", "partitions": 8}


def run(assignor="range", **more):
    scenario = {"topics": {"orders": 4}, "consumers": 2, "events": [GROW], "assignor": assignor, **more}
    return simulate(Scenario.from_dict(scenario))


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky", "uniform"])
def test_what_is_skipped_is_the_rate_times_the_time_until_a_partition_is_read(assignor):
    result = run(assignor, load={"rate": 100, "capacity": 10_000})
    grown = next(entry.at_ms for entry in result.log if entry.what == "grow")
    timeline = result.timeline
    read = [
        timeline.start[(timeline.partition == number) & (timeline.consumer >= 0)].min()
        for number in range(4, 8)
    ]
    skipped = round(sum(time - grown for time in read) / 10)
    [warning] = [text for text in result.warnings if "auto.offset.reset" in text]
    assert f"skips the {skipped:,} records that are written to 4 new partitions of orders" in warning
    assert "to lose none, set auto.offset.reset=earliest" in warning


def test_without_a_load_the_time_is_said():
    [warning] = run("uniform").warnings
    assert warning.startswith(
        "auto.offset.reset=latest, the default, skips the records that are written to 4 new"
    )


def test_a_topic_that_nobody_reads_is_skipped_until_the_end():
    result = run(
        consumers=[{"name": "a", "topics": ["other"]}], topics={"orders": 4, "other": 1}, until_ms="20 min"
    )
    assert any("until these are read, after up to 10 min 00 s" in text for text in result.warnings)


def test_who_does_not_grow_skips_nothing():
    assert run(events=[]).warnings == ()
    assert not any("auto.offset.reset" in text for text in Runs(run(events=[]).scenario, ()).warnings)


def test_a_growth_after_the_end_of_the_run_skips_nothing():
    soon = {"event": "grow", "at_ms": "1 min", "topic": "payments", "partitions": 3}
    warnings = run(topics={"orders": 4, "payments": 2}, events=[soon, GROW], until_ms="5 min").warnings
    [warning] = [text for text in warnings if "auto.offset.reset" in text]
    assert "1 new partition of payments" in warning


def test_many_runs_say_the_formula():
    assert any(
        "records per second times up to 5 min 00 s" in text for text in Runs(run().scenario, ()).warnings
    )


def test_the_longest_time_is_that_of_the_settings():
    settings = Settings(metadata_max_age_ms=30_000, group_consumer_heartbeat_interval_ms=2_000)
    assert [found.at_most_ms for found in find_discoveries(None, settings)] == [30_000, 5_000]
    text, ground = skipped_records("classic", settings)
    assert text.endswith(
        "times up to 30.0 s (metadata.max.age.ms; librdkafka: topic.metadata.refresh.interval.ms)"
    )
    assert ground.assumed


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky", "uniform"])
def test_under_latest_a_run_loses_what_the_warning_counts(assignor):
    read, skipped = (
        run(assignor, load={"rate": 100, "capacity": 10_000, "auto_offset_reset": reset})
        for reset in ("earliest", "latest")
    )
    [warning] = [text for text in skipped.warnings if "auto.offset.reset" in text]
    assert f"skips the {skipped.summary.lost:,.0f} records" in warning
    assert skipped.summary.lost > 0
    assert read.summary.lost == 0
    assert skipped.records.arrived.sum() == pytest.approx(
        skipped.records.consumed.sum() + skipped.records.waiting.sum() + skipped.summary.lost
    )
    # A new partition has no backlog once it is read from its end.
    assert (skipped.records.catch_up_ms[4:] == 0).all()
    assert (read.records.catch_up_ms[4:] > 0).all()


def test_what_the_group_has_committed_is_not_skipped_after_a_restart():
    restart = {"event": "restart", "at_ms": "1 min", "consumer": "worker-0", "down_ms": "20 s"}
    result = run(load={"rate": 100, "auto_offset_reset": "latest"}, events=[restart])
    assert result.summary.lost == 0
    assert result.summary.peak_lag > 0


def test_a_new_partition_is_skipped_once():
    leave = {"event": "restart", "at_ms": "30 min", "consumer": "worker-0", "down_ms": "20 s"}
    load = {"rate": 100, "capacity": 10_000, "auto_offset_reset": "latest"}
    assert run(load=load, events=[GROW, leave]).summary.lost == run(load=load).summary.lost
