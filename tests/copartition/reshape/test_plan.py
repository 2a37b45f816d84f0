"""The plan: what can be kept, what cannot, what is not known, and the two ways."""

from dataclasses import replace

import pytest

from copartition.deploys.pace import Pace
from copartition.kit.evidence import Missing
from copartition.reshape.observed import OpenTransaction, ReadingGroup
from copartition.reshape.plan import ReshapePlan, plan_reshape, refused_plan
from copartition.reshape.ways import (
    IDLE_ROUND_S,
    LOOK_S,
    PROOF_S,
    PROOF_SHARE,
    ROUND_S,
    SEARCH_S,
    SEARCH_SHARE,
    START_S,
    USUAL_RATE,
    Copy,
    rate_of_copy,
)
from partitioning import partition_batch
from tests.copartition.check.invented import Topic
from tests.copartition.reshape.invented import KEYS, by_java, group, observed


def plan(
    partitions: int = 48, *, topic: Topic | None = None, profile: str | None = None, **changes
) -> ReshapePlan:
    return plan_reshape(observed(topic, **changes), "orders.p48", partitions, profile=profile)


def codes(found: ReshapePlan) -> list[tuple[str, str]]:
    return [(reason.weight, reason.code) for reason in found.reasons]


def test_a_topic_of_one_writer_with_groups_that_commit_can_be_reshaped() -> None:
    found = plan(groups=(group(), group("mail", lag=30)))
    assert (found.answer, found.exit_code, codes(found)) == ("yes", 0, [])
    assert found.target is not None
    assert found.target.profile == "java"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"transactions": (OpenTransaction("t", ("orders", "payments"), ()),)}, ("lost", "transactions")),
        (
            {"transactions": (OpenTransaction("t", ("__consumer_offsets", "orders"), (3,)),)},
            ("told", "transactions"),
        ),
        ({"target_partitions": 12}, ("lost", "target")),
        ({"settings": {"cleanup.policy": "compact,delete"}}, ("told", "compaction")),
        ({"settings": {"message.timestamp.type": "LogAppendTime"}}, ("told", "timestamps")),
        ({"settings": {"cleanup.policy": "delete", "retention.ms": "5000"}}, ("told", "retention")),
        ({"written_per_s": 30_000.0}, ("lost", "copy-too-slow")),
        ({"groups": (group(lag=None),)}, ("open", "no-commit")),
        ({"groups": (group(strategy="stream"),)}, ("lost", "streams-group")),
        ({"groups": (ReadingGroup("s", "streams", None, {}, None),)}, ("lost", "streams-group")),
        ({"groups": (ReadingGroup("s", "share", None, {}, None),)}, ("open", "share-group")),
        ({"groups": (group(topics=("orders", "payments")),)}, ("open", "joined")),
        ({"groups": (group(topics=("orders", "orders.p48")),)}, ("lost", "new-topic-read")),
        ({"missing": (Missing("the end of partition 3", "run it again"),)}, ("open", "unseen")),
    ],
)
def test_what_is_lost_open_or_told(changes, expected) -> None:
    found = plan(**changes)
    assert codes(found) == [expected]
    assert found.exit_code == {"lost": 1, "open": 2, "told": 0}[expected[0]]


def test_what_is_lost_comes_before_what_is_open() -> None:
    found = plan(target_partitions=12, groups=(group(lag=None),))
    assert [weight for weight, _ in codes(found)] == ["lost", "open"]
    assert found.exit_code == 1


def test_a_group_with_other_counts_or_another_strategy_joins_nothing_by_number() -> None:
    others = {"payments": 6, "__consumer_offsets": 50}
    assert codes(plan(others=others, groups=(group(topics=("orders", "payments")),))) == []
    sticky = group(topics=("orders", "payments"), strategy="cooperative-sticky")
    assert codes(plan(groups=(sticky,))) == []


def test_a_group_whose_offsets_a_transaction_commits_is_told() -> None:
    # Kafka's hash of "billing" over 50 partitions of the offsets topic.
    open_ = OpenTransaction("t", ("__consumer_offsets",), (9,))
    assert codes(plan(transactions=(open_,), groups=(group(),))) == [("told", "transactional-reader")]
    elsewhere = replace_offsets(open_, 10)
    assert codes(plan(transactions=(elsewhere,), groups=(group(),))) == []


def replace_offsets(transaction: OpenTransaction, partition: int) -> OpenTransaction:
    return transaction._replace(offsets_partitions=(partition,))


def test_markers_without_an_open_transaction_leave_it_open() -> None:
    seen = observed()
    seen.sample.gaps = 7
    found = plan_reshape(seen, "orders.p48", 48)
    assert codes(found) == [("open", "transactions")]
    assert "7 offsets between records" in found.reasons[0].text
    # Compaction takes records away, too, so there a gap says nothing.
    compacted = replace(seen, settings={"cleanup.policy": "compact"})
    assert codes(plan_reshape(compacted, "orders.p48", 48)) == [("told", "compaction")]


def test_keys_in_several_partitions_have_no_order_to_keep() -> None:
    # The topic grew from 8 to 12 between the two halves.
    grown = Topic("orders", (("java", 8, KEYS), ("java", 12, KEYS)), 12)
    found = plan(topic=grown)
    apart = int((partition_batch(KEYS, 8) != partition_batch(KEYS, 12)).sum())
    assert ("lost", "scattered-keys") in codes(found)
    assert found.reasons[0].text.startswith(f"{apart:,} of 2,000 keys lie in several partitions")


def test_a_sample_cannot_prove_that_no_key_is_scattered() -> None:
    seen = observed()
    found = plan_reshape(replace(seen, scattered=replace(seen.scattered, complete=False)), "orders.p48", 48)
    assert codes(found) == [("open", "scattered-keys")]
    assert found.exit_code == 2


def test_writers_with_another_rule_are_told_what_to_set() -> None:
    half = len(KEYS) // 2
    mixed = Topic(
        "orders", (("java", 12, KEYS[:half]), ("librdkafka", 12, KEYS[half:])), 12, certainty="mixed"
    )
    found = plan(topic=mixed, profile="java")
    [reason] = [reason for reason in found.reasons if reason.code == "writers"]
    assert reason.weight == "told"
    assert "placed by the rule of librdkafka" in reason.text
    assert "librdkafka partitioner=murmur2_random" in reason.text


def test_without_a_rule_nothing_is_planned_but_the_way_to_get_it() -> None:
    single = Topic("orders", (("java", 1, KEYS),), 1)
    found = plan(topic=single)
    assert (found.exit_code, found.ways, found.moves) == (2, (), None)
    assert "every rule gives the same place" in found.reasons[-1].text
    assert isinstance(found.reasons[-1].ground, Missing)
    assert "--profile" in found.reasons[-1].ground.remedy
    assert plan(topic=single, profile="java").answer == "yes"


def test_moved_records_are_counted_from_where_they_are() -> None:
    found = plan()
    assert found.moves is not None
    moved = int((partition_batch(KEYS, 12) != partition_batch(KEYS, 48)).sum())
    assert (found.moves.keyed, found.moves.moved) == (4_000, 2 * moved)
    assert found.moves.added == 2 * int((partition_batch(KEYS, 48) >= 12).sum())


def test_in_place_shrinks_never_and_grows_at_a_price() -> None:
    _, shrunk = plan(6).ways
    assert shrunk.obstacle == "a topic never loses partitions: 12 now, 6 wanted"
    _, grown = plan(groups=(group(lag=400),)).ways
    assert not grown.keeps_order
    share = plan().moves.share
    assert any(f"about {round(share * 400):,} of keys that move" in price for price in grown.prices)
    # 100 records a second, those of new partitions, for up to five minutes.
    skipped = 100 * plan().moves.added_share * 300
    assert any(f"skips up to {skipped:,.0f} records" in price for price in grown.prices)


def test_in_place_another_rule_of_the_same_count_moves_keys_without_growth() -> None:
    _, in_place = plan(12, profile="librdkafka").ways
    assert [step.text for step in in_place.steps] == ["Start the writers with the rule of librdkafka"]
    assert not in_place.keeps_order
    assert not any("latest" in price for price in in_place.prices)
    assert plan(12).ways[1].keeps_order


def test_the_new_topic_is_made_like_the_old_one() -> None:
    first = plan().ways[0].steps[0]
    assert first.commands == (
        (
            "kafka-topics.sh --bootstrap-server HOST:PORT --create --topic orders.p48 --partitions 48 "
            "--replication-factor 3 --config min.insync.replicas=2"
        ),
    )


def test_seconds_of_a_switch_come_from_the_simulator() -> None:
    running = (group(running=True),)
    slow = plan_reshape(observed(groups=running), "orders.p48", 48, pace=Pace(down_ms=40_000))
    usual = plan(groups=running)
    pauses = [found.switches["billing"].longest_pause_ms for found in (usual, slow)]
    assert pauses[1].least - pauses[0].least == 30_000
    [step] = [step for step in usual.ways[0].steps if step.stops == "group billing"]
    assert step.pause_ms == pauses[0]


def test_nobody_stops_in_a_group_without_members() -> None:
    found = plan(groups=(group(),))
    assert found.switches == {}
    [step] = [step for step in found.ways[0].steps if "billing" in step.text]
    assert (step.stops, step.pause_ms) == ("nobody", None)
    assert "--group billing --execute" in step.commands[0]


def test_a_copy_that_is_slower_than_writers_has_no_end() -> None:
    found = plan(written_per_s=30_000.0)
    assert found.copy.seconds is None
    assert plan(written_per_s=0.0).copy.seconds == START_S + 4_000 / 20_000


def test_a_switch_takes_longer_for_a_group_that_is_further_behind() -> None:
    near, far, farthest = (
        Copy(9_000_000, 20_000.0, False, 0.0, unread) for unread in (100, 1_000_000, 5_000_000)
    )
    # Never more than the whole new topic.
    assert [copy.searched for copy in (near, far, farthest)] == [300, 3_000_000, 9_000_000]
    assert far.rest_s - near.rest_s == pytest.approx(SEARCH_SHARE * 2_999_700 / 20_000)
    plans = [
        plan_reshape(observed(groups=(group(lag=lag),)), "orders.p48", 48, copy_rate=1_000.0)
        for lag in (100, 4_000)
    ]
    assert ["behind when it moves" in " ".join(found.ground.assumed) for found in plans] == [False, True]


def test_without_writers_and_groups_a_switch_is_two_looks_and_an_empty_round() -> None:
    idle = Copy(9_000_000, USUAL_RATE, False, 0.0)
    assert idle.rest_s == START_S + LOOK_S + IDLE_ROUND_S
    assert replace(idle, unread=0).rest_s == idle.rest_s + SEARCH_S
    assert replace(idle, written_per_s=1e-9).rest_s == pytest.approx(idle.rest_s - IDLE_ROUND_S + ROUND_S)


@pytest.mark.parametrize(
    ("rate", "slowness"), [(2 * USUAL_RATE, 0.5), (USUAL_RATE / 1.5, 1.5), (USUAL_RATE / 50, 2)]
)
def test_where_the_copy_is_slow_so_is_the_rest(rate: float, slowness: float) -> None:
    copy = Copy(9_000_000, rate, False, 0.0)
    assert copy.seconds == pytest.approx(slowness * START_S + copy.records / rate)
    assert copy.proof_s == pytest.approx(slowness * (START_S + PROOF_S) + PROOF_SHARE * copy.records / rate)
    assert any("times those of a machine" in text for text in copy.assumed)
    # Nobody knows how slow a machine is whose rate is assumed.
    assert replace(copy, is_assumed=True).start_s == START_S
    # The rate that a round of so long prints.
    assert rate_of_copy(9_000_000, copy.seconds) == pytest.approx(rate)


def test_at_the_usual_rate_seconds_are_the_usual_ones() -> None:
    usual = Copy(9_000_000, USUAL_RATE, False, 0.0)
    assert usual.start_s == START_S
    assert not any("times those of a machine" in text for text in usual.assumed)


def test_what_nobody_measured_is_assumed() -> None:
    assert any("nobody measured" in text for text in plan().ground.assumed)
    measured = plan_reshape(observed(), "orders.p48", 48, copy_rate=5_000.0)
    assert not any("nobody measured" in text for text in measured.ground.assumed)
    assert measured.copy.rate == 5_000.0


def test_an_internal_topic_is_refused_by_name_and_by_keys() -> None:
    by_name = refused_plan("__consumer_offsets", "it holds the committed offsets")
    assert (by_name.exit_code, codes(by_name), by_name.ways) == (1, [("lost", "internal-topic")], ())
    statuses = by_java(keys=tuple(f"status-connector-{number}".encode() for number in range(100)))
    found = plan(topic=statuses)
    assert codes(found) == [("lost", "internal-topic")]
    assert "Kafka Connect" in found.reasons[0].text
