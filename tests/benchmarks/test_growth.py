"""What growing topics lost, as it was measured, beside what the tools say."""

import json

from benchmarks.growth.__main__ import MEASURED, PAGE, page
from copartition.simulation.growth import find_discoveries
from copartition.simulation.inputs.settings import Settings

RUNS = json.loads(MEASURED.read_text())


def test_the_page_is_that_of_what_was_measured():
    assert PAGE.read_text() == page(RUNS)


def test_earliest_skips_nothing_and_latest_does():
    for run in RUNS:
        assert (max(run["first_read"]) == 0) is (run["reset"] == "earliest"), run


def test_groups_notice_new_partitions_as_soon_as_is_said():
    for run in RUNS:
        [bound] = find_discoveries(run["protocol"], Settings(metadata_max_age_ms=run["age_ms"]))
        rebalance_s = 5  # of a classic group: heartbeats of 3 s and a busy machine
        assert max(run["assigned_s"]) <= bound.at_most_ms / 1_000 + rebalance_s, run
