"""Judge from audits and a comparison of keys whether topics can be joined partition by partition.

A "no" needs one fact that proves it. A "yes" needs that nothing is left open, and one of two proofs. Either
every keyed record of every topic is where one rule with one count puts it; or every key that is in two topics
was compared and is at one partition number, and there are enough such keys to tell rules apart. Remedies are
the ways out, the cheapest first.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from copartition.audit.logical import RespelledKeys, find_respelled
from copartition.audit.topic_audit import KeyForm, TopicAudit
from copartition.check.verdict import (
    AuditSummary,
    JoinReason,
    JoinVerdict,
    KeyProof,
    Remedy,
    Weight,
    checked_topics,
    reason_of,
    verdict_of,
)
from copartition.check.writers import Placement, clients_of, placement, rule_name, seniority, setting_for
from copartition.kit.words import count, key_text, list_names
from partitioning.errors import InvalidConfigError
from partitioning.profiles import PROFILES

_SAME = (frozenset({"decimal", "int32", "int64"}), frozenset({"uuid", "uuid-text"}))
"""Sets of forms in which different serializers write the same values."""

_SEEMING = {"int32", "int64", "bytes"}
"""Forms that are assigned to bytes without any distinguishing mark."""


def forms_reasons(audits: Sequence[TopicAudit], proof: KeyProof | None) -> Iterator[JoinReason]:
    """Yield the reasons that follow from the forms of keys.

    Args:
        audits: one for each topic, with the forms of the keys that were sampled.
        proof: what the keys say; None if they were not compared.
    """
    names = tuple(audit.topic for audit in audits)
    yield from _respelled_reasons(audits)
    ids = sorted({number for audit in audits for form in audit.forms for number in form.schema_ids})
    if len(ids) > 1:
        yield reason_of("schema-ids", names, ids=list_names([str(id_) for id_ in ids]))
    in_headers = tuple(audit.topic for audit in audits if audit.header_schemas)
    if in_headers and ids:
        framed = tuple(audit.topic for audit in audits if any(form.schema_ids for form in audit.forms))
        yield reason_of("ids-in-headers", names, framed=list_names(framed), in_headers=list_names(in_headers))
    forms = [{form.name for form in audit.forms} for audit in audits]
    for number_, (name, mine) in enumerate(zip(names, forms, strict=True)):
        for other, its in zip(names[number_ + 1 :], forms[number_ + 1 :], strict=True):
            if mine and its and _differ(mine, its):
                # Different forms alone prove nothing, because the topics may be about different things. But
                # if all keys were compared and no key is in two topics, that is a proof.
                proved = not mine & its and proof is not None and proof.complete and not proof.common
                yield reason_of(
                    "other-bytes" if proved else "other-forms",
                    (name, other),
                    name=name,
                    mine=list_names(sorted(mine)),
                    other=other,
                    its=list_names(sorted(its)),
                )


def _respelled_reasons(audits: Sequence[TopicAudit]) -> Iterator[JoinReason]:
    """Yield at most one reason: sampled keys have the same meaning and different bytes.

    Keys whose forms are certain are compared first, then all keys. Each time all topics together are compared
    before each topic alone. The first finding is the reason: "against" if the forms are certain, else "open".
    """
    weighed: dict[Literal["against", "open"], list[tuple[KeyForm, ...]]] = {
        "against": [tuple(filter(_is_sure, audit.forms)) for audit in audits],
        "open": [audit.forms for audit in audits],
    }
    for weight, forms in weighed.items():
        # All topics together come first: a difference between two topics says more than one within a topic.
        everywhere = [*zip(audits, forms, strict=True)]
        for group in (everywhere, *([meaning] for meaning in everywhere)):
            respelling = find_respelled(*(its for _, its in group))
            if respelling.respelled:
                names = tuple(audit.topic for audit, _ in group)
                text = _respelled_text(names, respelling) + "; so their bytes seem to say" * (
                    weight == "open"
                )
                yield JoinReason("respelled", names, text, weight)
                return


def _is_sure(form: KeyForm) -> bool:
    """Return whether the keys of a form certainly have the meaning that they seem to have.

    Numbers in binary form are not certain, because any four or eight bytes could be a number.
    """
    return bool(form.meanings) or not (form.maybe or form.name in _SEEMING)


def _respelled_text(names: Sequence[str], respelling: RespelledKeys) -> str:
    """Return the sentence on keys with the same meaning and different bytes, with the first example.

    Args:
        names: the topics that were compared.
        respelling: the keys that were found, with at least one example, whose spellings are in the order of
            `names`.
    """
    meaning, spellings = respelling.examples[0]
    written = [
        f"{list_names([key_text(key) for key in keys])} in {name}"
        for name, keys in zip(names, spellings, strict=True)
        if keys
    ]
    return (
        f"{respelling.respelled:,} of {count(respelling.compared, 'sampled key')} of {list_names(names)} "
        f"say the same in other bytes: the {meaning.kind} {meaning.value} is {list_names(written)}"
    )


def _differ(mine: set[str], its: set[str]) -> bool:
    """Return whether the forms of two topics may be different bytes for the same values.

    That is the case if each topic has a form that the other lacks, and different serializers write the same
    values in these two forms; or if a registry's serializers write only one of the topics.

    Args:
        mine: names of the forms of one topic's keys; not empty.
        its: names of the forms of the other topic's keys; not empty.
    """
    # A form that both topics have is written in the same way by both.
    only_mine, only_its = mine - its, its - mine
    # A registry's serializers put five bytes in front, so no key of one topic equals a key of the other.
    framed = ("registry" in mine) != ("registry" in its)
    return framed or any(only_mine & same and only_its & same for same in _SAME)


ENOUGH_COMMON = 40
"""The least number of keys in every topic that must agree to show that the topics have one rule.

A few keys show nothing, because two rules that differ only in the sign agree on half of all keys.
"""

_BY_BYTES = "keys are the same where their bytes are"
_NOT_GROWN = "where no one rule explains the records, the topic has not grown since its first record"
_AS_BEFORE = "writers go on as they did: later records are placed by the same rules"


def judge(audits: Sequence[TopicAudit], proof: KeyProof | None = None) -> JoinVerdict:
    """Return whether audited topics can be joined partition by partition.

    A reason is "against" only if it proves that a join breaks, and "for" only if it leaves nothing open; all
    others are "open". One reason against decides; without one, an open reason decides.

    Args:
        audits: one for each topic, in the order of the join.
        proof: what the keys say, in the same order; None if they were not compared.

    Returns:
        The verdict with its reasons, the deciding ones first.

    Raises:
        InvalidConfigError: there are fewer than two topics, a topic is named twice, or the proof has another
            number of topics.
    """
    names = checked_topics(audit.topic for audit in audits)
    if proof is not None and len(proof.keys) != len(names):
        raise InvalidConfigError(
            f"the keys are those of {len(proof.keys)} topics, not of {list_names(names)}"
        )
    topics = [AuditSummary(audit) for audit in audits]
    compared = proof is not None and _convinces(proof)
    # Either the rules or the keys are enough for a "yes".
    explained = _all_explained(topics)
    reasons = [
        *_counts(topics),
        *_rules(topics, convinced=compared),
        *_coverage(topics),
        *_keys(topics, proof, explained=explained),
        *(
            reason
            for topic, alone in zip(topics, _unshared_keys(topics, proof), strict=True)
            for reason in _writers(topic, alone, convinced=compared)
        ),
        *forms_reasons(audits, proof),
        *_keyless(topics, proof),
    ]
    if not (compared or explained) and not any(reason.weight != "for" for reason in reasons):
        reasons.append(reason_of("unproved", names))
    assumed = [_BY_BYTES, _AS_BEFORE]
    if any(reason.code in {"unexplained", "too-few-keys", "mixed"} for reason in reasons):
        assumed.append(_NOT_GROWN)
    # If two hashes collide, keys may seem apart that are not, so a "no" may be wrong. The assumption gives
    # the probability of a collision.
    if proof is not None and proof.hashed:
        assumed.append(_collisions(proof))
    return verdict_of(names, reasons, remedies(topics, reasons, proof), assumed, proof)


def _convinces(proof: KeyProof) -> bool:
    """Return whether all keys were compared and agree, and enough are in every topic to tell rules apart.

    Args:
        proof: of two topics or more.
    """
    # With more than two topics, a key in two of them says nothing about the third.
    everywhere = proof.common if len(proof.keys) == 2 else proof.everywhere or 0
    return proof.complete and not proof.apart and not any(proof.scattered) and everywhere >= ENOUGH_COMMON


def _unshared_keys(topics: Sequence[AuditSummary], proof: KeyProof | None) -> list[int | None]:
    """Return, for each topic, how many of its keys are missing from at least one other topic.

    A number is None if these keys were not counted.
    """
    if proof is None:
        return [None] * len(topics)
    everywhere = proof.common if len(topics) == 2 else proof.everywhere
    return [None if everywhere is None else keys - everywhere for keys in proof.keys]


def _all_explained(topics: Sequence[AuditSummary]) -> bool:
    """Return whether one rule with one count explains the partition of every keyed record of every topic.

    Then no key can be apart.
    """
    return all(topic.full and topic.keyed and not topic.missed for topic in topics) and (
        len({rule for topic in topics for rule in topic.rules}) == 1
    )


def _counts(topics: Sequence[AuditSummary]) -> Iterator[JoinReason]:
    """Yield exactly one reason: "for" if all topics have the same partition count, else "against"."""
    names = tuple(topic.name for topic in topics)
    counts = [topic.count for topic in topics]
    if len({*counts}) == 1:
        yield reason_of("counts", names, count=count(counts[0], "partition"))
    else:
        shown = [f"{topic.name} has {count(topic.count, 'partition')}" for topic in topics]
        yield reason_of("other-counts", names, counts=list_names(shown))


def _rules(topics: Sequence[AuditSummary], *, convinced: bool) -> Iterator[JoinReason]:
    """Yield at most one reason: the topics with known writers have the same rule today, or different rules.

    Nothing is yielded if there are fewer than two such topics or their partition counts differ.

    Args:
        topics: the topics of the join.
        convinced: whether the keys themselves agree and are enough to show one rule, as `_convinces` tells.
            Then rules that differ are not a reason against the join.
    """
    # Topics with unknown writers are left out; `_writers` yields what is open about them.
    sure = [topic for topic in topics if topic.trusted and topic.today]
    names = tuple(topic.name for topic in sure)
    if len(sure) < 2 or len({topic.count for topic in sure}) > 1:
        return
    rules = {rule for topic in sure for rule in topic.today}
    if len(rules) == 1:
        yield reason_of("rules", names, rule=rule_name(*rules))
        return
    by_rules: dict[frozenset[Placement], list[str]] = {}
    for topic in sure:
        by_rules.setdefault(topic.today, []).append(topic.name)
    text = "; ".join(
        f"keys of {list_names(those)} are placed by {_all(of)}" for of, those in by_rules.items()
    )
    # A rival rule that explains a topic equally well may be the true one. So the rules certainly differ only
    # if two topics have no possible rule in common.
    apart = any(not one.possible & other.possible for one in sure for other in sure)
    if apart and not convinced:
        yield reason_of("other-rules", names, rules=text, count=sure[0].count)
    elif all(len(topic.today) == 1 for topic in sure):
        yield reason_of("rules-unsure", names, rules=text)


def _keys(topics: Sequence[AuditSummary], proof: KeyProof | None, *, explained: bool) -> Iterator[JoinReason]:
    """Yield the reasons that follow from the comparison of keys; none if there is no proof.

    Args:
        topics: the topics of the join.
        proof: what the keys say, in the order of the topics; None if they were not compared.
        explained: whether one rule explains every keyed record of every topic. Then it does no harm if only a
            part of the keys was compared.
    """
    if proof is None:
        return
    names = tuple(topic.name for topic in topics)
    keys = count(proof.common, "key")
    if proof.apart:
        example = ""
        if proof.examples:
            key, its = proof.examples[0]
            places = [
                f"in {name}-{place}" for name, place in zip(names, its, strict=True) if place is not None
            ]
            example = f", such as {key_text(key)}, {list_names(places)}"
        yield reason_of("keys-apart", names, proof=proof, keys=keys, example=example)
    # If no key is in two topics, no key can be apart, so the comparison shows nothing about rules.
    elif not proof.common:
        yield reason_of("no-common-key" if proof.complete else "none-read-in-common", names)
    else:
        yield reason_of("keys", names, keys=keys)
    if proof.common and proof.everywhere == 0:
        yield reason_of("none-everywhere", names)
    for name, scattered in zip(names, proof.scattered, strict=True):
        # A key that is apart is the stronger reason, so scattered keys are left out if there is one.
        if scattered and not proof.apart:
            yield reason_of("scattered", (name,), keys=count(scattered, "key"))
    full = all(topic.full for topic in topics)
    if full and not proof.complete and not proof.apart and not (explained and proof.share < 1):
        compared = "not all keys were" if proof.share == 1 else f"{proof.share:.2%} of keys were"
        yield reason_of("keys-unread", names, compared=compared)


def _writers(topic: AuditSummary, alone: int | None, *, convinced: bool) -> Iterator[JoinReason]:
    """Yield the reasons that the audit of one topic gives; some are "for" only because the keys settle them.

    Args:
        topic: the summary of the audit.
        alone: how many of the topic's keys are missing from another topic; None if they were not counted.
        convinced: whether the keys themselves agree and are enough to show one rule, as `_convinces` tells.
    """
    name = (topic.name,)
    if not topic.rows:
        yield reason_of("no-records", name)
        return
    if not topic.keyed:
        weight: Weight = "against" if topic.full else "open"
        yield reason_of("no-keys", name, weight, records=count(topic.rows, "record"))
        return
    certainty = topic.audit.certainty
    if certainty == "mixed":
        share = 1 - topic.missed / topic.keyed
        more = ""
        if convinced and alone:
            more = f"; {count(alone, 'key')} of it are not in every topic, so nothing shows who places them"
        weight = "for" if convinced and alone == 0 else "open"
        yield reason_of("mixed", name, weight, share=share, alone=more)
    elif certainty == "none":
        yield reason_of("unexplained", name, "for" if convinced else "open")
    elif certainty == "unknown":
        yield reason_of("too-few-keys", name, "for" if convinced else "open")
    else:
        yield from _trusted_reasons(topic, settled=convinced and alone == 0)


def _trusted_reasons(topic: AuditSummary, *, settled: bool) -> Iterator[JoinReason]:
    """Yield what is open about a topic whose writers are known: growth, a change of rule, and strays.

    Args:
        topic: its certainty is "sure" or "likely".
        settled: whether the comparison of keys shows that the topic's strays do no harm.
    """
    name = (topic.name,)
    if topic.old_counts:
        counts = list_names([str(count) for count in topic.old_counts])
        records = count(topic.old_rows, "keyed record")
        yield reason_of("epochs", name, records=records, counts=counts, topic=topic)
    if len(topic.today) > 1:
        yield reason_of("changed-rule", name, rules=_all(topic.today))
    if topic.missed:
        records = count(topic.missed, "keyed record")
        yield reason_of("strays", name, "for" if settled else "open", records=records)


def _coverage(topics: Sequence[AuditSummary]) -> Iterator[JoinReason]:
    """Yield a reason for each topic of which records were left out: these may be placed by other rules."""
    for topic in topics:
        if not topic.full:
            yield reason_of("sample", (topic.name,), coverage=topic.audit.coverage)


def _keyless(topics: Sequence[AuditSummary], proof: KeyProof | None) -> Iterator[JoinReason]:
    """Yield reasons on null keys, which do not join, and empty keys, which some clients place randomly.

    A reason is "open" if two topics or more have such records and not all keys were compared, else "for".
    """
    having = [topic for topic in topics if topic.keyless and topic.keyed]
    for topic in having:
        # If all keys were compared, empty keys were, too.
        unsure = len(having) > 1 and (proof is None or not proof.complete)
        case, records = "keyless-unsure" if unsure else "keyless", count(topic.rows, "record")
        yield reason_of(case, (topic.name,), topic=topic, records=records)


def _all(rules: frozenset[Placement]) -> str:
    """Return the names of these rules, in alphabetical order."""
    return list_names(sorted(map(rule_name, rules)))


def _collisions(proof: KeyProof) -> str:
    """Return the assumption about 64-bit hashes, with a bound on the probability of a collision."""
    pairs = sum(proof.keys) ** 2 / 2
    return (
        "keys were compared by 64-bit hashes, of which two that collide can make keys seem apart but never "
        f"hide one that is; the chance that any two of these do is below {max(pairs / 2**64, 1e-9):.0e}"
    )


_PLACING = {"counts", "rules", "changed-rule", "keys-apart", "scattered", "epochs", "strays", "mixed"}
"""Codes of reasons that go away once records are rewritten."""

_BY_HAND = ("java", "librdkafka")
"""Clients whose settings are listed if the writer is unknown."""


class _Target(NamedTuple):
    """A placement for all topics, and the topics whose records must be rewritten for it.

    Attributes:
        rule: how keys are placed.
        partitions: the partition count of each topic.
        anew: the topics that have, or may have, at least one record elsewhere.
    """

    rule: Placement
    partitions: int
    anew: tuple[AuditSummary, ...]

    @property
    def records(self) -> int:
        """The most records that these topics can have together."""
        return sum(topic.records for topic in self.anew)


def remedies(
    topics: Sequence[AuditSummary], reasons: Sequence[JoinReason], proof: KeyProof | None
) -> tuple[Remedy, ...]:
    """Return the ways out of reasons against a join and of open ones, the cheapest first.

    Args:
        topics: the topics of the join.
        reasons: all reasons of the verdict.
        proof: what the keys say; None if they were not compared.
    """
    # A reason "for" needs no way out. Its code alone does not show that, because a reason with the same code
    # may be "open" or "against".
    codes = {reason.code for reason in reasons if reason.weight != "for"}
    ways: list[Remedy] = []
    if codes & _PLACING:
        target = _cheapest(topics, proof)
        # Settings come first: to rewrite old records is of no use while new ones still go elsewhere.
        ways += [remedy for topic in target.anew for remedy in _settings(topic, target)]
        ways += [_copy(topic, target) for topic in sorted(target.anew, key=lambda topic: topic.records)]
    # If only a sample was read and placement is no problem so far, reading every record may settle the
    # question.
    elif "sample" in codes:
        ways += _read(topics)
    if codes & {"forms", "respelled"}:
        ids = {schema_id for topic in topics for form in topic.audit.forms for schema_id in form.schema_ids}
        text = "write the keys of all topics with one serializer and one schema id, and the old records anew"
        command = "auto.register.schemas=false use.schema.id=N" if len(ids) > 1 else None
        ways.append(Remedy(topics[-1].name, text, command))
        if ids:
            text = (
                "for good: send schema ids of keys in headers in all topics, and write the old records anew; "
                "then no new version of a schema moves a key whose bytes it leaves as they are"
            )
            ways.append(Remedy(topics[-1].name, text, "key schema.id.serializer=header_schema_id_serializer"))
    for topic in topics:
        if topic.rows and not topic.keyed:
            ways.append(Remedy(topic.name, f"write {topic.name} anew with the keys to join by", None))
    return tuple(ways)


def _read(topics: Sequence[AuditSummary]) -> Iterator[Remedy]:
    """Yield the remedy of reading every record, if some were left out: a sample cannot prove a "yes"."""
    partial = [topic for topic in topics if not topic.full]
    if partial:
        records = sum(topic.records for topic in topics)
        names = [topic.name for topic in topics]
        text = f"read every record of {list_names(names)}, {count(records, 'record')} at most"
        yield Remedy(partial[0].name, text, f"copartition check {' '.join(names)} --full")


def _cheapest(topics: Sequence[AuditSummary], proof: KeyProof | None) -> _Target:
    """Return the placement for which the fewest records must be rewritten.

    If several placements are equal in that, the one with the most partitions is returned, then the one whose
    rule belongs to the earliest profile in `PROFILES`.

    Args:
        topics: the topics of the join. The rules and counts that they have today are the candidates.
        proof: what the keys say; None if they were not compared. A topic with a key in several partitions
            must be rewritten for any placement.
    """
    scattered = dict.fromkeys((topic.name for topic in topics), 0)
    if proof is not None:
        scattered = dict(zip(scattered, proof.scattered, strict=True))
    most = max(topic.count for topic in topics)
    wanted = {(rule, topic.count) for topic in topics for rule in topic.today}
    # If nothing is known of any writer, Java's rule with the largest count is wanted.
    wanted = wanted or {(placement(PROFILES["java"], most), most)}
    # A topic need not be rewritten only if the wanted rule with the wanted count explains all its records.
    targets = [
        _Target(
            rule,
            count,
            tuple(
                topic
                for topic in topics
                if not topic.trusted
                or topic.rules != {rule}
                or topic.missed
                or scattered[topic.name]
                or topic.count != count
            ),
        )
        for rule, count in wanted
    ]
    return min(targets, key=lambda target: (target.records, -target.partitions, seniority(target.rule)))


def _copy(topic: AuditSummary, target: _Target) -> Remedy:
    """Return the remedy of copying a topic into one with the wanted placement.

    Args:
        topic: one of `target.anew`.
        target: the wanted placement. The new topic's name is the old one's with the count added.
    """
    name = f"{topic.name}-by-{target.partitions}"
    text = (
        f"write {topic.name} anew into a topic with {count(target.partitions, 'partition')}, placed by "
        f"{rule_name(target.rule)}: {count(topic.records, 'record')} at most"
    )
    if topic.count < target.partitions:
        text += f"; to let {topic.name} grow is not enough, its records stay where they are"
    return Remedy(
        topic.name, text, f"kafka-topics.sh --create --topic {name} --partitions {target.partitions}"
    )


def _settings(topic: AuditSummary, target: _Target) -> Iterator[Remedy]:
    """Yield the remedy of setting the topic's writers so that new records have the wanted placement.

    Nothing is yielded if the writers have the wanted placement already, or if no client that may be the
    writer has a known setting for it.
    """
    wanted = target.rule
    placed = {placement(PROFILES[name], target.partitions) for name in topic.profiles}
    # If the writers have the wanted placement already, only old records are elsewhere.
    if topic.trusted and placed == {wanted}:
        return
    settings = [
        f"{client}: {setting}"
        for client in clients_of(topic.profiles) or _BY_HAND
        if (setting := setting_for(client, wanted)) is not None
    ]
    if settings:
        text = f"set the writers of {topic.name} to {rule_name(wanted)}, for the records to come"
        yield Remedy(topic.name, text, "; ".join(settings))
