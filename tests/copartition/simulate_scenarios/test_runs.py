"""Pictures of simulated runs, most of them of runs made by hand."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from assignors.group import Topic
from copartition.kit.page import WIDTH
from copartition.simulate_scenarios import page as page_module
from copartition.simulate_scenarios.lanes import GRID_LANES
from copartition.simulate_scenarios.page import (
    DRAWN,
    HEIGHTS,
    busiest_disturbance,
    charts,
    simulation_html,
    whole_run,
)
from copartition.simulate_scenarios.report import CAUSES, REBALANCES, outage_rows
from copartition.simulation import (
    Consumer,
    Costs,
    LogEntry,
    Outage,
    Phase,
    Rebalance,
    RunSummary,
    Scenario,
    SimulationResult,
    Timeline,
)
from copartition.simulation.outcome.timeline import Zombies
from tests.support.results import RECORDS

READ, BARRIER, UNNOTICED, COMPUTE, HANDOVER = (
    Phase.CONSUMING,
    Phase.PAUSED,
    Phase.UNNOTICED,
    Phase.COMPUTING,
    Phase.HANDOVER,
)


def a_run(lives, *, consumers=("a", "b"), causes=("a left",), zombies=(), log=(), name="by hand", **more):
    """A run in which each partition of orders lives through rows of (phase, until, consumer or cause)."""
    rows = []
    for partition, life in enumerate(lives):
        start = 0.0
        for phase, until, of in life:
            if phase != Phase.ABSENT:
                reads = phase == READ
                rows.append((partition, start, until, phase, of if reads else -1, -1 if reads else of))
            start = until
    types = (np.int32, np.float64, np.float64, np.int8, np.int32, np.int32)
    columns = [np.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
    partition, start, end, phase, consumer, cause = columns
    read_twice = zip(*zombies, strict=True) if zombies else ((),) * 4
    types = (np.int32, np.float64, np.float64, np.int32)
    timeline = Timeline(
        ("orders",),
        np.array([0, len(lives)]),
        consumers,
        partition,
        start,
        end,
        phase,
        consumer,
        causes,
        cause,
        Zombies(*(np.array(column, kind) for column, kind in zip(read_twice, types, strict=True))),
    )
    still = phase != READ
    scenario = Scenario((Topic("orders", len(lives)),), tuple(map(Consumer, consumers)), name=name)
    summary = RunSummary(
        seed=0,
        duration_ms=float(end.max()),
        rebalances=0,
        rebalancing_ms=0.0,
        member_pause_ms=0.0,
        partition_seconds=float((end - start)[still].sum()) / 1_000,
        longest_pause_ms=0.0,
        detection_ms=0.0,
        barrier_ms=0.0,
        compute_ms=0.0,
        handover_ms=0.0,
        moved_partitions=0,
        unassigned_partitions=0,
        double_read_ms=float(sum(until - since for _, since, until, _ in zombies)),
        peak_lag=None,
        recovery_ms=None,
        duplicates=None,
        lost=None,
    )
    result = SimulationResult(scenario, None, (), lambda: timeline, summary, (), None, log)
    return replace(result, **more)


def happened(*entries):
    return tuple(LogEntry(at_ms, what, subject, {}) for at_ms, what, subject in entries)


def rebalance(started_ms, completed_ms, *causes):
    return Rebalance(1, started_ms, completed_ms, causes, 0, None, 0)


def records(times, lag):
    return replace(RECORDS, lag_ms=np.array(times, float), lag=np.array(lag, float))


def with_load(result, times, lag):
    summary = replace(result.summary, peak_lag=max(lag), recovery_ms=np.inf, duplicates=7.0, lost=0.0)
    return replace(result, records=records(times, lag), summary=summary)


@pytest.fixture
def crash():
    """Partitions 0 and 1 of `a`, which crashes at 10 s; 2 of `b`, which takes them over."""
    lost = [
        (READ, 10_000, 0),
        (UNNOTICED, 55_000, 0),
        (BARRIER, 57_926, 0),
        (COMPUTE, 58_000, 0),
        (HANDOVER, 60_000, 0),
        (READ, 100_000, 1),
    ]
    return a_run(
        [lost, lost, [(READ, 100_000, 1)]],
        causes=("a crashed",),
        zombies=[(0, 60_000, 70_000, 0)],
        log=happened((10_000, "crash", "a"), (55_000, "session-expired", "a")),
    )


def panel(result):
    return whole_run([result]).panels[0]


def shapes(layers):
    return {style: drawn for style, drawn in layers.items() if drawn}


def boxes(drawn):
    """x, y, width and height of each rectangle."""
    paths = [drawn] if isinstance(drawn, str) else [shape.path for shape in drawn]
    parts = [part for path in paths for part in path.split("z") if part]
    return np.array([[float(number) for number in re.findall(r"[\d.]+", part)[:4]] for part in parts])


def test_the_area_of_a_phase_is_its_time(crash):
    drawn = shapes(panel(crash).phases.layers)
    for style, lasted in (("detection", 45_000), ("barrier", 2_926), ("handover", 2_000)):
        area = boxes(drawn[style])[:, 2:].prod(axis=1).sum()
        assert area / (WIDTH * HEIGHTS.lanes) == pytest.approx(2 * lasted / (3 * 100_000), abs=1e-3)


@pytest.mark.parametrize(
    ("phase", "style", "width"),
    [(BARRIER, "barrier", 0.7), (HANDOVER, "handover", 0.7), (COMPUTE, "compute", 0.3)],
)
def test_a_phase_too_short_to_be_seen_is_drawn_all_the_same(phase, style, width):
    brief = a_run([[(READ, 50_000, 0), (phase, 50_001, 0), (READ, 100_000, 0)]])
    assert boxes(shapes(panel(brief).phases.layers)[style])[0, 2] == width


def test_what_neighbours_live_through_together_is_one_rectangle(crash):
    assert [len(drawn) for drawn in panel(crash).phases.layers.values()] == [1, 1, 1, 1]


def test_a_pause_tells_partitions_phase_times_and_cause(crash):
    hint = shapes(panel(crash).phases.layers)["detection"][0].hint
    assert hint == "2 partitions, orders:0-1: detection 10 s to 55 s (45.0 s), a crashed"


def test_who_reads_is_told_with_partitions_and_times(crash):
    drawn = shapes(panel(crash).readers.layers)
    assert [shape.hint for shape in drawn["c0 shade-0"]] == [
        "2 partitions, orders:0-1: read by a, 0 s to 10 s"
    ]
    assert {shape.hint for shape in drawn["c1 shade-0"]} == {
        "1 partition, orders:2: read by b, 0 s to 1 min 40 s",
        "2 partitions, orders:0-1: read by b, 1 min to 1 min 40 s",
    }


def test_a_consumer_has_the_same_colour_in_every_run():
    runs = [a_run([[(READ, 9_000, 0)]], consumers=names) for names in (("a", "b"), ("b", "a"))]
    first, second = (next(iter(picture.readers.layers)) for picture in whole_run(runs).panels)
    assert (first, second) == ("c0 shade-0", "c1 shade-0")


def test_consumers_beyond_the_colours_have_other_shades():
    names = tuple(f"worker-{number}" for number in range(20))
    lives = [[(READ, 9_000, number)] for number in range(20)]
    styles = [*panel(a_run(lives, consumers=names)).readers.layers]
    assert len(set(styles)) == 20


def test_a_partition_with_two_readers_is_marked(crash):
    (shape,) = panel(crash).second_readers
    assert (
        shape.hint == "1 partition, orders:0: two readers 1 min to 1 min 10 s (10.0 s), a no longer owns it"
    )
    assert boxes([shape])[0].tolist() == [600, 0, 100, 40]


def test_two_readers_are_seen_in_a_group_of_any_size():
    lives = [[(READ, 100_000, number % 2)] for number in range(5_000)]
    (shape,) = panel(a_run(lives, zombies=[(7, 50_000, 50_010, 1)])).second_readers
    assert boxes([shape])[0, 2:].tolist() == [2, 2]


def test_a_partition_is_there_from_its_birth_to_the_end_of_its_run():
    grown = a_run([[(READ, 80_000, 0)], [(Phase.ABSENT, 40_000, 0), (READ, 80_000, 0)]])
    longer = a_run([[(READ, 100_000, 0)]])
    drawn = boxes(whole_run([grown, longer]).panels[0].existing)
    assert drawn[:, [0, 2]].tolist() == [[0, 800], [400, 400]]


def test_the_curve_is_down_to_the_share_that_is_read(crash):
    area = panel(crash).reading.area
    assert area.startswith("M0 34H0V0.0H100V22.7")
    assert panel(crash).reading.spots[10][1] == "10 s to 11 s: 33.3% read"


def test_the_curve_shows_what_is_over_within_a_pixel():
    result = a_run([[(READ, 50_010, 0), (BARRIER, 50_020, 0), (READ, 100_000, 0)]])
    assert panel(result).reading.spots[50][1] == "50 s to 51 s: 0.0% read"


def test_a_pause_that_lasts_to_the_end_is_not_over_there():
    result = a_run([[(READ, 60_000, 0), (BARRIER, 100_000, 0)]])
    assert panel(result).reading.spots[-1][1] == "1 min 39 s to 1 min 40 s: 0.0% read"


def test_lag_is_drawn_where_there_is_a_load(crash):
    assert panel(crash).lag is None
    assert "records behind" not in simulation_html([crash])
    loaded = with_load(crash, [0, 10_000, 60_000, 100_000], [0, 0, 5_000, 0])
    assert panel(loaded).lag.spots[60][1] == "1 min to 1 min 1 s: 5,000 records behind"
    assert "records behind" in simulation_html([loaded])


def test_a_peak_of_lag_within_a_pixel_is_drawn(crash):
    loaded = with_load(crash, [0, 50_010, 50_011, 50_012, 100_000], [0, 0, 900, 0, 0])
    assert "H500V0.0H501" in panel(loaded).lag.area


def test_lag_has_one_scale_for_all_runs(crash):
    runs = [with_load(crash, [0, 100_000], [lag, lag]) for lag in (500, 1_000)]
    drawn = whole_run(runs)
    assert [picture.lag.area.split("H")[1] for picture in drawn.panels] == ["0V24.0", "0V0.0"]
    assert {picture.most_lag for picture in drawn.panels} == {1_000}


def test_a_load_without_records_yet_has_no_curve(crash):
    assert panel(replace(crash, records=records([], []))).lag is None


def test_lag_that_never_recovers_is_said_so(crash):
    assert '<td class="n">never</td>' in simulation_html([with_load(crash, [0, 100_000], [0, 9])])


def test_a_pause_without_end_is_said_so(crash):
    endless = replace(crash, summary=replace(crash.summary, longest_pause_ms=np.inf))
    assert '<td class="n">no end</td>' in simulation_html([endless])


def test_events_are_marked_when_they_happened(crash):
    (mark,) = panel(crash).marks
    assert (mark.x, mark.label, mark.hint) == (100, "a crashes", "10 s: a crashes")


def test_events_that_cannot_be_told_apart_are_one_mark():
    log = happened(*((10_000 + number, "leave", f"worker-{number}") for number in range(12)))
    (mark,) = panel(a_run([[(READ, 100_000, 0)]], log=log)).marks
    assert mark.label == "12 times: leave"
    assert mark.hint.startswith("10 s: worker-0 leaves; 10.001 s: worker-1 leaves; ")
    assert mark.hint.endswith("; and 4 more events")


def test_labels_do_not_cover_one_another():
    log = happened(*((1_000 * number, "join", f"worker-{number}") for number in range(100)))
    placed = panel(a_run([[(READ, 100_000, 0)]], log=log)).marks
    for row in (0, 1):
        labelled = [mark for mark in placed if mark.row == row]
        assert labelled
        for before, after in pairwise(labelled):
            assert before.label_x + 6 * len(before.label) < after.label_x
    assert all(mark.label_x + 6 * len(mark.label) <= WIDTH for mark in placed)


def test_lines_give_way_to_ticks_where_they_would_hide_the_lanes():
    log = happened(*((1_000 * number, "join", f"worker-{number}") for number in range(100)))
    assert panel(a_run([[(READ, 100_000, 0)]], log=log)).crowded
    assert not panel(a_run([[(READ, 100_000, 0)]], log=log[:30])).crowded


FIRST = 60_000
PAUSE = [(READ, FIRST, 0), (BARRIER, 63_000, 0), (READ, 900_000, 1)]


def close_up(*log, rebalances=(), lives=(PAUSE,)):
    result = a_run(lives, log=happened(*log), rebalances=tuple(rebalances))
    found = busiest_disturbance([result])
    return found and (found.start, found.end)


def around(start, end):
    margin = (end - start) / 10
    return (start - margin, end + margin)


def test_up_close_is_the_first_event_with_its_pauses():
    assert close_up((FIRST, "leave", "a")) == around(FIRST, 63_000)


def test_up_close_has_the_follow_up_that_begins_after_the_next_event():
    done = [
        rebalance(60_000, 63_000, "a joined"),
        rebalance(63_000, 66_000, "partitions revoked", "b left"),
        rebalance(70_000, 73_000, "c left"),
    ]
    log = [(FIRST, "join", "a"), (62_000, "leave", "b")]
    assert close_up(*log, rebalances=done) == around(FIRST, 66_000)


def test_up_close_ends_when_the_follow_up_has_been_handed_over():
    done = [rebalance(60_000, 63_000, "a joined"), rebalance(63_000, 66_000, "partitions revoked")]
    waited = [(READ, 60_000, 0), (BARRIER, 67_000, 0), (READ, 900_000, 1)]
    moved = [(READ, 63_000, 0), (BARRIER, 66_000, 0), (HANDOVER, 68_000, 0), (READ, 900_000, 1)]
    log = [(FIRST, "join", "a"), (62_000, "leave", "b")]
    assert close_up(*log, rebalances=done, lives=[waited, moved]) == around(FIRST, 68_000)


def test_up_close_is_what_stops_the_most():
    twice = [(READ, 10_000, 0), (BARRIER, 11_000, 0), (READ, 60_000, 0), *PAUSE[1:]]
    assert close_up((10_000, "leave", "b"), (FIRST, "leave", "a"), lives=[twice]) == around(FIRST, 63_000)


def test_up_close_has_the_return_of_who_left():
    done = [rebalance(60_000, 63_000, "a left"), rebalance(80_000, 83_000, "a joined")]
    log = [(FIRST, "leave", "a"), (80_000, "join", "a"), (120_000, "leave", "b")]
    assert close_up(*log, rebalances=done) == around(FIRST, 83_000)


def test_up_close_ends_before_the_next_event():
    done = [rebalance(60_000, 63_000, "a joined"), rebalance(70_000, 73_000, "b joined")]
    log = [(FIRST, "join", "a"), (70_000, "join", "b")]
    assert close_up(*log, rebalances=done) == around(FIRST, 63_000)


def test_nothing_is_shown_up_close_where_nothing_came_of_it():
    assert close_up((FIRST, "join", "a"), lives=[[(READ, 900_000, 0)]]) is None
    assert close_up() is None


def test_a_page_shows_the_busiest_disturbance_up_close_where_the_run_is_long():
    log = happened((FIRST, "leave", "a"))
    assert [chart.title for chart in charts([a_run([PAUSE], log=log)])] == [
        "The whole run",
        "The busiest disturbance up close",
    ]
    short = [*PAUSE[:2], (READ, 66_000, 1)]
    assert len(charts([a_run([short], log=happened((1_000, "leave", "a")))])) == 1


def test_each_scenario_has_a_close_up_of_its_own_and_all_share_the_whole_axis():
    later = [(READ, 300_000, 0), (BARRIER, 304_000, 0), (READ, 900_000, 1)]
    runs = [
        a_run([PAUSE], log=happened((FIRST, "leave", "a")), name="early"),
        a_run([later], log=happened((300_000, "leave", "a")), name="late"),
        a_run([PAUSE], log=happened((FIRST, "leave", "a")), name="early"),
    ]
    whole, early, late = charts(runs)
    assert [len(chart.panels) for chart in (whole, early, late)] == [3, 2, 1]
    assert early.title == "The busiest disturbance up close: early"
    assert late.panels[0].facts == "0 rebalances, 4.0 partition-seconds not read, 4.0 s at most"
    assert len({chart.name for chart in (whole, early, late)}) == 3


def test_what_is_up_close_has_its_own_numbers():
    twice = [*PAUSE[:2], (READ, 500_000, 1), (BARRIER, 502_000, 0), (READ, 900_000, 0)]
    log = happened((FIRST, "leave", "a"), (500_000, "leave", "b"))
    done = (rebalance(60_000, 63_000, "a left"), rebalance(500_000, 502_000, "b left"))
    never = [(BARRIER, 900_000, 0)]
    whole, near = charts([a_run([twice, never], log=log, rebalances=done)])
    assert whole.panels[0].facts == "2 rebalances, 905.0 partition-seconds not read, 15 min 00 s at most"
    assert near.panels[0].facts == "1 rebalance, 6.6 partition-seconds not read, 3.6 s at most"


def a_crowd(partitions, turns, *, together=False):
    """Partitions whose readers change and change; each at a time of its own, or all at once."""
    lives = []
    for partition in range(partitions):
        shift = 0 if together else (partition * 37) % 900
        life = []
        for turn in range(turns):
            at = 1_000 * (turn + 1) + shift
            life += [(READ, at, (partition + turn) % 50), (BARRIER, at + 60, 0)]
        lives.append([*life, (READ, 1_000 * (turns + 2), 0)])
    return a_run(lives, consumers=tuple(f"worker-{number}" for number in range(50)))


@pytest.mark.slow
def test_a_page_of_a_large_group_with_a_long_story_stays_small():
    result = a_crowd(500, 60)
    for runs in ([result], [result] * DRAWN):
        assert len(simulation_html(runs)) < 2_500_000


def test_a_page_of_many_runs_draws_the_first(crash, monkeypatch):
    assert DRAWN == 12
    monkeypatch.setattr(page_module, "DRAWN", 3)
    runs = [replace(crash, outages=(outage(number, 5.0),)) for number in range(5)]
    page = simulation_html(runs)
    assert page.count("<svg") == 3
    assert "Pictures and causes are those of the first 3 runs." in page
    assert "worker-2 left" in page
    assert "worker-3 left" not in page
    assert page.count('<th scope="row"') == len(runs)
    assert "of the first" not in simulation_html(runs[:3])


@pytest.mark.heavy
def test_a_large_group_that_pauses_together_is_drawn_exactly():
    whole = panel(a_crowd(2_000, 5, together=True)).phases
    assert [len(drawn) for drawn in shapes(whole.layers).values()] == [5]
    assert whole.layers["barrier"][0].hint.endswith("barrier 1 s to 1.06 s (60 ms), a left")


def test_a_lane_of_many_partitions_is_deeper_the_more_stand_still():
    """Every other partition of 6,000 stands still for a second, of the last lane one in a hundred."""
    still = [(READ, 50_000, 0), (BARRIER, 62_500, 0), (READ, 100_000, 0)]
    lives = [
        still if (partition % 2 if partition < 5_900 else partition == 5_950) else [(READ, 100_000, 0)]
        for partition in range(6_000)
    ]
    strip = panel(a_run(lives)).phases
    drawn = shapes(strip.layers)
    assert strip.caption.startswith("what partitions wait for, in 60 lanes of about 100;")
    (half,) = [shape for shape in drawn["barrier depth-2"] if "50.00%" in shape.hint]
    names, told = half.hint.split(": ", 1)
    assert names.startswith("5,900 partitions, orders:0-39…")
    assert told.startswith("50.00% not read, mostly barrier, ")
    assert told.endswith(", for example: a left")
    assert boxes([half])[0] == pytest.approx([500, 0, 125, 118])
    (few,) = [shape for shape in drawn["barrier depth-0"] if "1.00%" in shape.hint]
    assert boxes([few])[0, 1] == 118


def test_readers_of_a_large_group_are_those_of_one_partition_in_each_lane():
    lives = [[(READ, 100_000, number % 50)] for number in range(6_000)]
    names = tuple(f"worker-{number}" for number in range(50))
    sampled = [(READ, 50_000, 3), (READ, 100_000, 4)]
    lives[0] = sampled
    strip = panel(a_run([*lives, *[sampled] * 6_000], consumers=names)).readers
    assert strip.caption == "who reads, one partition in about 200"
    told = {shape.hint for drawn in strip.layers.values() for shape in drawn}
    assert any(hint.endswith("read by worker-4 about 50 s to 1 min 40 s") for hint in told)
    assert sum(map(len, strip.layers.values())) <= 2 * GRID_LANES


@pytest.mark.slow
def test_pauses_that_a_grid_cannot_show_leave_no_holes_in_it():
    strip = panel(a_crowd(600, 100)).readers
    drawn = np.concatenate([boxes(drawn) for drawn in strip.layers.values()])
    assert strip.caption == "who reads, one partition in about 10"
    assert drawn[:, 2:].prod(axis=1).sum() == pytest.approx(WIDTH * HEIGHTS.lanes, rel=0.01)


def outage(number, cost):
    return Outage(f"worker-{number} left", 2, cost, 0.0, 0.0, 0.0, 5.0)


def test_causes_are_listed_in_the_order_of_time(crash):
    rows = outage_rows(replace(crash, outages=tuple(outage(number, number) for number in range(3))))
    assert [row.cause for row in rows] == ["worker-0 left", "worker-1 left", "worker-2 left"]


def test_causes_that_cost_little_are_one_row_where_there_are_many(crash):
    outages = tuple(outage(number, float(number)) for number in range(100))
    *rows, rest = outage_rows(replace(crash, outages=outages))
    assert [row.cause for row in rows] == [f"worker-{number} left" for number in range(80, 100)]
    assert len(rows) == CAUSES
    assert (rest.cause, rest.pause_ms, rest.catch_up_ms) == ("80 other causes", sum(range(80)), 400)


def test_the_page_tells_pauses_by_cause_and_phase(crash):
    page = simulation_html([replace(crash, outages=(Outage("a crashed", 2, 9e4, 5_852, 148, 4e3, None),))])
    row = re.search(r"<tr><td>a crashed</td>.*?</tr>", page).group()
    cells = re.findall(r'<td class="n">(.*?)</td>', row)
    assert cells == ["2", "1 min 40 s", "1 min 30 s", "5.9 s", "148 ms", "4.0 s"]
    widths = [float(width) for width in re.findall(r'style="width:([\d.]+)%"', row)]
    assert widths == pytest.approx([90, 5.85, 0.15, 4], abs=0.01)


def test_rebalances_beyond_the_first_are_counted(crash):
    done = tuple(rebalance(number, number + 1, *"abcdef") for number in range(REBALANCES + 7))
    page = simulation_html([replace(crash, rebalances=done)])
    assert page.count("<td>a, b, c, d and 2 more</td>") == REBALANCES
    assert "And 7 more rebalances." in page


class Sentences(HTMLParser):
    """Text of headings and paragraphs, and labels for those who do not see."""

    def __init__(self, page):
        super().__init__()
        self.said, self._open = [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self._open = tag in ("p", "h1", "h2", "span", "figcaption")
        self.said += [value for name, value in attributes if name == "aria-label" and len(value) > 40]

    def handle_data(self, data):
        if self._open and data.strip():
            self.said.append(data.strip())


def test_no_sentence_stands_twice_on_a_page():
    longer = [(READ, FIRST, 0), (BARRIER, 64_000, 0), (READ, 900_000, 1)]
    runs = [
        a_run([life], name=name, log=happened((FIRST, "leave", "a")))
        for name, life in (("now", PAUSE), ("then", longer))
    ]
    said = Sentences(simulation_html(runs)).said
    assert len(said) > 8
    assert len(said) == len(set(said))


def test_runs_of_several_scenarios_are_told_apart(crash):
    page = simulation_html([crash, replace(crash, scenario=replace(crash.scenario, name="the other plan"))])
    assert "<title>by hand and the other plan</title>" in page
    assert "the other plan: cooperative-sticky, dynamic members" in page


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        (Costs(), "nothing but waiting takes time"),
        (Costs(network_ms=5), "a request and its answer takes 5 ms; nothing else but waiting takes time"),
    ],
)
def test_the_page_says_what_is_assumed(crash, costs, said):
    assert said in simulation_html([replace(crash, scenario=replace(crash.scenario, costs=costs))])


def test_the_legend_names_two_readers_only_where_there_are(crash):
    said = "two readers, one of which"
    assert said in simulation_html([crash])
    assert said not in simulation_html([a_run([PAUSE])])


def test_the_legend_names_consumers_as_long_as_colours_tell_them_apart():
    few, many = (
        a_run([[(READ, 9_000, 0)]], consumers=tuple(f"worker-{number}" for number in range(count)))
        for count in (24, 25)
    )
    assert '<i class="c7 shade-2"></i>worker-23</li>' in simulation_html([few])
    page = simulation_html([many])
    assert "<li>worker" not in page
    assert "there are more consumers than colours" in page


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_stand_out(crash, scheme):
    blocks = re.findall(r"(?::root, svg\.alone) \{(.*?)\}", simulation_html([crash]), re.DOTALL)
    colour = dict(re.findall(r"--([\w-]+): (#\w{6});", blocks[scheme]))
    for text in ("ink", "dim"):
        assert contrast(colour[text], colour["page"]) >= 4.5
    for phase in ("detection", "barrier", "compute", "handover"):
        assert contrast(colour[phase], colour["read"]) >= 3
    assert contrast(colour["lag"], colour["page"]) >= 3


def test_what_scrolls_can_be_reached_by_keyboard(crash):
    page = simulation_html([replace(crash, outages=(outage(0, 5.0),), rebalances=(rebalance(0, 1, "x"),))])
    scrolling = re.findall(r'<(?:figure|div class="scroll")[^>]*>', page)
    assert len(scrolling) == 4
    assert all('tabindex="0"' in tag and "aria-label=" in tag for tag in scrolling)
