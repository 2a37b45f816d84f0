"""Report on whether topics can be joined by partition: as data, text, Markdown and JSON.

Keys of the JSON are stable: a minor version adds keys and never renames any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from copartition.audit.topic_audit import Coverage, KeyForm, TopicAudit
from copartition.check.planned import GrowthPlan, MustGrow, PlannedJoin
from copartition.check.verdict import AuditSummary, JoinReason, JoinVerdict, KeyProof, Remedy
from copartition.kit.json import CheckResult, attributes, check_results, dump, json_schema
from copartition.kit.markdown import Page, markdown_text
from copartition.kit.words import Table, key_text, list_names, visible
from copartition.simulation.growth import CURE, skipped_records
from copartition.simulation.inputs.settings import Settings

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.kit.number_checks import NumberCheck

MARKS = {"against": "✗", "open": "?", "for": "✓"}
"""A reason's weight -> the sign that shows it in a report."""

FATES = {
    "breaks": "breaks: counts differ",
    "broken": "broken already: counts differ",
    "moves": "keys move",
    "untouched": "untouched",
}
"""`PlannedJoin.fate` -> the words for it."""

EXAMPLE_BYTES = 60
"""The most bytes of a key that is shown; a longer key is cut."""


@dataclass(frozen=True)
class JoinNumbers:
    """The numbers of a check; --check can set a limit on each. A number is null if it was not computed.

    Attributes:
        topics: the number of topics of the join.
        against: the number of reasons that prove that the join breaks.
        open: the number of reasons that leave the question open.
        common: the number of keys that are in more than one topic; a lower bound if not all keys were
            compared.
        apart: how many of the common keys are at different partition numbers; a lower bound if not all keys
            were compared.
        scattered: the number of keys that are in several partitions of one topic; a lower bound if not all
            keys were compared.
        read: the number of records that were read.
        present: the number of records in all topics; an upper bound if a topic is compacted or has
            transactions.
        breaks: the number of joins that a plan breaks or that are broken already.
        moves: the number of joins whose keys a plan moves.
        exact: whether all keys of all topics were compared; true if no keys had to be compared.
    """

    topics: int | None = None
    against: int | None = None
    open: int | None = None
    common: int | None = None
    apart: int | None = None
    scattered: int | None = None
    read: int | None = None
    present: int | None = None
    breaks: int | None = None
    moves: int | None = None
    exact: bool = True

    def range_of(self, name: str) -> tuple[float, float]:
        """Return the least and the most that a number can be, if it is not None."""
        value = float(getattr(self, name))
        # If only some keys were counted, the true number may be any greater one.
        bound = name in {"common", "apart", "scattered"} and not self.exact
        return value, inf if bound else value


@dataclass(frozen=True)
class JoinReport:
    """A verdict on one join, or a plan for several joins, and the audits that it is based on.

    Attributes:
        verdict: the verdict, or the plan.
        audits: who wrote each topic; empty if no topic was read.
    """

    verdict: JoinVerdict | GrowthPlan
    audits: tuple[TopicAudit, ...] = ()

    @property
    def headline(self) -> str:
        """The verdict in a sentence, the answer first."""
        verdict = self.verdict
        if isinstance(verdict, GrowthPlan):
            return f"{verdict.answer}, {plan_sentences(verdict)[0]}"
        # The deciding reason is the first one; a verdict always has at least one.
        names, because = list_names(verdict.topics), verdict.reasons[0].text
        if verdict.answer == "yes":
            return f"yes, {names} can be joined by partition"
        if verdict.answer == "no":
            return f"no, {names} cannot be joined by partition: {because}"
        return f"cannot tell whether {names} can be joined by partition: {because}"

    @property
    def numbers(self) -> JoinNumbers:
        """The numbers that --check can limit."""
        if isinstance(self.verdict, GrowthPlan):
            fates = [join.fate for join in self.verdict.joins]
            return JoinNumbers(
                breaks=fates.count("breaks") + fates.count("broken"), moves=fates.count("moves")
            )
        weights = [reason.weight for reason in self.verdict.reasons]
        proof = self.verdict.proof
        return JoinNumbers(
            topics=len(self.verdict.topics),
            against=weights.count("against"),
            open=weights.count("open"),
            common=None if proof is None else proof.common,
            apart=None if proof is None else proof.apart,
            scattered=None if proof is None else sum(proof.scattered),
            read=sum(audit.coverage.read for audit in self.audits) if self.audits else None,
            present=sum(audit.coverage.present for audit in self.audits) if self.audits else None,
            # If keys were not compared, the numbers that could be lower bounds are None.
            exact=proof is None or proof.complete,
        )


def topic_table(audits: Sequence[TopicAudit]) -> Table:
    """Return a table with a row for each topic: what was read, and who wrote it."""
    titles = ("topic", "partitions", "records read", "of", "placed by", "certainty", "keys")
    rows = [
        (
            audit.topic,
            f"{audit.num_partitions:,}",
            f"{audit.coverage.read:,}",
            f"{audit.coverage.present:,}",
            # The words "the rule of" are removed, because the title of the column says "placed by".
            "; ".join(sorted(str(rule).removeprefix("the rule of ") for rule in AuditSummary(audit).rules))
            or "-",
            audit.certainty,
            ", ".join(form.name for form in audit.forms) or "-",
        )
        for audit in audits
    ]
    return Table(titles, rows, (1, 2, 3))


def example_table(verdict: JoinVerdict) -> Table:
    """Return a table with a row for each key that is apart: its partition in each topic."""
    titles = ("key", *(f"in {topic}" for topic in verdict.topics))
    rows = [
        (key_text(key, EXAMPLE_BYTES), *("-" if place is None else str(place) for place in places))
        for key, places in (verdict.proof.examples if verdict.proof else ())
    ]
    return Table(titles, rows, range(1, len(titles)))


def plan_table(plan: GrowthPlan) -> Table:
    """Return a table with a row for each join: its counts before and after, and what happens to it."""
    rows = [
        (
            " with ".join(join.topics),
            " / ".join(f"{count:,}" for count in join.before),
            " / ".join(f"{count:,}" for count in join.after),
            FATES[join.fate],
        )
        for join in plan.joins
    ]
    return Table(("join", "partitions now", "then", "outcome"), rows, (1, 2))


def growth_table(plan: GrowthPlan) -> Table:
    """Return a table with a row for each topic that has to grow."""
    rows = [
        (
            growth.topic,
            f"{growth.before:,}",
            f"{growth.planned:,}",
            f"{growth.needed:,}",
            f"{growth.moved:.0%}",
        )
        for growth in plan.grow
    ]
    return Table(("topic", "partitions now", "planned", "needed", "keys that move"), rows, range(1, 5))


def plan_sentences(plan: GrowthPlan) -> list[str]:
    """Return the plan in sentences: what breaks, what must grow, and which records stay behind."""
    grown = list_names([f"{topic} to {count:,}" for topic, count in plan.plan.items()])
    fates = {
        fate: [join for join in plan.joins if join.fate == fate] for fate in ("breaks", "broken", "moves")
    }
    # The first sentence becomes part of the headline, so there must be one whatever the answer is.
    sentences = [f"growing {grown} touches none of {len(plan.joins)} joins"] if plan.answer == "yes" else []
    if fates["breaks"]:
        sentences.append(f"growing {grown} breaks {_joins(fates['breaks'])}: partition counts would differ")
    if fates["broken"]:
        sentences.append(f"{_joins(fates['broken'])}: partition counts differ now, and would then")
    # Topics that must grow by more than the plan says, or that the plan does not name.
    more = [growth for growth in plan.grow if growth.needed > growth.planned]
    if more:
        needs = [f"{join.topic} to {join.needed:,} (now {join.before:,})" for join in more]
        sentences.append(f"to keep counts equal, grow too: {list_names(needs)}")
    if plan.grow:
        shares = list_names([f"{growth.moved:.0%} of the keys of {growth.topic}" for growth in plan.grow])
        sentences.append(
            f"growth moves {shares}: their records to come do not meet those there are, until these are gone "
            "or are written anew"
        )
    # Consumers that start at the end skip records that come into a new partition before they see it.
    if any(join.before != join.after for join in plan.joins):
        sentences.append(f"{skipped_records(None, Settings())[0]}. To lose none, {CURE}.")
    return sentences


def _joins(joins: Sequence[PlannedJoin]) -> str:
    """Return the topics of joins in words, such as "a with b and c with d"."""
    return list_names([" with ".join(join.topics) for join in joins])


_COLOURS = {"yes": "bold green", "no": "bold red", "unknown": "bold yellow"}
_WEIGHTS = {"against": "red", "open": "yellow", "for": "green"}


def print_join(report: JoinReport, console: Console) -> None:
    """Print the verdict, then reasons, topics, keys that are apart, ways out, and what was assumed."""
    from copartition.kit.grid import cell, note, print_table  # noqa: PLC0415 - needs rich

    verdict = report.verdict
    console.print(cell(report.headline, _COLOURS[verdict.answer]), soft_wrap=True)
    if isinstance(verdict, GrowthPlan):
        _print_plan(verdict, console)
        return
    console.print()
    for reason in verdict.reasons:
        console.print(
            cell(f"  {MARKS[reason.weight]} {reason.text}", _WEIGHTS[reason.weight]), soft_wrap=True
        )
    if report.audits:
        print_table(topic_table(report.audits), console)
    examples = example_table(verdict)
    if examples.rows:
        print_table(examples, console)
    if verdict.remedies:
        console.print()
        console.print("what to do")
    for remedy in verdict.remedies:
        console.print(cell(f"  - {remedy.text}"), soft_wrap=True)
        if remedy.command is not None:
            console.print(cell(f"      {remedy.command}", "bold"), soft_wrap=True)
    console.print()
    for assumption in verdict.assumed:
        console.print(note(f"assumed: {assumption}"), soft_wrap=True)


def _print_plan(plan: GrowthPlan, console: Console) -> None:
    """Print a plan: its tables, and its sentences except the first, which is the headline."""
    from copartition.kit.grid import cell, print_table  # noqa: PLC0415 - needs rich

    # The first sentence is part of the headline, which is printed already.
    for sentence in plan_sentences(plan)[1:]:
        console.print(cell(sentence), soft_wrap=True)
    print_table(plan_table(plan), console)
    if plan.grow:
        print_table(growth_table(plan), console)


def join_markdown(report: JoinReport) -> str:
    """Return the report as GitHub Markdown: the verdict in bold, its reasons, and long tables folded."""
    page = Page()
    page.add("**", markdown_text(report.headline), "**\n")
    verdict = report.verdict
    if isinstance(verdict, GrowthPlan):
        page.items(plan_sentences(verdict)[1:], "remark")
        page.whole_table("Joins", plan_table(verdict), "join", share=2)
        if verdict.grow:
            page.whole_table("What must grow", growth_table(verdict), "topic")
        return page.finished
    page.items([f"{MARKS[reason.weight]} {reason.text}" for reason in verdict.reasons], "reason")
    if verdict.remedies:
        page.add("\nWhat to do:\n")
        remedies = [
            markdown_text(remedy.text) + (f": `{_code(remedy.command)}`" if remedy.command else "")
            for remedy in verdict.remedies
        ]
        page.marked_items(remedies, len(remedies), "remedy")
    if report.audits:
        page.whole_table("Topics", topic_table(report.audits), "topic", share=2)
    examples = example_table(verdict)
    if examples.rows:
        page.whole_table("Keys that are apart", examples, "key", share=2)
    page.items([f"assumed: {assumption}" for assumption in verdict.assumed], "assumption")
    return page.finished


def _code(text: str) -> str:
    """Return text to put between backticks, without backticks that would end it."""
    return visible(text).replace("`", "'")


CHECK_FORMAT_VERSION = "1.0"


class KeyData(TypedDict):
    """A key.

    Attributes:
        text: the key as text; null if it is not UTF-8.
        hex: the key's bytes in hexadecimal.
    """

    text: str | None
    hex: str


class ApartData(TypedDict):
    """A key that is at different partition numbers in at least two topics.

    Attributes:
        key: the key.
        places: the key's partition in each topic, in the order of `JoinData.topics`; null if the topic does
            not have the key.
    """

    key: KeyData
    places: list[int | None]


class ProofData(TypedDict):
    """The result of comparing the keys of the topics.

    Attributes:
        keys: the number of distinct keys of each topic that were compared, in the order of `JoinData.topics`.
        common: how many distinct keys are in more than one topic.
        everywhere: how many distinct keys are in every topic; null if they were not counted.
        apart: how many of the common keys are at different partition numbers.
        examples: a few of the keys that are apart.
        scattered: for each topic, how many of its keys are in several of its partitions, in the order of
            `JoinData.topics`.
        complete: whether every key of every topic was compared.
        hashed: whether keys were compared by 64-bit hashes. If so, two keys with equal hashes may count as
            one key that is apart.
        share: the share of all keys that was compared, from 0 to 1. These keys are chosen by their hashes, so
            they are the same in every topic.
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
    """A rule with a partition count, such as that of a client.

    Attributes:
        hash: the hash function; "any" if the topic has a single partition.
        sign: how a negative hash leads to a partition: "mask" clears the sign bit, "unsigned" reads the hash
            as unsigned, "absolute" drops the sign of the remainder; "any" if this makes no difference.
        num_partitions: the partition count.
    """

    hash: str
    sign: str
    num_partitions: int | None


class FormData(TypedDict):
    """One form that keys of a topic have.

    Attributes:
        example: a key of this form; only its first bytes if it is long.
    """

    name: str
    rows: int
    schema_ids: list[int]
    example: KeyData


class TopicData(TypedDict):
    """The audit of one topic: who wrote it.

    Attributes:
        rules: the rules that explain the topic's records, with today's partition count or an older one.
        keyed: how many of the records that were read have a key.
        keyless: how many of the records that were read have no key or an empty one.
        unexplained: how many keyed records are not where the rule of their range of offsets puts them.
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
        topics: the names of the topics.
        reasons: the facts for and against the join, the deciding ones first.
        remedies: changes that make the join possible or settle the question, the cheapest first; empty if the
            answer is "yes".
        assumed: what the answer assumes because nothing shows it.
        proof: the result of comparing the keys; null if no keys were compared.
        audits: who wrote each topic; empty if no topic was read.
    """

    topics: tuple[str, ...]
    reasons: tuple[JoinReason, ...]
    remedies: tuple[Remedy, ...]
    assumed: tuple[str, ...]
    proof: ProofData | None
    audits: list[TopicData]


class PlanData(TypedDict):
    """The effect of growing topics on joins.

    Attributes:
        plan: topic -> its new partition count.
        sentences: what breaks and what must be done, in sentences.
        joins: every join that was named, in this order.
        grow: the topics that have to grow so that joins keep working.
    """

    plan: dict[str, int]
    sentences: list[str]
    joins: list[PlannedJoin]
    grow: list[MustGrow]


class CheckDocument(TypedDict):
    """The answer whether topics can be joined partition by partition, or a plan of what growth does to joins.

    Attributes:
        format_version: the version of this format; a minor version adds fields and never renames one.
        answer: for a join, "yes" only if nothing that could break it was left open; for a plan, "yes" only if
            it touches no join and no join is broken already.
        verdict: the answer in a sentence.
        join: the verdict on one join; null if the document is a plan.
        plan: what happens to a set of joins if topics grow; null if the document is a verdict.
        numbers: the numbers on which --check can set a limit.
        checks: the limits of --check, and whether each holds.
    """

    format_version: str
    answer: Literal["yes", "no", "unknown"]
    verdict: str
    join: JoinData | None
    plan: PlanData | None
    numbers: JoinNumbers
    checks: list[CheckResult]


def check_json(report: JoinReport, limits: Sequence[NumberCheck] = ()) -> str:
    """Return the report, with the limits that were given, as JSON."""
    numbers, verdict = report.numbers, report.verdict
    join = plan = None
    if isinstance(verdict, GrowthPlan):
        plan = attributes(PlanData, verdict, sentences=plan_sentences(verdict))
    else:
        proof = None if verdict.proof is None else _proof(verdict.proof)
        join = attributes(JoinData, verdict, proof=proof, audits=[*map(_topic, report.audits)])
    document: CheckDocument = {
        "format_version": CHECK_FORMAT_VERSION,
        "answer": verdict.answer,
        "verdict": report.headline,
        "join": join,
        "plan": plan,
        "numbers": numbers,
        "checks": check_results(limits, numbers),
    }
    return dump(document)


def _proof(proof: KeyProof) -> ProofData:
    """Return what the keys say in the form of the document."""
    examples = [{"key": _key(example.key), "places": example.places} for example in proof.examples]
    return attributes(ProofData, proof, examples=examples)


def _topic(audit: TopicAudit) -> TopicData:
    """Return the audit of a topic in the form of the document."""
    topic = AuditSummary(audit)
    return attributes(
        TopicData,
        audit,
        rules=[attributes(RuleData, rule) for rule in sorted(topic.rules)],
        keyed=topic.keyed,
        keyless=topic.keyless,
        unexplained=topic.missed,
        forms=[attributes(FormData, form, example=_key(form.example)) for form in audit.forms],
    )


def _key(key: bytes) -> KeyData:
    """Return a key in the form of the document: as text if it is UTF-8, and in hexadecimal."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return {"text": None, "hex": key.hex()}
    return {"text": text, "hex": key.hex()}


def check_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document, of draft 2020-12."""
    # The fields of these types are documented where the values are made.
    borrowed = {FormData: KeyForm, TopicData: TopicAudit}
    return json_schema(CheckDocument, "copartition check", borrowed)
