"""The short form of `make fuzz`, and that it finds what it looks for."""

import time

import pytest

from partitioning.errors import SourceError
from tests.support.tiers import examples
from tools.fuzz.runner import run
from tools.fuzz.targets import SHARES, TARGETS

SEED = 19
CASES = examples(150)


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_comes_out_but_answers_and_typed_errors(name):
    tally = run({name: TARGETS[name]}, SEED, SHARES[name] * CASES)
    assert tally.cases[name] == SHARES[name] * CASES
    assert [(finding.number, finding.place, finding.case) for finding in tally.findings] == []


def endless(case):
    while True:
        pass


def raising(error):
    def check(case):
        raise error

    return check


@pytest.mark.parametrize(
    ("check", "refused", "found"),
    [
        (lambda _: None, 0, []),
        (raising(SourceError("no")), 1, []),
        (raising(KeyError("no")), 0, ["KeyError"]),
        (raising(MemoryError()), 0, ["MemoryError"]),
        (raising(SystemExit(2)), 0, ["SystemExit"]),
        pytest.param(endless, 0, ["TooSlowError"], marks=pytest.mark.slow),
    ],
)
def test_what_must_not_come_out_is_a_finding(check, refused, found):
    tally = run({"it": (lambda rng: rng.random(), check)}, SEED, 1)
    assert tally.refused["it"] == refused
    assert [finding.place.split()[0] for finding in tally.findings] == found


@pytest.mark.live
def test_time_asleep_is_not_counted():
    tally = run({"it": (lambda rng: rng.random(), lambda _: time.sleep(1.1))}, SEED, 1)
    assert tally.findings == []


def test_a_case_is_made_of_seed_target_and_number():
    seen = []
    run({"it": (lambda rng: rng.random(), seen.append)}, SEED, 3)
    run({"it": (lambda rng: rng.random(), seen.append)}, SEED, 1, first=2)
    run({"it": (lambda rng: rng.random(), seen.append)}, SEED + 1, 1)
    assert seen[2] == seen[3]
    assert len(set(seen)) == 4
