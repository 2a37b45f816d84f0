"""Keys that say the same in other bytes, which no join by bytes brings together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from copartition.topics.audit.logical import respelled
from copartition.topics.join.facts import listed, number, spelled
from copartition.topics.join.verdict import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from copartition.topics.audit.logical import Respelled
    from copartition.topics.audit.topic_audit import KeyForm, TopicAudit
    from copartition.topics.join.verdict import KeyProof

_SAME = (frozenset({"decimal", "int32", "int64"}), frozenset({"uuid", "uuid-text"}))
"""Forms in which one serializer or another writes the same values."""

_SEEMING = {"int32", "int64", "bytes"}
"""Forms that bytes without any mark are given."""


def forms_reasons(audits: Sequence[TopicAudit], proof: KeyProof | None) -> Iterator[Reason]:
    """What the forms of keys say about a join of these topics."""
    names = tuple(audit.topic for audit in audits)
    yield from _respelled(audits)
    ids = sorted({number for audit in audits for form in audit.forms for number in form.schema_ids})
    if len(ids) > 1:
        told = (
            f"keys of {listed(names)} carry the schema ids {listed([str(each) for each in ids])}; "
            "a key under two ids has other bytes, and so another partition"
        )
        yield Reason("forms", names, told, "open")
    forms = [{form.name for form in audit.forms} for audit in audits]
    for number_, (name, mine) in enumerate(zip(names, forms, strict=True)):
        for other, its in zip(names[number_ + 1 :], forms[number_ + 1 :], strict=True):
            if mine and its and _differ(mine, its):
                told = f"keys of {name} are {listed(sorted(mine))}, those of {other} {listed(sorted(its))}"
                proved = not mine & its and proof is not None and proof.complete and not proof.common
                because = (
                    "; no two are the same bytes" if proved else "; the same value in both has other bytes"
                )
                yield Reason("forms", (name, other), told + because, "against" if proved else "open")


def _respelled(audits: Sequence[TopicAudit]) -> Iterator[Reason]:
    """Sampled keys that say the same in other bytes, in two topics or in one: first those that surely do."""
    weighed: dict[Literal["against", "open"], list[tuple[KeyForm, ...]]] = {
        "against": [tuple(filter(_is_sure, audit.forms)) for audit in audits],
        "open": [audit.forms for audit in audits],
    }
    for weight, forms in weighed.items():
        everywhere = [*zip(audits, forms, strict=True)]
        for group in (everywhere, *([each] for each in everywhere)):
            found = respelled(*(its for _, its in group))
            if found.respelled:
                names = tuple(audit.topic for audit, _ in group)
                told = _told(names, found) + "; so their bytes seem to say" * (weight == "open")
                yield Reason("respelled", names, told, weight)
                return


def _is_sure(form: KeyForm) -> bool:
    """Whether its keys say for certain what they seem to: any four or eight bytes could be a number."""
    return bool(form.said) or not (form.maybe or form.name in _SEEMING)


def _told(names: Sequence[str], found: Respelled) -> str:
    said, spellings = found.examples[0]
    written = [
        f"{listed([spelled(key) for key in keys])} in {name}"
        for name, keys in zip(names, spellings, strict=True)
        if keys
    ]
    return (
        f"{found.respelled:,} of {number(found.compared, 'sampled key')} of {listed(names)} say the same "
        f"in other bytes: the {said.kind} {said.value} is {listed(written)}"
    )


def _differ(mine: set[str], its: set[str]) -> bool:
    """Whether each has a form that the other lacks, and both write the same values."""
    only_mine, only_its = mine - its, its - mine
    framed = ("registry" in mine) != ("registry" in its)
    return framed or any(only_mine & same and only_its & same for same in _SAME)
