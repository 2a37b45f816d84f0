"""What records of deploys teach: the arithmetic of the judge, and the page of what it judged."""

import re

import pytest

from benchmarks.learning.cells import JUDGES, KINDS, ROLES, TEACHES
from benchmarks.learning.judging import Figures, judge, measured_figures, misses, scenario_of_run
from benchmarks.learning.page import CAUSES, MEASURED, NAMES, PAGE, RECORDS, page, verdicts
from benchmarks.learning.running import peak_lag
from benchmarks.measured import read_runs
from copartition.simulate_scenarios.learned import LEAST
from copartition.simulation import Join, Leave

RUNS = read_runs(MEASURED, "runs")
TEXT = PAGE.read_text(encoding="utf-8")


def rows(section):
    """The rows of the first table after a text of the page, as lists of cells."""
    lines = TEXT[TEXT.index(section) :].splitlines()
    table = [line for line in lines if line.startswith(("|", "#"))]
    first = next(number for number, line in enumerate(table) if line.startswith("|---"))
    found = []
    for line in table[first + 1 :]:
        if line.startswith(("#", "| group")):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def read(at, **offsets):
    """What a process says of the last record of each partition, p0 for partition 0."""
    return {"t": at, "event": "read", "offsets": {name[1:]: [0, last] for name, last in offsets.items()}}


def test_what_waits_is_what_came_and_was_not_read():
    # A partition gets ten records a second from second 0 on, and is read every 0.1 s but from 20 to 24.
    reads = [read(step / 10, p0=step - 1) for step in range(1, 500) if not 200 < step < 240]
    assert peak_lag({"c0.1": reads}, 1, 15.0, 40.0) == pytest.approx(40, abs=1)


def test_records_that_are_read_again_do_not_wait_less():
    reads = [read(step / 10, p0=step - 1) for step in range(1, 400)]
    again = [read(20.05, p0=100), *reads]
    assert peak_lag({"c0.1": again}, 1, 15.0, 30.0) == peak_lag({"c0.1": reads}, 1, 15.0, 30.0)


def test_what_waits_before_a_deploy_does_not_count():
    reads = [read(step, p0=10 * step - 8, p1=10 * step - 8) for step in range(1, 60)]
    # What is left is half of what two partitions get from one read to the next.
    assert peak_lag({"c0.1": reads}, 2, 20.0, 50.0) == pytest.approx(10, abs=1)


def test_what_waits_after_the_end_does_not_count():
    reads = [read(step / 10, p0=step - 1) for step in range(1, 301)]
    assert peak_lag({"c0.1": reads}, 1, 15.0, 30.0) < 1


def test_a_figure_misses_beyond_a_fifth_of_what_was_measured():
    was = Figures(10, 2, 100)
    assert misses(was, Figures(12, 1.6, 120)) == []
    assert misses(was, Figures(12.1, 1.6, 79)) == ["partition_seconds", "peak_lag"]


def test_half_of_twenty_cells_teach_and_the_others_are_of_the_same_kinds():
    assert len(KINDS) == 10
    assert [run["cell"] for run in RUNS] == [kind.cell("judges").name for kind in KINDS.values()]
    assert {path.stem for path in RECORDS.glob("*.ndjson")} == {*KINDS}
    for kind in KINDS.values():
        teaches, judges = (kind.cell(role) for role in ROLES)
        assert (teaches.protocol, teaches.scenario.work) == (judges.protocol, judges.scenario.work)
        assert kind.deploy("judges") in JUDGES.values()
        assert TEACHES not in JUDGES.values()


@pytest.mark.parametrize("deploy", [TEACHES, *JUDGES.values()])
def test_a_deploy_replaces_every_member_once(deploy):
    done = [step for step in deploy.steps(15) if step.at >= 15]
    closed = [step.consumer for step in done if step.what == "close"]
    assert closed == [f"c{number}" for number in range(deploy.members)]
    started = [step.consumer for step in done if step.what == "start"]
    first = deploy.members if deploy.kind == "surge" else 0
    assert started == [f"c{number}" for number in range(first, first + deploy.members)]


def test_a_prediction_is_told_when_processes_start_and_close():
    run = RUNS[0]
    scenario, begins_ms = scenario_of_run(run, {"revoke_ms": "500"}, 0)
    members = KINDS[run["kind"]].deploy("judges").members
    assert sum(isinstance(event, Join) for event in scenario.events) == 2 * members
    closes = [event.at_ms for event in scenario.events if isinstance(event, Leave)]
    assert len(closes) == members
    assert min(closes) == pytest.approx(begins_ms, abs=1_000)
    assert scenario.costs.revoke_ms == 500


def test_the_page_has_a_row_of_every_kind_and_claims_what_its_rows_show():
    found = rows("Of rows that learned")
    assert len(found) == len(KINDS)
    text = " ".join(TEXT.split())
    pauses = [{*filter(None, row[-1].split(", "))} <= {NAMES.peak_lag} for row in found]
    lags = [NAMES.peak_lag not in row[-1] for row in found]
    learned = [row[3] != "not learned" for row in found]
    near = [sum(map(all, zip(figure, learned, strict=True))) for figure in (pauses, lags)]
    assert f"pauses are near in {near[0]} of {sum(learned)}, and the peak lag in {near[1]}**" in text
    assert f"of all {len(found)} rows, pauses in {sum(pauses)} and the lag in {sum(lags)}." in text
    for row in found:
        was, said = (Figures(*map(float, row[first:10:2])) for first in (4, 5))
        outside = ", ".join(getattr(NAMES, name) for name in misses(was, said))
        # Figures of the page are rounded, so one at the very edge may fall on either side.
        edge = any(abs(abs(two / one - 1) - 0.2) < 0.01 for one, two in zip(was, said, strict=True))
        assert outside == row[-1] or edge, row
    held = [row[-1] for row in rows("## What the command says")]
    rolls = [kind for kind in KINDS.values() if kind.deploy("judges").kind == "rolling"]
    assert len(held) == len(rolls)
    nearly = held.count("yes") + held.count("near")
    assert f"Of {len(held)} rolls **what was measured is inside in {held.count('yes')}, and " in text
    assert f"of the nearer end in {nearly}**" in text


def test_every_row_that_is_outside_has_its_cause_and_no_other_has_one():
    outside = {name for name, row in zip(KINDS, rows("Of rows that learned"), strict=True) if row[-1]}
    assert outside == set(CAUSES)


def test_groups_of_the_consumer_protocol_teach_nothing():
    for kind, row in zip(KINDS.values(), rows("Of rows that learned"), strict=True):
        assert (row[3] == "not learned") is (kind.protocol == "kip848"), kind
    said = [row[1] for row in rows("## What each record taught")]
    assert sum("next heartbeat hides" in text for text in said) == 2
    counts = [int(number) for text in said for number in re.findall(r"learned from (\d+) rebal", text)]
    assert len(counts) == 8
    assert min(counts) >= LEAST


def test_a_row_is_what_its_record_teaches_and_its_run_shows():
    kind = KINDS["librdkafka-cooperative-1000-0"]
    run = next(run for run in RUNS if run["kind"] == kind.name)
    found = judge(kind, run, RECORDS / f"{kind.name}.ndjson")
    row = rows("Of rows that learned")[[*KINDS].index(kind.name)]
    assert row[3] == f"{found.learned:.0f} ms"
    assert row[4] == f"{measured_figures(run).partition_seconds:.1f}"
    assert row[5] == f"{found.predicted.partition_seconds:.1f}"


@pytest.mark.slow
def test_the_page_is_what_records_teach_today():
    assert page(verdicts()) == TEXT
