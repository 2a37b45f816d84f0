"""What `copartition check` found, as every format tells it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

from copartition.topics.join.verdict import Topic, key_text
from copartition.words import Table, list_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.topics.audit.topic_audit import TopicAudit
    from copartition.topics.join.planned import GrowthPlan, PlannedJoin
    from copartition.topics.join.proof import KeyPairs
    from copartition.topics.join.verdict import JoinVerdict

MARKS = {"against": "✗", "open": "?", "for": "✓"}
"""What a reason weighs, at a glance."""

FATES = {
    "breaks": "breaks: counts differ",
    "broken": "broken already: counts differ",
    "moves": "keys move",
    "untouched": "untouched",
}
"""What becomes of a join."""

EXAMPLE_BYTES = 60
"""Of a key that is shown; a longer one is cut."""


@dataclass(frozen=True)
class JoinNumbers:
    """A check in numbers, each of which can be a limit; null where it was not looked at.

    Attributes:
        topics: topics of the join.
        against: reasons that prove that the join breaks.
        open: reasons that leave it open.
        common: keys that are in more than one topic; a lower bound where not all keys were compared.
        apart: of them, those at different partition numbers; a lower bound likewise.
        scattered: keys that are in several partitions of one topic; a lower bound likewise.
        read: records that were read.
        present: records there are, at most.
        breaks: joins that a plan breaks, or that were broken before.
        moves: joins whose keys a plan moves.
        exact: whether all keys of all topics were compared.
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
        """The least and the most that a number can be which is not None."""
        value = float(getattr(self, name))
        bound = name in {"common", "apart", "scattered"} and not self.exact
        return value, inf if bound else value


@dataclass(frozen=True)
class JoinReport:
    """A verdict on one join, or a plan for several, and what it rests on.

    Attributes:
        verdict: on one join; None of a plan.
        audits: who wrote each topic, where topics were read.
        pairs: of each topic but the last, where its keys are that the next one has, too.
        plan: what becomes of joins when topics grow; None of a verdict.
        invented_counts: partition counts that pairs of invented keys are drawn over, where no topic was read.
    """

    verdict: JoinVerdict | None = None
    audits: tuple[TopicAudit, ...] = ()
    pairs: tuple[KeyPairs, ...] = ()
    plan: GrowthPlan | None = None
    invented_counts: tuple[int, ...] = ()

    @property
    def drawn(self) -> list[tuple[str, int]]:
        """Each topic with the partitions that its picture has."""
        assert self.verdict is not None
        counts = [audit.num_partitions for audit in self.audits] or self.invented_counts
        return [*zip(self.verdict.topics, counts, strict=True)]

    @property
    def answer(self) -> Literal["yes", "no", "unknown"]:
        """The verdict in a word."""
        if self.plan is not None:
            return self.plan.answer
        assert self.verdict is not None
        return self.verdict.answer

    @property
    def headline(self) -> str:
        """The verdict in a sentence, the answer first."""
        if self.plan is not None:
            return f"{self.plan.answer}, {plan_sentences(self.plan)[0]}"
        assert self.verdict is not None
        names = list_names(self.verdict.topics)
        if self.verdict.answer == "yes":
            return f"yes, {names} can be joined by partition"
        because = self.verdict.reasons[0].text
        if self.verdict.answer == "no":
            return f"no, {names} cannot be joined by partition: {because}"
        return f"cannot tell whether {names} can be joined by partition: {because}"

    @property
    def numbers(self) -> JoinNumbers:
        """What can be a limit."""
        if self.plan is not None:
            fates = [join.fate for join in self.plan.joins]
            return JoinNumbers(
                breaks=fates.count("breaks") + fates.count("broken"), moves=fates.count("moves")
            )
        assert self.verdict is not None
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
            exact=proof is None or proof.complete,
        )


def topic_table(audits: Sequence[TopicAudit]) -> Table:
    """A row a topic: what was read, and who wrote it."""
    titles = ("topic", "partitions", "records read", "of", "placed by", "certainty", "keys")
    rows = [
        (
            audit.topic,
            f"{audit.num_partitions:,}",
            f"{audit.coverage.read:,}",
            f"{audit.coverage.present:,}",
            "; ".join(sorted(str(rule).removeprefix("the rule of ") for rule in Topic(audit).rules)) or "-",
            audit.certainty,
            ", ".join(form.name for form in audit.forms) or "-",
        )
        for audit in audits
    ]
    return Table(titles, rows, (1, 2, 3))


def example_table(verdict: JoinVerdict) -> Table:
    """A row a key that is apart: its partition in each topic."""
    titles = ("key", *(f"in {topic}" for topic in verdict.topics))
    rows = [
        (key_text(key, EXAMPLE_BYTES), *("-" if place is None else str(place) for place in places))
        for key, places in (verdict.proof.examples if verdict.proof else ())
    ]
    return Table(titles, rows, range(1, len(titles)))


def plan_table(plan: GrowthPlan) -> Table:
    """A row a join: its counts before and after, and what becomes of it."""
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
    """A row a topic that has to grow."""
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
    """The plan in sentences: what breaks, what must grow, and what stays behind."""
    grown = list_names([f"{topic} to {count:,}" for topic, count in plan.plan.items()])
    fates = {
        fate: [join for join in plan.joins if join.fate == fate] for fate in ("breaks", "broken", "moves")
    }
    sentences = [f"growing {grown} touches none of {len(plan.joins)} joins"] if plan.answer == "yes" else []
    if fates["breaks"]:
        sentences.append(f"growing {grown} breaks {_joins(fates['breaks'])}: partition counts would differ")
    if fates["broken"]:
        sentences.append(f"{_joins(fates['broken'])}: partition counts differ now, and would then")
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
    return sentences


def _joins(joins: Sequence[PlannedJoin]) -> str:
    return list_names([" with ".join(join.topics) for join in joins])
