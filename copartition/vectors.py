"""Reference vectors: seeded groups and keys with exact answers, their JSON Schema, and what differs."""

from __future__ import annotations

import json
import random
import subprocess
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, TypeAlias

from assignors.answers import ask, checked_user_data
from assignors.group import Assignment, Group, Member, StickyUserData
from assignors.interface import Assignor, RememberingAssignor
from assignors.partition_list import PartitionList
from assignors.registry import get_assignor
from assignors.rules.simple import SimpleAssignor
from assignors.testing.stories import Story
from copartition.task_vectors import CONNECT, STREAMS, connect_cases, runs, streams_cases
from partitioning.errors import AssignorError, SourceError
from partitioning.kit.data import read_data
from partitioning.placement import partition_for_key
from partitioning.profiles import PROFILES

Json: TypeAlias = dict[str, Any]
Verdict: TypeAlias = Literal["equal", "other order", "different"]

FORMAT_VERSION = "1.0"
MOST_SHOWN = 20
"""Differences that a report holds."""
_REBALANCES = 6
"""Rebalances of a group before the next group begins, with a leader that remembers nothing."""
_KEYS = ("", "a", "order-42", "käse", "\U0001f600")


@dataclass(frozen=True, slots=True)
class Difference:
    """A case, with the exact `answer`, that a program answers otherwise."""

    case: Json
    answer: Json  # the program's answer
    verdict: Verdict  # "other order": members have the right partitions in another order


def make_vectors(strategy: str, count: int, seed: int = 0) -> list[Json]:
    """Cases of a strategy for groups or of a client's rule for keys, each with its exact answer.

    The name and the seed decide the cases. A name that is neither an assignor nor a profile raises
    `UnknownStrategyError`.
    """
    cases: Iterator[Json]
    rng = random.Random(f"{strategy}/{seed}")  # noqa: S311 - test data
    if strategy in PROFILES:
        cases = _keys(strategy, rng)
    elif strategy in CONNECT:
        cases = connect_cases(strategy, rng, _REBALANCES)
    elif strategy in STREAMS:
        cases = streams_cases(strategy, rng, _REBALANCES)
    else:
        cases = _groups(strategy, rng)
    return [{"case": number, **case} for number, case in enumerate(islice(cases, count))]


def check_vectors(strategy: str, cases: Sequence[Json], command: Sequence[str]) -> list[Difference]:
    """Where a program answers otherwise: it reads a case a line and writes an answer a line.

    A program that cannot be run, fails, or writes what is no answer raises `SourceError`.
    """
    questions = ({key: value for key, value in case.items() if key != "answer"} for case in cases)
    text = "".join(json.dumps({"strategy": strategy, **question}) + "\n" for question in questions)
    try:
        run = subprocess.run(  # noqa: S603 - whoever asks names the program
            [*command], input=text, stdout=subprocess.PIPE, encoding="utf-8", check=False
        )
    except OSError as error:
        raise SourceError(f"cannot run {command[0]!r}: {error.strerror}") from error
    lines = run.stdout.splitlines()
    if run.returncode or len(lines) != len(cases):
        raise SourceError(
            f"{command[0]!r} ended with exit code {run.returncode} after {len(lines):,} answers to "
            f"{len(cases):,} cases; it has to write one line of JSON for each line that it reads"
        )
    answers = [_answer(line, number) for number, line in enumerate(lines)]
    verdicts = [_verdict(case["answer"], answer) for case, answer in zip(cases, answers, strict=True)]
    return [
        Difference(case, answer, verdict)
        for case, answer, verdict in zip(cases, answers, verdicts, strict=True)
        if verdict != "equal"
    ]


def _groups(strategy: str, rng: random.Random) -> Iterator[Json]:
    """Groups that live through some rebalances each; members carry on what the exact answer gave them."""
    while True:
        leader = SimpleAssignor() if strategy == SimpleAssignor.name else get_assignor(strategy)
        story = Story(rng.randrange(2**32))
        _, group = story.first()
        for number in range(_REBALANCES):
            group = replace(group, members=[_as_sent(leader, member) for member in group.members])
            case = {"new_leader": number == 0, **_group(group)}
            try:
                if isinstance(leader, SimpleAssignor):
                    assignment = Assignment.for_group(group, leader.assign(group))
                else:
                    assignment = ask(leader, group)
            except AssignorError as error:
                yield {**case, "answer": {"error": error.jvm_exception}}
                break
            yield {**case, "answer": {"assignment": {name: runs(mine) for name, mine in assignment.items()}}}
            _, group = story.next(group, assignment)


def _as_sent(leader: Assignor | SimpleAssignor, member: Member) -> Member:
    """The member with the user data that a member of this strategy sends along."""
    if leader.name == "sticky" or not isinstance(member.user_data, StickyUserData):
        return member
    data = None
    if isinstance(leader, RememberingAssignor):
        generation = -1 if member.generation is None else member.generation
        data = checked_user_data(leader, PartitionList.of(member.owned), generation)
    return replace(member, user_data=data)


def _group(group: Group) -> Json:
    """A group as plain values; what is not there is left out."""
    topics = [
        {
            "name": topic.name,
            "partitions": topic.partitions,
            "racks": None if topic.racks is None else [sorted(racks) for racks in topic.racks],
            "id": None if topic.id is None else str(topic.id),
        }
        for topic in group.topics
    ]
    members = [
        {
            "id": member.id,
            "topics": [*member.topics],
            "instance_id": member.instance_id,
            "rack": member.rack,
            "owned": runs(member.owned) or None,
            "generation": member.generation,
            "user_data": None if member.user_data is None else bytes(member.user_data).hex(),
        }
        for member in group.members
    ]
    return {"topics": [*map(_without_none, topics)], "members": [*map(_without_none, members)]}


def _without_none(values: Mapping[str, Any]) -> Json:
    return {key: value for key, value in values.items() if value is not None}


def _keys(profile: str, rng: random.Random) -> Iterator[Json]:
    while True:
        key = rng.choice(
            (None, rng.choice(_KEYS).encode(), *(rng.randbytes(rng.randrange(1, 80)) for _ in range(6)))
        )
        partitions = rng.choice((1, 2, 3, 7, 12, 100, rng.randrange(1, 10_000)))
        shown = None if key is None else b64encode(key).decode()
        answer = {"partition": partition_for_key(key, partitions, profile=profile)}
        yield {"key": shown, "partitions": partitions, "answer": answer}


def _answer(line: str, number: int) -> Json:
    try:
        answer = json.loads(line)
    except ValueError as error:
        raise SourceError(f"the answer to case {number} is no JSON: {line[:60]!r}") from error
    if not isinstance(answer, dict) or not {"assignment", "active", "error", "partition"} & answer.keys():
        raise SourceError(
            f"the answer to case {number} has neither assignment, active, error nor partition: {line[:60]!r}"
        )
    return answer


def _verdict(exact: Json, answer: Json) -> Verdict:
    if exact == {key: answer.get(key) for key in exact}:
        return "equal"
    is_same = all(_in_no_order(value) == _in_no_order(answer.get(key)) for key, value in exact.items())
    return "other order" if is_same else "different"


def _in_no_order(value: Any) -> Any:
    """The partitions of each member that has some, sorted; what are no members' lists stays as it is."""
    if not isinstance(value, dict):
        return value
    try:
        lists = {
            name: sorted((run[0], number) for run in mine for number in run[1:])
            for name, mine in value.items()
        }
    except (TypeError, IndexError, KeyError):
        return value
    return {name: mine for name, mine in lists.items() if mine}


SCHEMA: Json = json.loads(read_data(__package__, "vectors.schema.json"))
"""The document that `copartition vectors STRATEGY` prints."""


def vectors_report(strategy: str, cases: Sequence[Any], differences: Sequence[Difference], form: str) -> str:
    """Where a program differs: counts, and the first differences; `form` is "text" or "json"."""
    counts = Counter(each.verdict for each in differences)
    numbers = {
        "cases": len(cases),
        "equal": len(cases) - len(differences),
        "other_order": counts["other order"],
        "different": counts["different"],
    }
    shown = sorted(differences, key=lambda each: each.verdict)[:MOST_SHOWN]
    if form == "json":
        rows = [{"verdict": each.verdict, "case": each.case, "found": each.answer} for each in shown]
        return json.dumps({"strategy": strategy, **numbers, "differences": rows}, indent=2) + "\n"
    equal, order, different = (f"{numbers[name]:,}" for name in ("equal", "other_order", "different"))
    head = (
        f"{strategy}: {equal} of {len(cases):,} cases equal, {order} in another order, {different} different"
    )
    lines = [head]
    for each in shown[:5]:
        lines += [
            f"case {each.case['case']}, {each.verdict}: {_question(each.case)}",
            f"  exact  {json.dumps(each.case['answer'])}",
            f"  found  {json.dumps(each.answer)}",
        ]
    return "\n".join(lines) + "\n"


def _question(case: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in case.items() if key not in {"case", "answer"}})
