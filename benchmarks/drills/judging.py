"""What is wrong with an answer, once what happened is known: rules that need no broker.

A rule takes the answers of a drill and the facts of what happened, and returns what is wrong, or None.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Facts: TypeAlias = "Mapping[str, Any]"
Rule: TypeAlias = "Callable[[Sequence[Answer], Facts], str | None]"

HEADLINE = 160
"""Characters that a headline may have."""
EXIT_CODES = (0, 1, 2)
"""What a command may end with: fine, found something, could not tell. A signal's number is negative."""
_STOPS = re.compile(r"\bstop (all|every|(of )?the whole)\b", re.IGNORECASE)


class Answer(NamedTuple):
    """An answer of a command.

    Attributes:
        command: what was asked, without `copartition` and without the cluster's address.
        code: the exit code; negative if a signal ended the command.
        said: standard output and, after it, standard error.
    """

    command: str
    code: int
    said: str

    @property
    def headline(self) -> str:
        """The first paragraph, which a tired person reads."""
        return self.said.strip().split("\n\n")[0]

    @property
    def first_line(self) -> str:
        """The first line, which the subject of a message shows."""
        return self.headline.split("\n")[0]


def judge(rules: Iterable[Rule], answers: Sequence[Answer], facts: Facts) -> list[str]:
    """Return what is wrong with the answers, in the order of the rules, each fault once; empty if nothing is.

    Two rules hold for every drill: a command ends with an exit code of its own, and a headline is short.
    """
    both = (no_death, short_headlines, *rules)
    found = (fault for rule in both if (fault := rule(answers, facts)) is not None)
    return list(dict.fromkeys(found))


def no_death(answers: Sequence[Answer], _: Facts) -> str | None:
    """Find a command that ended by a signal or by an exit code that means nothing."""
    dead = [answer for answer in answers if answer.code not in EXIT_CODES]
    ends = [f"`{answer.command}` ended with {answer.code}" for answer in dead]
    return "; ".join(ends) or None


def short_headlines(answers: Sequence[Answer], _: Facts) -> str | None:
    """Find a first line that is longer than `HEADLINE` characters."""
    longest = max((len(answer.first_line) for answer in answers), default=0)
    return f"a first line of {longest} characters" if longest > HEADLINE else None


def no_stop(fact: str) -> Rule:
    """Make the rule that no answer orders a stop of the whole group if this fact is true.

    Args:
        fact: that a milder way worked, or that the group did not start again after the stop.
    """

    def rule(answers: Sequence[Answer], facts: Facts) -> str | None:
        ordered = facts[fact] and any(_STOPS.search(answer.said) for answer in answers)
        return f"orders a stop of the whole group, although {fact}" if ordered else None

    return rule


def no_ok(fact: str, at: int = 0) -> Rule:
    """Make the rule that answer number `at` does not end with 0 if this fact is true."""

    def rule(answers: Sequence[Answer], facts: Facts) -> str | None:
        if answers[at].code or not facts[fact]:
            return None
        return f"exit code 0, although {fact}" + ("" if facts[fact] is True else f": {facts[fact]}")

    return rule


def never(pattern: str, because: str, at: int | None = None) -> Rule:
    """Make the rule that this pattern stands in no answer, or not in answer number `at`."""
    unwanted = re.compile(pattern, re.IGNORECASE)

    def rule(answers: Sequence[Answer], _: Facts) -> str | None:
        some = answers if at is None else [answers[at]]
        found = [match[0] for answer in some if (match := unwanted.search(answer.said))]
        return f'says "{found[0]}", but {because}' if found else None

    return rule


def says(pattern: str, what: str, at: int = 0, *, headline: bool = False) -> Rule:
    """Make the rule that this pattern stands in answer number `at`, or in its headline.

    Args:
        pattern: a regular expression of all words that tell it.
        what: what the answer has to tell.
        at: the answer's number.
        headline: whether it has to stand in the first paragraph.
    """
    wanted = re.compile(pattern, re.IGNORECASE)

    def rule(answers: Sequence[Answer], _: Facts) -> str | None:
        answer = answers[at]
        said = answer.headline if headline else answer.said
        where = "the headline does not" if headline else "does not"
        return None if wanted.search(said) else f"{where} say {what}"

    return rule


def figure(pattern: str, fact: str, *, most: bool = False, at: int = 0) -> Rule:
    """Make the rule that a figure in answer number `at` is that of this fact, if the answer has the figure.

    Args:
        pattern: a regular expression whose groups are one number, or the ends of a range of numbers.
        fact: the name of the figure that was measured.
        most: whether the figure is given as a maximum.
        at: the answer's number.
    """
    wanted = re.compile(pattern)

    def rule(answers: Sequence[Answer], facts: Facts) -> str | None:
        if (match := wanted.search(answers[at].said)) is None:
            return None
        ends = [float(text.replace(",", "")) for text in match.groups() if text]
        least, greatest = (0.0 if most else ends[0]), ends[-1]
        real = facts[fact]
        return None if least <= real <= greatest else f'says "{match[0]}", but {fact}: {real}'

    return rule


def same_balance(answers: Sequence[Answer], _: Facts) -> str | None:
    """Find two commands of which only one calls the same group balanced; the second is assignment-diff."""
    doctor, diff = answers
    uneven = "Not balanced" in diff.said
    found = re.search(r"^\s*load\s+(?!ok\b)\w", doctor.said, re.MULTILINE) is not None
    return f'assignment-diff says "{diff.first_line}", and doctor does not' if uneven and not found else None
