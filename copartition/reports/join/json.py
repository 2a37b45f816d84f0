"""What `copartition check -o json` says: one definition, of which `--schema` is made.

Keys are stable: a minor version adds, never renames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from copartition.reports.join.model import JoinNumbers, plan_sentences
from copartition.reports.json import CheckResult, check_results, dump, json_schema
from copartition.topics.audit.topic_audit import Coverage
from copartition.topics.join.facts import Topic
from copartition.topics.join.growth import MustGrow, PlannedJoin
from copartition.topics.join.verdict import Reason, Remedy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.diff import Check
    from copartition.reports.join.model import JoinReport
    from copartition.topics.audit.topic_audit import TopicAudit
    from copartition.topics.join.verdict import JoinVerdict, KeyProof

CHECK_FORMAT_VERSION = "1.0"


class KeyData(TypedDict):
    """A key.

    Attributes:
        text: as text; null where it is not UTF-8.
        hex: its bytes in hexadecimal.
    """

    text: str | None
    hex: str


class ApartData(TypedDict):
    """A key that is at different partition numbers.

    Attributes:
        key: the key.
        places: its partition in each topic, in their order; null where a topic does not have it.
    """

    key: KeyData
    places: list[int | None]


class ProofData(TypedDict):
    """What the keys themselves say.

    Attributes:
        keys: distinct keys of each topic that were compared.
        common: of them, those in more than one topic.
        everywhere: keys that are in every topic; null where they were not counted.
        apart: of the common ones, those at different partition numbers.
        examples: a few of these.
        scattered: distinct keys of each topic that are in several of its own partitions.
        complete: whether every key of every topic was compared.
        hashed: whether 64-bit hashes stand for keys: two that collide may count as a key that is apart.
        share: of all keys the share that was compared, chosen by hash and so alike in every topic.
    """

    keys: list[int]
    common: int
    everywhere: int | None
    apart: int
    examples: list[ApartData]
    scattered: list[int]
    complete: bool
    hashed: bool
    share: float


class RuleData(TypedDict):
    """A rule over a partition count.

    Attributes:
        hash: the hash function.
        sign: what becomes of its sign.
        num_partitions: the partition count.
    """

    hash: str
    sign: str
    num_partitions: int | None


class FormData(TypedDict):
    """A form of keys.

    Attributes:
        name: of the form.
        rows: keyed records of this form.
        schema_ids: schema ids of a registry's frames.
        example: one such key.
    """

    name: str
    rows: int
    schema_ids: list[int]
    example: KeyData


class TopicData(TypedDict):
    """Who wrote a topic.

    Attributes:
        topic: its name.
        num_partitions: its partition count.
        coverage: what was read.
        certainty: how sure it is who wrote it.
        rules: the rules that explain its records, over today's count or an older one.
        keyed: records with a key.
        keyless: records without a key, or with an empty one.
        unexplained: keyed records that are where no rule of these puts them.
        forms: forms of its keys, most frequent first.
    """

    topic: str
    num_partitions: int
    coverage: Coverage
    certainty: str
    rules: list[RuleData]
    keyed: int
    keyless: int
    unexplained: int
    forms: list[FormData]


class JoinData(TypedDict):
    """The verdict on one join.

    Attributes:
        topics: their names.
        reasons: facts, those that decide first.
        remedies: ways out, the cheapest first; none for "yes".
        assumed: what the answer takes for granted.
        proof: what the keys say; null where none were compared.
        audits: who wrote each topic; none where no topic was read.
    """

    topics: tuple[str, ...]
    reasons: tuple[Reason, ...]
    remedies: tuple[Remedy, ...]
    assumed: tuple[str, ...]
    proof: ProofData | None
    audits: list[TopicData]


class PlanData(TypedDict):
    """What growing topics does.

    Attributes:
        plan: the new partition counts.
        told: what breaks and what must be done, in sentences.
        joins: every join of the set.
        grow: topics that have to grow.
    """

    plan: dict[str, int]
    told: list[str]
    joins: list[PlannedJoin]
    grow: list[MustGrow]


class CheckDocument(TypedDict):
    """Whether topics can be joined partition by partition, or what becomes of joins when topics grow.

    Attributes:
        format_version: of this document; a minor version adds fields, never renames any.
        answer: "yes" only where nothing that could break a join was left open; of a plan, "yes" where no join
            is touched.
        verdict: the answer in a sentence.
        join: the verdict on one join; null of a plan.
        plan: what becomes of a set of joins; null of a verdict.
        numbers: what can be checked; null where it was not looked at.
        checks: the limits that were given.
    """

    format_version: str
    answer: Literal["yes", "no", "unknown"]
    verdict: str
    join: JoinData | None
    plan: PlanData | None
    numbers: JoinNumbers
    checks: list[CheckResult]


_DESCRIBED: tuple[type, ...] = (ApartData, CheckDocument, CheckResult, Coverage, FormData, JoinData)
_DESCRIBED += (JoinNumbers, KeyData, MustGrow, PlanData, PlannedJoin, ProofData, Reason, Remedy)
_DESCRIBED += (RuleData, TopicData)


def check_json(report: JoinReport, limits: Sequence[Check] = ()) -> str:
    """The report as JSON.

    Args:
        report: what was found.
        limits: the limits that were given.
    """
    numbers, plan = report.numbers, report.plan
    document: CheckDocument = {
        "format_version": CHECK_FORMAT_VERSION,
        "answer": report.answer,
        "verdict": report.headline,
        "join": None if report.verdict is None else _join(report.verdict, report.audits),
        "plan": None
        if plan is None
        else {
            "plan": dict(plan.plan),
            "told": plan_sentences(plan),
            "joins": [*plan.joins],
            "grow": [*plan.grow],
        },
        "numbers": numbers,
        "checks": check_results(limits, numbers),
    }
    return dump(document)


def _join(verdict: JoinVerdict, audits: Sequence[TopicAudit]) -> JoinData:
    return {
        "topics": verdict.topics,
        "reasons": verdict.reasons,
        "remedies": verdict.remedies,
        "assumed": verdict.assumed,
        "proof": None if verdict.proof is None else _proof(verdict.proof),
        "audits": [*map(_topic, audits)],
    }


def _proof(proof: KeyProof) -> ProofData:
    return {
        "keys": [*proof.keys],
        "common": proof.common,
        "everywhere": proof.everywhere,
        "apart": proof.apart,
        "examples": [{"key": _key(example.key), "places": [*example.places]} for example in proof.examples],
        "scattered": [*proof.scattered],
        "complete": proof.complete,
        "hashed": proof.hashed,
        "share": proof.share,
    }


def _topic(audit: TopicAudit) -> TopicData:
    topic = Topic(audit)
    return {
        "topic": audit.topic,
        "num_partitions": audit.num_partitions,
        "coverage": audit.coverage,
        "certainty": audit.certainty,
        "rules": [
            {"hash": rule.hash, "sign": rule.sign, "num_partitions": rule.num_partitions}
            for rule in sorted(topic.rules)
        ],
        "keyed": topic.keyed,
        "keyless": topic.keyless,
        "unexplained": topic.missed,
        "forms": [
            {
                "name": form.name,
                "rows": form.rows,
                "schema_ids": [*form.schema_ids],
                "example": _key(form.example),
            }
            for form in audit.forms
        ],
    }


def _key(key: bytes) -> KeyData:
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return {"text": None, "hex": key.hex()}
    return {"text": text, "hex": key.hex()}


def check_schema() -> dict[str, Any]:
    """The JSON Schema of the document, of draft 2020-12."""
    return json_schema(CheckDocument, "copartition check", _DESCRIBED)
