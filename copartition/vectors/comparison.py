"""Compare a program's answers to cases with the exact answers.

The program gets all questions on its standard input, one JSON object on each line, and writes as many lines
in the same order. An answer has one of the keys "assignment", "active", "error" and "partition".
"""

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from copartition.vectors.tasks import Json
from partitioning.errors import SourceError
from partitioning.kit.formats import decode_json

Verdict: TypeAlias = Literal["equal", "other order", "different"]

MOST_SHOWN = 20
"""The most differences in a report; its counts include all."""


@dataclass(frozen=True, slots=True)
class WrongAnswer:
    """A case with its exact answer, and a different `answer` of a program.

    Its verdict is never "equal".
    """

    case: Json
    answer: Json  # the program's answer
    verdict: Verdict  # "other order": members have the right partitions in another order


def check_vectors(strategy: str, cases: Sequence[Json], command: Sequence[str]) -> list[WrongAnswer]:
    """Return the cases that a program answers differently; it reads and writes one line for each case.

    Args:
        strategy: the strategy's name, which the program gets with each case.
        cases: cases with their exact answers, see `make_vectors`; the program does not see the answers.
        command: the program and its arguments; no shell reads them.

    Returns:
        The differences in the order of the cases; empty if all answers are equal.

    Raises:
        SourceError: the program cannot be run, fails, or writes a line that is not an answer.
    """
    # The program never sees the answers, so it cannot copy them.
    questions = ({key: value for key, value in case.items() if key != "answer"} for case in cases)
    text = "".join(json.dumps({"strategy": strategy, **question}) + "\n" for question in questions)
    try:
        run = subprocess.run(  # noqa: S603 - the user names the program
            [*command], input=text.encode(), stdout=subprocess.PIPE, check=False
        )
    except (OSError, ValueError) as error:  # ValueError: a null character in the command
        raise SourceError(f"cannot run {command[0]!r}: {error}") from error
    # Only a line feed ends a line: a JSON text may contain other line ends of Python's, such as U+2028.
    lines = run.stdout.removesuffix(b"\n").split(b"\n") if run.stdout else []
    # Answers are matched by line: if one is missing, all after it would be compared with the wrong case.
    if run.returncode or len(lines) != len(cases):
        raise SourceError(
            f"{command[0]!r} ended with exit code {run.returncode} after {len(lines):,} answers to "
            f"{len(cases):,} cases; it has to write one line of JSON for each line that it reads"
        )
    # Every answer is read before any is compared, so that a broken line late in the output is reported, too.
    answers = [_answer(line, number) for number, line in enumerate(lines)]
    verdicts = [_verdict(case["answer"], answer) for case, answer in zip(cases, answers, strict=True)]
    return [
        WrongAnswer(case, answer, verdict)
        for case, answer, verdict in zip(cases, answers, verdicts, strict=True)
        if verdict != "equal"
    ]


def _answer(line: bytes, number: int) -> Json:
    """Return the program's answer to a case.

    Raises:
        SourceError: the line is no JSON object, or has none of the keys of an answer.
    """
    shown = line[:60].decode(errors="replace")
    try:
        answer = decode_json(line)
    except ValueError as error:
        raise SourceError(f"the answer to case {number} is no JSON: {error}: {shown!r}") from error
    if not isinstance(answer, dict) or not {"assignment", "active", "error", "partition"} & answer.keys():
        raise SourceError(
            f"the answer to case {number} has neither assignment, active, error nor partition: {shown!r}"
        )
    return answer


def _verdict(exact: Json, answer: Json) -> Verdict:
    """Return how an answer differs from the exact one; extra keys of the answer do not count."""
    if exact == {key: answer.get(key) for key in exact}:
        return "equal"
    is_same = all(_in_no_order(value) == _in_no_order(answer.get(key)) for key, value in exact.items())
    return "other order" if is_same else "different"


def _in_no_order(value: Any) -> Any:
    """Return the partitions of each member that has any, sorted.

    A value of another form than a member -> its list of partitions is returned unchanged. A member without
    partitions is left out, so an answer that does not name it counts as equal.
    """
    if not isinstance(value, dict):
        return value
    try:
        lists = {
            name: sorted((run[0], number) for run in mine for number in run[1:])
            for name, mine in value.items()
        }
    # The program may write anything. A value of another form is compared as it is, and must not fail here.
    except (TypeError, IndexError, KeyError):
        return value
    return {name: mine for name, mine in lists.items() if mine}


def vectors_report(strategy: str, cases: Sequence[Any], differences: Sequence[WrongAnswer], form: str) -> str:
    """Return a report on a program: counts, and the first differences; `form` is "text" or "json".

    Differences in partitions come before differences in order. The JSON has up to `MOST_SHOWN` of them, the
    text up to five.
    """
    counts = Counter(difference.verdict for difference in differences)
    numbers = {
        "cases": len(cases),
        "equal": len(cases) - len(differences),
        "other_order": counts["other order"],
        "different": counts["different"],
    }
    # "different" sorts before "other order".
    shown = sorted(differences, key=lambda difference: difference.verdict)[:MOST_SHOWN]
    if form == "json":
        rows = [
            {"verdict": difference.verdict, "case": difference.case, "found": difference.answer}
            for difference in shown
        ]
        return json.dumps({"strategy": strategy, **numbers, "differences": rows}, indent=2) + "\n"
    equal, order, different = (f"{numbers[name]:,}" for name in ("equal", "other_order", "different"))
    lines = [
        f"{strategy}: {equal} of {len(cases):,} cases equal, {order} in another order, {different} different"
    ]
    for difference in shown[:5]:
        question = {key: value for key, value in difference.case.items() if key not in {"case", "answer"}}
        lines += [
            f"case {difference.case['case']}, {difference.verdict}: {json.dumps(question)}",
            f"  exact  {json.dumps(difference.case['answer'])}",
            f"  found  {json.dumps(difference.answer)}",
        ]
    return "\n".join(lines) + "\n"
