"""The short form of `make fuzz`, and that it finds what it looks for."""

import signal
import time

import pytest

from partitioning.errors import SourceError
from tests.support.tiers import examples
from tools.fuzz import runner
from tools.fuzz.runner import run
from tools.fuzz.targets import SHARES, TARGETS

SEED = 19
CASES = examples(150)
GENEROUS_S = 60.0
"""Limit of a case that comes to its end by itself: Python's collector alone may take 10 ms of it."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_comes_out_but_answers_and_typed_errors(name):
    tally = run({name: TARGETS[name]}, SEED, SHARES[name] * CASES)
    assert tally.cases[name] == SHARES[name] * CASES
    found = [(finding.number, finding.place, finding.case, str(finding.error)) for finding in tally.findings]
    assert found == []


def endless(case):
    while True:
        pass


def raising(error):
    def check(case):
        raise error

    return check


def limit_to(monkeypatch, seconds):
    monkeypatch.setattr(runner, "SECONDS", seconds)
    monkeypatch.setattr(runner, "LOADING_SECONDS", seconds)


@pytest.mark.parametrize(
    ("check", "refused", "found"),
    [
        (lambda _: None, 0, []),
        (raising(SourceError("no")), 1, []),
        (raising(KeyError("no")), 0, ["KeyError"]),
        (raising(MemoryError()), 0, ["MemoryError"]),
        (raising(SystemExit(2)), 0, ["SystemExit"]),
        (endless, 0, ["TooSlowError"]),
    ],
)
def test_what_must_not_come_out_is_a_finding(monkeypatch, check, refused, found):
    limit_to(monkeypatch, 0.01 if check is endless else GENEROUS_S)
    tally = run({"it": (lambda rng: rng.random(), check)}, SEED, 1)
    assert tally.refused["it"] == refused
    assert [finding.place.split()[1] for finding in tally.findings] == found


def busy_for(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_what_is_loaded_once_is_no_time_of_the_first_case(monkeypatch):
    monkeypatch.setattr(runner, "SECONDS", 0.1)
    loading = [0.12]
    tally = run(
        {"it": (lambda rng: rng.random(), lambda _: busy_for(loading.pop() if loading else 0))}, SEED, 1
    )
    assert tally.findings == []


@pytest.mark.parametrize("check", [raising(KeyError("no")), endless])
def test_one_fault_in_two_targets_is_two_findings(monkeypatch, check):
    limit_to(monkeypatch, 0.01 if check is endless else GENEROUS_S)
    targets = {name: (lambda rng: rng.random(), check) for name in ("one", "other")}
    assert [finding.place.split(":")[0] for finding in run(targets, SEED, 1).findings] == ["one", "other"]


def test_the_place_of_a_slow_case_is_where_it_was_slow(monkeypatch):
    limit_to(monkeypatch, GENEROUS_S)
    # The timer's own signal: with a short limit it could come before the slow place is reached.
    slow = compile("signal.raise_signal(signal.SIGPROF)", f"{runner.ROOT}/assignors/slow.py", "exec")
    (finding,) = run(
        {"it": (lambda rng: rng.random(), lambda _: exec(slow, {"signal": signal}))}, SEED, 1
    ).findings
    assert finding.place == "it: TooSlowError at assignors/slow.py:1"


@pytest.mark.live
def test_time_asleep_is_not_counted():
    tally = run({"it": (lambda rng: rng.random(), lambda _: time.sleep(1.1))}, SEED, 1)
    assert tally.findings == []


def test_a_case_is_made_of_seed_target_and_number():
    def cases(seed, count, first=0):
        tally = run({"it": (lambda rng: rng.random(), raising(KeyError("no")))}, seed, count, first=first)
        return [finding.case for finding in tally.findings]

    three = cases(SEED, 3)
    assert cases(SEED, 1, first=2) == three[2:]
    assert len({*three, *cases(SEED + 1, 1)}) == 4
