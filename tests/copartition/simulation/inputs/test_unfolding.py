"""What people do, as single events."""

import pytest

from copartition.simulation import (
    Autoscaler,
    Consumer,
    CrashLoop,
    Deployment,
    Join,
    Restart,
    RollingRestart,
    StatefulSetRoll,
    autoscaler,
    unfolding,
)

A, B, C = PEOPLE = tuple(Consumer(f"w-{number}", rack=f"r{number}") for number in range(3))


def in_short(steps):
    """Steps as (time, "+" or "-" or "x" and the name)."""
    signs = {"Join": "+", "Leave": "-", "Crash": "x"}
    return [(step.at_ms, signs[type(step.event).__name__] + step.name) for step in steps]


def in_turn(steps):
    return sorted(in_short(steps), key=lambda step: step[0])


def lengths(*values):
    """Gives one after the other, whatever is asked."""
    given = iter(values)
    return lambda _: next(given)


def test_a_restart_closes_and_comes_back():
    assert in_short(unfolding.restart(Restart(5, "w-0", 7), 5, A, float)) == [(5, "-w-0"), (12, "+w-0")]


@pytest.mark.parametrize(
    ("unfold", "event"),
    [
        (unfolding.restart, Restart(0, "w-0", 7, ("range",))),
        (unfolding.rolling_restart, RollingRestart(every_ms=1, down_ms=7, assignors=("range",))),
        (unfolding.stateful_set_roll, StatefulSetRoll(0, 7, assignors=("range",))),
    ],
)
def test_who_comes_back_may_have_other_strategies(unfold, event):
    steps = unfold(event, 0, A if isinstance(event, Restart) else [A], float)
    assert steps[-1].event == Join(7, Consumer("w-0", rack="r0", assignors=("range",)))


def test_a_script_restarts_at_fixed_times_and_draws_each_absence():
    event = RollingRestart(at_ms=5, every_ms=10, down_ms=0)
    assert in_short(unfolding.rolling_restart(event, 5, PEOPLE, lengths(7, 30, 1))) == [
        (5, "-w-0"),
        (12, "+w-0"),
        (15, "-w-1"),
        (45, "+w-1"),
        (25, "-w-2"),
        (26, "+w-2"),
    ]


def test_a_stateful_set_waits_for_each_to_be_ready_from_the_last_to_the_first():
    event = StatefulSetRoll(5, 7, 3)
    assert in_short(unfolding.stateful_set_roll(event, 5, PEOPLE, float)) == [
        (5, "-w-2"),
        (12, "+w-2"),
        (15, "-w-1"),
        (22, "+w-1"),
        (25, "-w-0"),
        (32, "+w-0"),
    ]


@pytest.mark.parametrize(
    ("surge", "unavailable", "steps"),
    [
        (1, 0, [(2, "+w-0-r2"), (5, "-w-0"), (7, "+w-1-r2"), (10, "-w-1"), (12, "+w-2-r2"), (15, "-w-2")]),
        (0, 1, [(0, "-w-0"), (2, "+w-0-r2"), (5, "-w-1"), (7, "+w-1-r2"), (10, "-w-2"), (12, "+w-2-r2")]),
        (3, 0, [(2, "+w-0-r2"), (2, "+w-1-r2"), (2, "+w-2-r2"), (5, "-w-0"), (5, "-w-1"), (5, "-w-2")]),
        (1, 9, [(0, "-w-0"), (0, "-w-1"), (0, "-w-2"), (2, "+w-0-r2"), (2, "+w-1-r2"), (2, "+w-2-r2")]),
    ],
)
def test_a_deployment_keeps_to_surge_and_unavailable(surge, unavailable, steps):
    event = Deployment(0, surge, unavailable, 2, 3)
    assert in_turn(unfolding.deployment(event, 0, PEOPLE, {}, float)) == steps


def test_a_deployment_closes_as_new_ones_get_ready_whatever_their_order():
    # Two new ones are created at once; the second is ready first.
    steps = unfolding.deployment(Deployment(0, 2), 0, [A, B], {}, lengths(1, 50, 1, 4))
    assert in_turn(steps) == [(1, "+w-0-r2"), (1, "+w-1-r2"), (5, "-w-0"), (51, "-w-1")]


def test_a_new_consumer_is_like_the_one_it_replaces():
    steps = unfolding.deployment(Deployment(0, assignors=("range",)), 0, [B], {}, float)
    assert steps[0].event.consumer == Consumer("w-1-r2", rack="r1", assignors=("range",))


@pytest.mark.parametrize(
    ("running", "taken", "names"),
    [
        (["w-3"], [], ["w-3-r2"]),
        (["w-3-r2"], [], ["w-3-r3"]),
        (["w-3-r9"], ["w-3-r10"], ["w-3-r11"]),
        (["a", "a-r2"], ["a", "a-r2"], ["a-r3", "a-r4"]),
        (["a-r2", "a"], ["a", "a-r2"], ["a-r3", "a-r4"]),
        (["a-r" + "9" * 5_000], [], ["a-r" + "9" * 5_000 + "-r2"]),
    ],
)
def test_new_names_count_revisions(running, taken, names):
    people = [Consumer(name) for name in running]
    steps = unfolding.deployment(Deployment(0), 0, people, taken, float)
    assert [step.name for step in steps if isinstance(step.event, Join)] == names


def test_an_empty_group_has_nothing_to_deploy():
    assert unfolding.deployment(Deployment(0), 0, [], {}, float) == []


@pytest.mark.parametrize(
    ("event", "backoffs"),
    [
        (CrashLoop(0, "w-0", 6, 1, 10, 100), [10, 20, 40, 80, 100, 100]),
        (CrashLoop(0, "w-0", 3, 1, 300, 100), [100, 100, 100]),
        (CrashLoop(0, "w-0", 3, 200, 10, 100), [10, 10, 10]),  # runs for twice the most: it starts anew
        (CrashLoop(0, "w-0", 3, 199, 10, 100), [10, 20, 40]),
    ],
)
def test_a_crash_loop_backs_off(event, backoffs):
    steps = unfolding.crash_loop(event, 0, A, float)
    assert {type(step.event).__name__ for step in steps[::2]} == {"Crash"}
    pairs = zip(steps[::2], steps[1::2], strict=True)
    assert [back.at_ms - crash.at_ms for crash, back in pairs] == backoffs
    assert {again.at_ms - back.at_ms for back, again in zip(steps[1::2], steps[2::2], strict=False)} == {
        event.up_ms
    }


@pytest.mark.parametrize(
    ("number", "like", "present", "names"),
    [
        (2, "w-2", ["w-0", "w-1", "w-2"], ["w-3", "w-4"]),
        (2, "w-2", ["w-0", "w-2"], ["w-1", "w-3"]),
        (1, "w-2-r3", ["w-0-r3", "w-1-r3", "w-2-r3"], ["w-3-r3"]),
        (2, "alpha", ["alpha"], ["alpha-0", "alpha-1"]),
        (0, "w-2", [], []),
    ],
)
def test_newcomers_have_the_first_free_numbers(number, like, present, names):
    made = unfolding.newcomers(number, Consumer(like, rack="r"), present, {})
    assert made == [Consumer(name, rack="r") for name in names]


def test_who_was_there_before_comes_back_with_the_strategies_of_now():
    known = {"w-1": Consumer("w-1", rack="r1", assignors=("sticky",))}
    made = unfolding.newcomers(1, Consumer("w-0", rack="r0", assignors=("range",)), ["w-0"], known)
    assert made == [Consumer("w-1", rack="r1", assignors=("range",))]


def looks(event, *seen, partitions=100):
    """What an autoscaler wants at each of (time, lag, present)."""
    scaler = autoscaler.Scaler(event)
    return [scaler.wanted_number(at_ms, lag, present, partitions) for at_ms, lag, present in seen]


@pytest.mark.parametrize(
    ("lag", "present", "wanted"),
    [
        (1_000, 10, 10),
        (1_090, 10, 10),  # within a tenth
        (910, 10, 10),
        (1_110, 10, 12),
        (100_000, 10, 20),  # no more than twice as many
        (100_000, 2, 6),  # or four more
        (100_000, 60, 100),  # no more than partitions
        (0, 0, 0),
        (1, 0, 1),
    ],
)
def test_an_autoscaler_divides_the_lag(lag, present, wanted):
    assert looks(Autoscaler(0, 100, fewest=0), (0, lag, present)) == [wanted]


@pytest.mark.parametrize(
    ("lag", "present", "wanted"),
    [
        (100_000, 11, 11),  # KEDA cuts the lag to 1,200, which is within a tenth of 1,100
        (100_000, 10, 12),
        (1_299, 10, 13),  # as KEDA divides whole numbers, and 12 is not more than 12
        (1_300, 10, 12),
    ],
)
def test_keda_cuts_the_lag_before_the_tolerance(lag, present, wanted):
    assert looks(Autoscaler(0, 100), (0, lag, present), partitions=12) == [wanted]


def test_an_autoscaler_has_a_hundred_consumers_at_most_unless_it_says_otherwise():
    assert looks(Autoscaler(0, 1), (0, 1_000, 90), partitions=500) == [100]


@pytest.mark.parametrize(("present", "wanted"), [(1, 3), (4, 4), (9, 5)])
def test_an_autoscaler_keeps_its_bounds_at_once(present, wanted):
    assert looks(Autoscaler(0, 100, fewest=3, most=5), (0, present * 100, present)) == [wanted]


def test_an_autoscaler_takes_away_what_was_too_much_for_a_whole_cool_down():
    event = Autoscaler(0, 100, cooldown_ms=60_000)
    seen = [(0, 1_000, 10), (30_000, 500, 10), (60_000, 700, 10), (90_000, 200, 10), (120_000, 200, 7)]
    assert looks(event, *seen) == [10, 10, 10, 7, 7]
    assert looks(event, *seen, (120_001, 200, 7)) == [10, 10, 10, 7, 7, 2]


def test_an_autoscaler_waits_for_its_cool_down_before_it_takes_the_first_away():
    event = Autoscaler(0, 100, cooldown_ms=60_000)
    assert looks(event, (0, 0, 10), (60_000, 0, 10), (60_001, 0, 10)) == [10, 10, 1]
