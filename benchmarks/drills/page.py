"""The page of drills: the state, what was said before and after, what was done, what happened."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from benchmarks.drills.judging import Answer, judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmarks.drills.drill import Drill

Run = dict[str, Any]

_HEAD = """# Drills

`python -m benchmarks.drills` builds {drills} states of real groups, asks a
command as an operator would, does what the answer says or predicts, and looks. Rules then compare the
answer with what happened: no order stops a group where a milder way works, no exit code 0 without
evidence, no advice that does not fit, no figure that is wrong, no command that dies with a broker, no
first line above 160 characters. `--compare` judges the kept answers anew and writes this page from
`drills/measured.json`. "Before" are the answers that the drills were made for, "after" those of the commands
as they are.

"""


def page(drills: Mapping[str, Drill], runs: Mapping[str, Run]) -> str:
    """Write the page: a table of all drills, then each drill with its answers.

    Args:
        drills: all of them, by name, in the order of the page.
        runs: what was kept, by drill, version and moment.
    """
    parts = [_HEAD.format(drills=len(drills)), _summary(drills, runs), _table(drills, runs)]
    parts += [_section(drill, runs) for drill in drills.values()]
    return "".join(parts)


def faults(drill: Drill, run: Run) -> list[str]:
    """What is wrong with the answers of a run; a walk that failed is a fault of the drill."""
    if run["facts"] is None:
        return [run["became"]]
    return judge(drill.rules, [Answer(**answer) for answer in run["answers"]], run["facts"])


def _of(drill: Drill, runs: Mapping[str, Run], moment: str) -> Iterable[tuple[str, Run]]:
    """The version and the run of each broker that this drill was walked on."""
    for key, run in runs.items():
        name, version, when = key.split(" ")
        if (name, when) == (drill.name, moment):
            yield version, run


def _summary(drills: Mapping[str, Drill], runs: Mapping[str, Run]) -> str:
    texts = []
    for moment in ("before", "after"):
        found = [faults(drill, run) for drill in drills.values() for _, run in _of(drill, runs, moment)]
        texts.append(f"{sum(map(bool, found))} of {len(found)} {moment}")
    return f"**Runs with a wrong answer: {', '.join(texts)}.**\n\n"


def _table(drills: Mapping[str, Drill], runs: Mapping[str, Run]) -> str:
    titles = "| drill | state | wrong before | wrong after |\n|---|---|---|---|\n"
    rows = (
        f"| [{drill.name}](#{drill.name}) | {drill.state} | {_verdict(drill, runs, 'before')} "
        f"| {_verdict(drill, runs, 'after')} |\n"
        for drill in drills.values()
    )
    return titles + "".join(rows) + "\n"


def _verdict(drill: Drill, runs: Mapping[str, Run], moment: str) -> str:
    """What is wrong, with the versions where not all agree; "nothing" or "not run"."""
    found = {version: "; ".join(faults(drill, run)) for version, run in _of(drill, runs, moment)}
    if not found:
        return "not run"
    if len(set(found.values())) == 1:
        return _cell(next(iter(found.values())) or "nothing")
    return _cell(". ".join(f"{version}: {text or 'nothing'}" for version, text in found.items()))


def _section(drill: Drill, runs: Mapping[str, Run]) -> str:
    parts = [f"## {drill.name}\n\nState: {drill.state}.\n\n"]
    for moment in ("before", "after"):
        kept = dict(_of(drill, runs, moment))
        if not kept:
            continue
        newest = max(kept, key=lambda version: [int(part) for part in version.split(".")])
        heading = f"{moment.capitalize()}, on {newest}"
        wrong = re.findall(r'"([^"]+)"', " ".join(faults(drill, kept[newest])))
        parts += [_answer(heading, answer, wrong) for answer in kept[newest]["answers"]]
        parts += [f"Done: {run['done']}.\n" for _, run in list(kept.items())[:1] if run["done"]]
        parts += [f"Then on {version}: {run['became']}.\n" for version, run in kept.items()]
        parts.append("\n")
    return "".join(parts)


_LINES = 3
_WIDTH = 220
"""How much of an answer is shown, in lines and in characters of a line."""


def _answer(heading: str, answer: Mapping[str, Any], wrong: Iterable[str]) -> str:
    """A question, and the first lines of its answer and those with a text that is wrong."""
    lines = answer["said"].strip().splitlines()
    shown = [
        number for number, line in enumerate(lines) if number < _LINES or any(text in line for text in wrong)
    ]
    told = []
    for number, following in pairwise([*shown, len(lines)]):
        told += [lines[number][:_WIDTH], *(["..."] if following > number + 1 else [])]
    text = "\n".join(f"    {line}".rstrip() for line in told)
    return f"{heading}, `copartition {answer['command']}` ended with {answer['code']}:\n\n{text}\n\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())
