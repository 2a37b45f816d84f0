"""Verdicts on topics of which everything is known."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from copartition.check.judge import judge
from partitioning.errors import InvalidConfigError
from tests.copartition.check.invented import Topic, apart, compared, sampled, will_part, writer
from tests.support.tiers import examples

USERS = tuple(b"user-%d" % number for number in range(200))
OTHERS = tuple(b"other-%d" % number for number in range(200))


def topic(name, *written, count=None, certainty="sure"):
    return Topic(name, written, count or written[-1][1], certainty)


def verdict(*topics, complete=True):
    return judge([side.audit for side in topics], compared(topics, complete=complete))


def weights(found):
    return {reason.code: reason.weight for reason in found.reasons}


ORDERS = topic("orders", ("java", 12, USERS))
JOINED = (ORDERS, topic("b", ("java", 12, USERS)))
PARTED = (ORDERS, topic("b", ("sarama", 12, USERS)))
WEIGHTS = {"no": "against", "unknown": "open", "yes": "for"}
ROWS = [
    ("the same rule", [ORDERS, topic("payments", ("kafkajs", 12, USERS))], "yes", "keys"),
    ("three topics", [ORDERS, *(topic(n, ("franz-go", 12, USERS)) for n in ("b", "c"))], "yes", "keys"),
    ("another count", [ORDERS, topic("payments", ("java", 8, USERS))], "no", "counts"),
    ("another rule", [ORDERS, topic("payments", ("librdkafka", 12, USERS))], "no", "rules"),
    ("another sign", [ORDERS, topic("payments", ("platformatic", 12, USERS))], "no", "rules"),
    (
        "signs that do not matter",
        [topic("a", ("java", 8, USERS)), topic("b", ("platformatic", 8, USERS))],
        "yes",
        "rules",
    ),
    (
        "one has grown, its old keys are in both",
        [topic("a", ("java", 6, USERS), ("java", 12, USERS)), ORDERS],
        "no",
        "keys-apart",
    ),
    (
        "one has grown, its old keys are not in the other",
        [topic("a", ("java", 6, OTHERS), ("java", 12, USERS)), ORDERS],
        "unknown",
        "epochs",
    ),
    (
        "one has grown and was not written since",
        [topic("a", ("java", 6, OTHERS), count=12), ORDERS],
        "unknown",
        "epochs",
    ),
    ("no key in both", [ORDERS, topic("b", ("java", 12, OTHERS))], "unknown", "no-common-key"),
    (
        "no known rule, but every key agrees",
        [topic(name, ("java", 12, USERS), certainty="none") for name in "ab"],
        "yes",
        "unexplained",
    ),
    (
        "too few keys",
        [topic(name, ("java", 12, USERS[:5]), certainty="unknown") for name in "ab"],
        "unknown",
        "too-few-keys",
    ),
    (
        "several clients at once",
        [ORDERS, topic("b", ("java", 12, USERS + OTHERS), certainty="mixed")],
        "unknown",
        "mixed",
    ),
    (
        "several clients at once, as it seems, but every key agrees",
        [replace(ORDERS, name=name, certainty="mixed") for name in "abc"],
        "yes",
        "mixed",
    ),
    ("nothing written", [ORDERS, Topic("b", (("java", 12, ()),), 12)], "unknown", "no-records"),
    (
        "text and numbers",
        [
            topic("a", ("java", 12, tuple(b"%d" % n for n in range(900, 1100)))),
            topic("b", ("java", 12, tuple(n.to_bytes(8, "big") for n in range(900, 1100)))),
        ],
        "no",
        "forms",
    ),
    (
        "two schema ids",
        [
            topic(name, ("java", 12, tuple(b"\0\0\0\0%c" % number + b"\x10key-%04d" % n for n in range(200))))
            for name, number in (("a", 7), ("b", 9))
        ],
        "no",
        "respelled",
    ),
    (
        "text, and four bytes that may be numbers or not",
        [
            topic("a", ("java", 12, (*USERS, *(b"%d" % n for n in range(900, 1100))))),
            topic("b", ("java", 12, (*USERS, *(n.to_bytes(4, "big") for n in range(900, 1100))))),
        ],
        "unknown",
        "respelled",
    ),
    (
        "JSON spelled in two ways",
        [
            topic("a", ("java", 12, tuple(b'{"id":%d}' % n for n in range(200)))),
            topic("b", ("java", 12, tuple(b'{"id": %d}' % n for n in range(200)))),
        ],
        "no",
        "respelled",
    ),
]


@pytest.mark.parametrize(
    ("topics", "answer", "code"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_verdicts(topics, answer, code):
    found = verdict(*topics)
    assert (found.answer, weights(found)[code]) == (answer, WEIGHTS[answer])


def test_every_way_out_of_a_placement_is_told():
    without = {"no-common-key", "too-few-keys", "no-records"}
    mended = [(topics, code) for _, topics, answer, code in ROWS if answer != "yes" and code not in without]
    assert [code for topics, code in mended if not verdict(*topics).remedies] == []
    assert mended


def test_growth_that_no_rule_could_show_is_assumed_away():
    topics = [topic(name, ("java", 12, USERS), certainty="none") for name in "ab"]
    assert any("has not grown" in assumption for assumption in verdict(*topics).assumed)
    assert not any(
        "has not grown" in assumption
        for assumption in verdict(ORDERS, topic("b", ("java", 12, USERS))).assumed
    )


def test_the_first_reason_decides():
    found = verdict(topic("a", ("java", 6, OTHERS), ("java", 12, USERS)), topic("b", ("sarama", 12, USERS)))
    assert [reason.weight for reason in found.reasons][:2] == ["against", "against"]


def test_a_sample_proves_no_join():
    audits = [sampled(ORDERS.audit), replace(ORDERS.audit, topic="b")]
    found = judge(audits, compared([ORDERS, ORDERS], complete=False))
    assert found.answer == "unknown"
    assert found.remedies[0].command == "copartition check orders b --full"


def test_a_sample_proves_that_a_join_breaks():
    other = topic("b", ("sarama", 12, USERS))
    assert judge([sampled(side.audit) for side in (ORDERS, other)]).answer == "no"


def test_rules_alone_prove_a_join_where_everything_was_read():
    assert judge([ORDERS.audit, replace(ORDERS.audit, topic="b")]).answer == "yes"


def test_a_record_that_no_rule_explains_leaves_it_open():
    audit = ORDERS.audit
    first, *rest = audit.spans
    strays = replace(audit, spans=(replace(first, explained=first.explained - 1), *rest), certainty="likely")
    audits = [strays, replace(audit, topic="b")]
    found = judge(audits)
    assert (found.answer, weights(found)["strays"]) == ("unknown", "open")
    settled = judge(audits, compared([ORDERS, ORDERS]))
    assert (settled.answer, weights(settled)["strays"]) == ("yes", "for")
    others = topic("orders", ("java", 12, USERS + OTHERS))
    assert judge(audits, compared([others, ORDERS])).answer == "unknown"


def test_rivals_keep_different_rules_from_being_a_proof():
    other = topic("b", ("sarama", 12, USERS)).audit
    rivals = tuple(replace(span, rivals=(writer("java", 12),)) for span in other.spans)
    assert judge([ORDERS.audit, replace(other, spans=rivals)]).answer == "unknown"


def test_chance_is_told_of_the_topics_whose_rules_differ():
    few = topic("few", ("java", 7, USERS[:2]), certainty="unknown")
    found = judge([side.audit for side in (few, ORDERS, topic("b", ("sarama", 12, USERS)))])
    (rules,) = (reason for reason in found.reasons if reason.code == "rules")
    assert "one in 12 is at the same partition number" in rules.text


def test_topics_without_keys_cannot_be_joined():
    spans = tuple(replace(span, writer=None, keyless=span.rows, explained=0) for span in ORDERS.audit.spans)
    found = judge([ORDERS.audit, replace(ORDERS.audit, topic="b", spans=spans)])
    assert (found.answer, found.reasons[0].code) == ("no", "keyless")


def test_empty_keys_leave_it_open_until_they_are_compared():
    spans = tuple(replace(span, rows=span.rows + 1, keyless=1) for span in ORDERS.audit.spans)
    audits = [replace(ORDERS.audit, topic=name, spans=spans) for name in "ab"]
    assert judge(audits).answer == "unknown"
    assert judge(audits, compared([ORDERS, ORDERS])).answer == "yes"


def test_the_way_out_is_the_one_with_the_fewest_records():
    small = topic("small", ("librdkafka", 8, USERS[:100]))
    found = verdict(ORDERS, small)
    assert {remedy.topic for remedy in found.remedies} == {"small"}
    setting, anew = found.remedies
    assert "librdkafka: partitioner=murmur2_random" in setting.command
    assert anew.command == "kafka-topics.sh --create --topic small-by-12 --partitions 12"
    assert "100 records at most" in anew.text


def test_writers_with_the_right_rule_are_left_alone_where_only_the_count_differs():
    found = verdict(ORDERS, topic("small", ("kafkajs", 8, USERS[:100])))
    assert [remedy.command for remedy in found.remedies] == [
        "kafka-topics.sh --create --topic small-by-12 --partitions 12"
    ]


@pytest.mark.parametrize("names", [("a",), ("a", "b", "a")])
def test_a_join_has_two_topics_or_more(names):
    with pytest.raises(InvalidConfigError, match="two topics or more, each once"):
        judge([replace(ORDERS.audit, topic=name) for name in names])


@pytest.mark.parametrize(
    ("keys", "answer", "code"),
    [
        (USERS, "yes", "keys"),
        (OTHERS, "unknown", "no-common-key"),
        (USERS[:30] + OTHERS, "unknown", "unexplained"),
    ],
)
def test_keys_of_two_topics_say_nothing_of_a_third(keys, answer, code):
    third = topic("c", ("java", 12, keys), certainty="none")
    found = verdict(ORDERS, topic("b", ("java", 12, USERS)), third)
    assert found.answer == answer
    assert code in {reason.code for reason in found.reasons if reason.weight == WEIGHTS[answer]}


def test_the_proof_is_of_these_topics():
    with pytest.raises(InvalidConfigError, match="keys are those of 3 topics"):
        judge([ORDERS.audit, replace(ORDERS.audit, topic="b")], compared([ORDERS] * 3))


KEYS = st.lists(st.sampled_from(USERS + OTHERS[:20]), max_size=200).map(tuple)
STAGES = st.tuples(
    st.sampled_from(["java", "librdkafka", "sarama", "sarama-reference", "platformatic", "kafkajs"]),
    st.sampled_from([1, 2, 3, 4, 6, 8]),
    KEYS,
)


@st.composite
def histories(draw, name):
    stages = sorted(draw(st.lists(STAGES, min_size=1, max_size=3)), key=lambda stage: stage[1])
    grown = draw(st.sampled_from([0, 0, 0, 4]))
    return Topic(name, tuple(stages), stages[-1][1] + grown, draw(st.sampled_from(["sure", "sure", "none"])))


def test_no_false_yes():
    answers = Counter()

    @example(topics=JOINED, whole=True, most_keys=10_000)
    @example(topics=PARTED, whole=True, most_keys=10_000)
    @given(
        topics=st.tuples(histories("a"), histories("b")),
        whole=st.booleans(),
        most_keys=st.sampled_from([30, 10_000]),
    )
    def judge_histories(topics, whole, most_keys):
        audits = [topic.audit if whole else sampled(topic.audit) for topic in topics]
        found = judge(audits, compared(topics, complete=whole, most_keys=most_keys))
        answers[found.answer] += 1
        broken = apart(topics)
        if found.answer == "yes":
            assert not broken
            if all(topic.certainty == "sure" for topic in topics):
                assert not will_part(topics)
        elif found.answer == "no":
            assert broken or will_part(topics)

    judge_histories()
    assert answers["yes"]
    assert answers["no"]


def test_no_false_yes_by_rules_alone():
    answers = Counter()

    @example(topics=JOINED)
    @given(topics=st.tuples(histories("a"), histories("b")))
    def judge_rules(topics):
        found = judge([topic.audit for topic in topics])
        answers[found.answer] += 1
        if found.answer == "yes":
            assert not apart(topics)

    judge_rules()
    assert answers["yes"]


@st.composite
def lives(draw, name):
    """A topic with enough keys to tell rules apart, or not, written by one client after another."""
    number = draw(st.sampled_from([3, 30, 300, 1500]))
    pool = [b"%s-%d" % (draw(st.sampled_from([b"user", b"user", name.encode()])), n) for n in range(number)]
    count = draw(st.sampled_from([2, 3, 4, 6]))
    stages = []
    for _ in range(draw(st.integers(1, 3))):
        profile = draw(st.sampled_from(["java", "java", "java", "librdkafka", "platformatic", "sarama"]))
        part = slice(draw(st.integers(0, number // 2)), None, draw(st.sampled_from([1, 1, 3])))
        stages.append((profile, count, tuple(pool[part])))
        count = draw(st.sampled_from([count, count, count, 2 * count, count + 1]))
    return Topic(name, tuple(stages), draw(st.sampled_from([stages[-1][1], stages[-1][1], count])))


@pytest.mark.slow
def test_no_false_yes_of_what_an_audit_finds():
    answers = Counter()

    @settings(max_examples=examples(50))
    @example(topics=JOINED, proved=True)
    @example(topics=PARTED, proved=True)
    @given(topics=st.tuples(lives("a"), lives("b")), proved=st.booleans())
    def judge_lives(topics, proved):
        found = judge([topic.real_audit for topic in topics], compared(topics) if proved else None)
        answers[found.answer] += 1
        if found.answer == "yes":
            assert not apart(topics)
            assert not will_part(topics)
        elif found.answer == "no":
            assert apart(topics) or will_part(topics)

    judge_lives()
    assert answers["yes"]
    assert answers["no"]
