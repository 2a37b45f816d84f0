from itertools import product

import numpy as np
import pytest

from copartition.audit.tally import Tally
from copartition.audit.topic_audit import pick_records
from partitioning import partition_batch
from partitioning.profiles import PROFILES
from tests.copartition.audit.written import HAND, Written, concluded, turns
from tests.support.tiers import sample

RULES = ("java", "librdkafka", "librdkafka-fnv1a", "sarama-reference", "sarama-crc32", "kafkajs-legacy")
RULES += ("platformatic", "pulsar-java", "pulsar-murmur3", "pulsar-cpp")


@pytest.mark.parametrize(("profile", "by_partition"), sample([*product(RULES, [False, True])], 3))
def test_every_rule_is_named_for_sure(profile: str, by_partition: bool) -> None:
    audit = Written(12).by(profile, 12, 6000).audit(by_partition=by_partition)
    assert (audit.certainty, turns(audit)) == ("sure", {(profile, 12)})


def test_the_rules_are_all_there_are() -> None:
    kinds = {(profile.hash, profile.sign) for profile in PROFILES.values()}
    assert {(PROFILES[name].hash, PROFILES[name].sign) for name in RULES} == kinds


@pytest.mark.slow
@pytest.mark.parametrize("count", [6, 100, 999, 1000])
def test_a_count_below_the_topics_own_is_found(count: int) -> None:
    audit = Written(1000).by("java", count, 20_000).audit()
    assert (audit.certainty, turns(audit)) == ("sure", {("java", count)})


@pytest.mark.slow
@pytest.mark.parametrize("count", [48, 3200, 20_000])
def test_of_many_partitions_the_counts_that_people_choose_are_tried(count: int) -> None:
    audit = Written(20_000).by("java", count, 3000).audit()
    assert (audit.certainty, turns(audit)) == ("sure", {("java", count)})


@pytest.mark.parametrize("by_partition", sample([True, False], 2))
@pytest.mark.parametrize(
    "epochs",
    sample(
        [
            [("java", 6), ("java", 8), ("java", 12)],
            [("java", 6), ("java", 12)],
            [("java", 4), ("java", 8), ("java", 12)],
            [("java", 5), ("librdkafka", 12)],
            [("librdkafka", 12), ("java", 12)],
        ],
        5,
    ),
)
def test_growth_and_a_change_of_client_are_found(epochs: list[tuple[str, int]], by_partition: bool) -> None:
    topic = Written(12)
    for epoch in epochs:
        topic.by(*epoch, 10_000)
    audit = topic.audit(by_partition=by_partition)
    assert turns(audit) == {*epochs}
    assert audit.certainty in {"sure", "likely"}
    assert sum(span.explained for span in audit.spans) >= 0.999 * 10_000 * len(epochs)


def test_a_change_of_client_is_told_with_offset_and_time() -> None:
    audit = Written(4).by("java", 4, 4000).by("librdkafka", 4, 4000).audit()
    assert len(audit.spans) == 8
    for span in audit.spans:
        java = span.writer is not None and span.writer.profile == "java"
        assert (span.first == 0) == java
        assert span.first_ms is not None
        assert abs(span.first_ms - (1000 if java else 5000)) < 100


@pytest.mark.parametrize(
    ("shares", "by_partition"),
    sample(
        [*product([{"java": 0.9, "librdkafka": 0.1}, {"java": 0.5, "librdkafka-fnv1a": 0.5}], [False, True])],
        3,
    ),
)
def test_two_clients_at_once_are_both_named(shares: dict[str, float], by_partition: bool) -> None:
    audit = Written(12).by(shares, 12, 20_000).audit(by_partition=by_partition)
    assert audit.certainty == "mixed"
    told = {(share.writer.profile, share.writer.num_partitions): share.rows for share in audit.shares}
    assert told.keys() == {(name, 12) for name in shares}
    for name, share in shares.items():
        assert told[name, 12] / 20_000 == pytest.approx(share, abs=0.06)


def test_strays_are_told_with_their_offsets() -> None:
    topic = Written(12).by("java", 12, 6000)
    keys = [b"stray-%d" % number for number in range(3)]
    astray = [(place + 1) % 12 for place in partition_batch(keys, 12).tolist()]
    records = topic.at(keys, astray).records()
    audit = topic.audit()
    assert (audit.certainty, turns(audit)) == ("likely", {("java", 12)})
    missed = {(span.partition, offset) for span in audit.spans for offset in span.missed}
    assert missed == {*zip(records.partition[-3:].tolist(), records.offset[-3:].tolist(), strict=True)}


def test_partitions_chosen_by_hand_are_nobodys() -> None:
    audit = Written(12).by(HAND, 12, 6000).audit()
    assert (audit.certainty, turns(audit), audit.shares) == ("none", set(), ())
    assert sum(span.rows for span in audit.spans) == 6000


@pytest.mark.parametrize(("distinct", "certainty"), [(1, "unknown"), (3, "unknown"), (200, "sure")])
def test_repeated_keys_are_no_further_evidence(distinct: int, certainty: str) -> None:
    assert Written(12).by("java", 12, 4_000, distinct).audit().certainty == certainty


def test_of_one_key_every_writer_that_fits_is_a_rival() -> None:
    audit = Written(12).by("java", 12, 100, distinct=1).audit()
    (span,) = audit.spans
    assert len(span.rivals) > 5


def test_keys_are_missing_is_no_verdict() -> None:
    topic = Written(4).at([None, b""] * 50, [0, 1] * 50)
    audit = topic.audit()
    assert audit.certainty == "unknown"
    assert [(span.partition, span.rows, span.keyless, span.writer) for span in audit.spans] == [
        (0, 50, 50, None),
        (1, 50, 50, None),
    ]


def test_nothing_is_no_verdict() -> None:
    audit = concluded(Tally(4))
    assert (audit.certainty, audit.spans) == ("unknown", ())


def test_one_partition_is_everybodys() -> None:
    audit = Written(1).by("librdkafka", 1, 500).audit()
    assert audit.certainty == "sure"
    assert audit.spans[0].writer is not None
    assert {*audit.spans[0].writer.same_rule} == {*PROFILES}


def test_all_before_a_growth_from_one_partition_is_likely_at_most() -> None:
    audit = Written(12).by("java", 1, 2000).by("java", 12, 6000).audit()
    assert (audit.certainty, turns(audit)) == ("likely", {("java", 1), ("java", 12)})


def test_a_power_of_two_makes_signs_one_rule() -> None:
    audit = Written(8).by("platformatic", 8, 3000).audit()
    assert audit.certainty == "sure"
    assert audit.spans[0].writer is not None
    assert {"java", "platformatic"} <= {*audit.spans[0].writer.same_rule}
    assert audit.spans[0].rivals == ()


@pytest.mark.slow
@pytest.mark.parametrize("batch", [10, 1000, 30_000])
def test_the_size_of_batches_changes_no_verdict(batch: int) -> None:
    audit = Written(12).by("java", 6, 4000).by("java", 12, 4000).audit(batch=batch)
    assert turns(audit) == {("java", 6), ("java", 12)}
    assert audit.certainty in {"sure", "likely"}


@pytest.mark.parametrize("parts", sample([2, 12], 2))
def test_tallies_of_tasks_are_merged(parts: int) -> None:
    records = Written(12).by("java", 12, 6000).records()
    tally = Tally(12)
    for part in range(parts):
        own = Tally(12)
        own.add(pick_records(records, np.flatnonzero(records.partition % parts == part)))
        tally.merge(Tally.load(own.dump()))
    audit = concluded(tally)
    assert (audit.certainty, turns(audit)) == ("sure", {("java", 12)})
    assert sum(span.explained for span in audit.spans) == 6000


def test_a_dumped_tally_goes_on() -> None:
    topic = Written(12).by("java", 6, 3000)
    tally = Tally.load(topic.tally().dump())
    audit = concluded(Written(12, seed=2).by("java", 12, 3000).tally(tally=tally))
    assert turns(audit) >= {("java", 6)}
    assert sum(span.rows for span in audit.spans) == 6000


def test_memory_is_bounded_where_nothing_explains_anything() -> None:
    tally = Written(12).by(HAND, 12, 60_000).tally()
    assert sum(len(batch.offset) for batch in tally._uncounted_records()) <= 3000 + (1 << 12)
