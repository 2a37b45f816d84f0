"""What `copartition check` found, as every format tells it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

from copartition.topics.join.facts import Topic, listed, spelled
from copartition.topics.join.planning import plan_told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.topics.audit.topic_audit import TopicAudit
    from copartition.topics.join.planning import GrowthPlan
    from copartition.topics.join.proof import KeyPairs
    from copartition.topics.join.verdict import JoinVerdict, KeyProof

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
            return f"{self.plan.answer}, {plan_told(self.plan)[0]}"
        assert self.verdict is not None
        names = listed(self.verdict.topics)
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


TOPIC_TITLES = ("topic", "partitions", "records read", "of", "placed by", "certainty", "keys")


def topic_rows(audits: Sequence[TopicAudit]) -> list[tuple[str, ...]]:
    """A row a topic: what was read, and who wrote it."""
    return [
        (
            audit.topic,
            f"{audit.num_partitions:,}",
            f"{audit.coverage.read:,}",
            f"{audit.coverage.present:,}",
            "; ".join(sorted(map(_rule, Topic(audit).rules))) or "-",
            audit.certainty,
            ", ".join(form.name for form in audit.forms) or "-",
        )
        for audit in audits
    ]


def _rule(rule: object) -> str:
    return str(rule).removeprefix("the rule of ")


def example_titles(topics: Sequence[str]) -> tuple[str, ...]:
    """Above the keys that are apart."""
    return ("key", *(f"in {topic}" for topic in topics))


def example_rows(proof: KeyProof | None) -> list[tuple[str, ...]]:
    """A row a key that is apart: its partition in each topic."""
    return [
        (spelled(key, EXAMPLE_BYTES), *("-" if place is None else str(place) for place in places))
        for key, places in (proof.examples if proof else ())
    ]


PLAN_TITLES = ("join", "partitions now", "then", "outcome")


def plan_rows(plan: GrowthPlan) -> list[tuple[str, ...]]:
    """A row a join: its counts before and after, and what becomes of it."""
    return [
        (
            " with ".join(join.topics),
            " / ".join(f"{count:,}" for count in join.before),
            " / ".join(f"{count:,}" for count in join.after),
            FATES[join.fate],
        )
        for join in plan.joins
    ]


GROW_TITLES = ("topic", "partitions now", "planned", "needed", "keys that move")


def grow_rows(plan: GrowthPlan) -> list[tuple[str, ...]]:
    """A row a topic that has to grow."""
    return [
        (each.topic, f"{each.before:,}", f"{each.planned:,}", f"{each.needed:,}", f"{each.moved:.0%}")
        for each in plan.grow
    ]
