"""The answer to "can these topics be joined partition by partition?": small values, whoever read the keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class KeyApart(NamedTuple):
    """A key that is in two topics, at different partition numbers.

    Attributes:
        key: its bytes.
        places: its partition in each topic, in their order; None where a topic does not have the key.
    """

    key: bytes
    places: tuple[int | None, ...]


@dataclass(frozen=True)
class KeyProof:
    """What the keys themselves say.

    Attributes:
        keys: distinct keys of each topic, in the order of the topics.
        common: distinct keys that are in more than one topic.
        apart: of them, how many are at different partition numbers.
        examples: a few of them.
        scattered: per topic, distinct keys that are in more than one of its own partitions.
        complete: whether every record of every topic was read, so that no key was missed.
        hashed: whether keys were compared by 64-bit hashes only, so that "apart" may count a collision.
        everywhere: distinct keys that are in every topic; None where they were not counted.
        share: of all keys, the share that was compared, chosen by hash and so alike in every topic.
    """

    keys: tuple[int, ...]
    common: int
    apart: int
    examples: tuple[KeyApart, ...]
    scattered: tuple[int, ...]
    complete: bool
    hashed: bool
    everywhere: int | None = None
    share: float = 1.0


class Reason(NamedTuple):
    """One fact that speaks for or against a join.

    Attributes:
        code: "counts", "rules", "changed-rule", "epochs", "strays", "mixed", "unexplained", "too-few-keys",
            "no-records", "keyless", "forms", "respelled", "keys", "keys-apart", "scattered",
            "no-common-key", "sample" or "unproved".
        topics: whom it concerns.
        text: a sentence.
        weight: "against": it proves that the join breaks; "open": with it nothing is proved; "for": it is
            as it has to be.
    """

    code: str
    topics: tuple[str, ...]
    text: str
    weight: Literal["against", "open", "for"] = "for"


class Remedy(NamedTuple):
    """A way out.

    Attributes:
        topic: the topic to be written anew, or whose writer is to be set otherwise.
        text: what to do, with the records it touches.
        command: the command or setting that does it, None where there is none.
    """

    topic: str
    text: str
    command: str | None


_ANSWERS: dict[Literal["against", "open", "for"], Literal["yes", "no", "unknown"]] = {
    "against": "no",
    "open": "unknown",
    "for": "yes",
}

WEIGHTS = tuple(_ANSWERS)
"""Weights of reasons, the one that decides first in front."""


def answer_of(reasons: Iterable[Reason]) -> Literal["yes", "no", "unknown"]:
    """What the heaviest of one reason or more makes the answer."""
    weights = {reason.weight for reason in reasons}
    return next(answer for weight, answer in _ANSWERS.items() if weight in weights)


@dataclass(frozen=True)
class JoinVerdict:
    """Whether topics can be joined by partition.

    Attributes:
        topics: their names.
        answer: "yes" only where nothing that could break the join was left open; "no" with at least one
            proof; else "unknown".
        reasons: facts, the deciding ones first.
        remedies: ways out, the cheapest first; empty for "yes".
        assumed: what the answer takes for granted, in sentences.
        proof: what the keys say; None where none were read.
    """

    topics: tuple[str, ...]
    answer: Literal["yes", "no", "unknown"]
    reasons: tuple[Reason, ...]
    remedies: tuple[Remedy, ...]
    assumed: tuple[str, ...]
    proof: KeyProof | None
