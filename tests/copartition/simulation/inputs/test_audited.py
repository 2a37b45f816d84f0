"""Rates of partitions from an audit's counts."""

from dataclasses import replace

import pytest

from copartition.audit.report import audit_json
from copartition.audit.topic_audit import Coverage, Span, TopicAudit
from copartition.simulation import Scenario
from partitioning.errors import ScenarioError

SPANS = (
    # 300 records in two ranges of partition 0, 100 of partition 2, in 20 s.
    Span(0, 0, 199, 1_000_000, 1_012_000, None, 200, 200, 0),
    Span(0, 200, 299, 1_012_000, 1_020_000, None, 100, 100, 0),
    Span(2, 0, 99, 1_005_000, 1_009_000, None, 100, 100, 0),
)
COVERAGE = Coverage("since", 400, 400, (0, 1, 2), "the records since then")
AUDIT = TopicAudit("orders", 3, SPANS, (), COVERAGE, "unknown", 0, compacted=False)
TEXT = "topics: {orders: 3}\nconsumers: 2\nload: {rate: audit.json}\n"


def written(folder, audit):
    (folder / "audit.json").write_text(audit_json([audit]))
    (folder / "hot.yaml").write_text(TEXT)
    return folder / "hot.yaml"


def test_counts_over_their_time_are_rates(tmp_path):
    scenario = Scenario.from_file(written(tmp_path, AUDIT))
    assert scenario.load.rate == {"orders": (15, 0, 5)}


def test_an_audit_may_be_in_the_working_directory(tmp_path, monkeypatch):
    plan = written(tmp_path, AUDIT)
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    assert Scenario.from_file(plan.rename(tmp_path / "there" / "hot.yaml")).rates["orders"].sum() == 20


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"coverage": replace(COVERAGE, kind="sample")}, "not all that came: it read a part"),
        ({"compacted": True}, "the topic is compacted; write one with copartition audit"),
        ({"spans": (replace(SPANS[0], first_ms=None, last_ms=None),)}, "do not tell how long"),
        ({"spans": ()}, "do not tell how long"),
        ({"topic": "order"}, r"no topic 'order'; did you mean 'orders'"),
        ({"num_partitions": 4}, "orders has 4 rates; give one for each of its 3 partitions"),
    ],
)  # fmt: skip
def test_counts_that_say_nothing_of_rates_are_refused(tmp_path, change, fault):
    with pytest.raises(ScenarioError, match=fault):
        Scenario.from_file(written(tmp_path, replace(AUDIT, **change)))


@pytest.mark.parametrize("text", ["[]", '{"topics": [{}]}', '{"topics": 3}', "no json"])
def test_another_file_is_refused(tmp_path, text):
    plan = written(tmp_path, AUDIT)
    (tmp_path / "audit.json").write_text(text)
    with pytest.raises(ScenarioError, match=r"audit\.json: this is no audit; write one with") as caught:
        Scenario.from_file(plan)
    assert caught.value.path == "$.load.rate"


def test_a_missing_file_is_named(tmp_path):
    plan = written(tmp_path, AUDIT)
    (tmp_path / "audit.json").unlink()
    with pytest.raises(ScenarioError, match=r"audit\.json: No such file"):
        Scenario.from_file(plan)
