"""The reports of a plan and of the steps."""

import json
from dataclasses import replace
from functools import cache, partial
from io import StringIO
from types import SimpleNamespace

import fastjsonschema
import pytest
from rich.console import Console

from copartition.kit.evidence import Evidence
from copartition.reshape.plan import ReshapePlan, plan_reshape, refused_plan
from copartition.reshape.report import plan_json, plan_markdown, print_plan, reshape_headline, reshape_schema
from copartition.reshape.report_steps import (
    back_lines,
    position_table,
    print_proof,
    print_switch,
    proof_markdown,
    round_sentence,
    switch_json,
)
from tests.copartition.reshape.invented import group, observed
from tests.copartition.reshape.test_switch import GROUP

FAULTS = ("lost", "doubled", "changed", "unmatched", "out_of_order", "misplaced", "strays")
PROOF = SimpleNamespace(
    records=17,
    keys=3,
    holds=True,
    partitions={0: 4, 1: 5, 2: 8},
    examples=(),
    evidence=Evidence(("both topics",)),
    **dict.fromkeys(FAULTS, 0),
)
"""What the reports read of a proof; Spark, which makes one, need not be installed here."""

PLANS = {
    "yes": lambda: plan_reshape(observed(groups=(group(lag=7, running=True),)), "orders.p48", 48),
    "fewer": lambda: plan_reshape(observed(), "orders.p6", 6),
    "unknown": lambda: plan_reshape(observed(groups=(group(lag=None),)), "orders.p48", 48),
    "no end": lambda: plan_reshape(observed(written_per_s=1e6), "orders.p48", 48),
    "refused": lambda: refused_plan("__consumer_offsets", "it holds the committed offsets of all groups"),
}


@cache
def plan_of(name: str) -> ReshapePlan:
    return PLANS[name]()


def text_of(draw) -> str:
    console = Console(file=StringIO(), width=400)
    draw(console)
    return console.file.getvalue()


@cache
def validate():
    """The function that holds a document to the schema."""
    return fastjsonschema.compile(reshape_schema())


@pytest.mark.parametrize("name", PLANS)
def test_json_is_as_its_schema_says(name: str) -> None:
    document = json.loads(plan_json(plan_of(name)))
    validate()(document)
    assert document["verdict"] == reshape_headline(plan_of(name))


@pytest.mark.parametrize("name", PLANS)
def test_text_and_markdown_say_the_same_answer_reasons_and_prices(name: str) -> None:
    plan = plan_of(name)
    text, markdown = text_of(partial(print_plan, plan)), plan_markdown(plan).replace("\\", "")
    for said in [reshape_headline(plan), *(reason.text for reason in plan.reasons)]:
        assert said in text
        assert said in markdown
    for way in plan.ways:
        for step in way.steps:
            assert all(line in text and f"`{line}`" in markdown for line in step.commands)
        assert all(price in text for price in way.prices)


def test_headlines() -> None:
    assert reshape_headline(plan_of("yes")) == (
        "yes, orders can get 48 partitions by the rule of java (12 now) and keep each key's records in "
        "order, by a new topic"
    )
    assert reshape_headline(plan_of("unknown")).startswith("cannot tell whether orders can get 48 partitions")
    assert reshape_headline(plan_of("no end")).startswith(
        "no, not all can be kept: writers add 1,000,000 records a second"
    )
    assert reshape_headline(plan_of("refused")).startswith("no, __consumer_offsets is not reshaped: it holds")


def test_steps_say_whom_they_stop() -> None:
    text = text_of(partial(print_plan, plan_of("yes")))
    assert "\n     writers stop for 28.6 s to 38.6 s" in text
    assert "while there is a way back" in text
    assert "\n     writers stop for 23.3 s" in text
    assert "\n     group billing stops for 16.0 s" in text


def test_only_a_large_first_round_tells_the_rate_of_the_copy() -> None:
    assert "80,300 a second without the start; 5 came" in round_sentence(1, 6_000_000, 5, 100.0)
    assert "second" not in round_sentence(1, 99_999, 5, 100.0)
    assert "second" not in round_sentence(2, 6_000_000, 5, 100.0)


def test_what_is_not_known_names_the_way_to_get_it() -> None:
    text = text_of(partial(print_plan, plan_of("unknown")))
    assert "let it commit, or set it by kafka-consumer-groups.sh --reset-offsets" in text


def test_old_and_new_positions_are_shown_side_by_side() -> None:
    table = position_table(GROUP)
    assert table.rows == [("0", "10", "4", ""), ("1", "7", "5", ""), ("2", "", "8", "")]
    text = text_of(partial(print_switch, [GROUP], "orders.p3", ["billing"]))
    assert "1 group to orders.p3: 0 exactly, 1 with repeats" in text
    assert "written: the positions of group billing on orders.p3" in text
    assert "start its members on the new topic" in text
    assert "write its positions with --execute" in text_of(partial(print_switch, [GROUP], "orders.p3", []))


def test_the_switch_as_json() -> None:
    [told] = json.loads(switch_json([GROUP], "orders.p3", []))["groups"]
    assert (told["action"], told["repeats"], told["positions"]) == ("write", 3, {"0": 4, "1": 5, "2": 8})


def test_the_way_back_prints_what_it_does_not_do() -> None:
    lines = back_lines(
        "orders", "orders.p3", {"billing": {0: 4}}, {"bootstrap.servers": "b:1"}, execute=False
    )
    assert lines[0].startswith("would remove, with --execute, the commits of group billing on orders.p3")
    assert lines[-2] == "to delete it: kafka-topics.sh --bootstrap-server b:1 --delete --topic orders.p3"


def test_a_proof_shows_where_groups_that_moved_are() -> None:
    moved = replace(GROUP, name="<b>billing", now=GROUP.positions)
    shown = text_of(partial(print_proof, PROOF, [moved], "orders", "orders.p3"))
    assert "1 group to orders.p3: 0 exactly, 1 with repeats" in shown
    page = proof_markdown(PROOF, [moved], "orders", "orders.p3")
    assert "<summary>Group &lt;b>billing</summary>" in page
    assert "| 0 | 10 | 4 | 4 |" in page


def test_a_proof_before_any_group_has_moved_says_so() -> None:
    assert "no group goes on in orders.p3 so far" in text_of(
        partial(print_proof, PROOF, [], "orders", "orders.p3")
    )
