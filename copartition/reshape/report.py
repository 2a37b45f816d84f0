"""Report a plan to reshape a topic: as text, Markdown and JSON.

Keys of the JSON are stable: a minor version adds keys and never renames any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypedDict, cast

from copartition.check.writers import placement_of
from copartition.deploys.answer import Range, Span, Stops
from copartition.kit.evidence import Missing
from copartition.kit.json import attributes, dump, finite, ground_fields, json_schema
from copartition.kit.markdown import Page, markdown_text
from copartition.kit.words import Table, count, number, visible
from copartition.reshape.observed import Moves
from copartition.reshape.plan import ReshapePlan
from copartition.reshape.report_steps import ground_lines
from copartition.reshape.ways import ReshapeStep, ReshapeWay

if TYPE_CHECKING:
    from rich.console import Console

FORMAT_VERSION = "1.0"
MARKS = {"lost": "✗", "open": "?", "told": "!"}
"""A reason's weight -> the sign that shows it at a glance."""
_COLOURS = {"lost": "red", "open": "yellow", "told": ""}
_ANSWERS = {"yes": "bold green", "no": "bold red", "unknown": "bold yellow"}


def reshape_headline(plan: ReshapePlan) -> str:
    """Return the answer as one sentence, followed by the reason that decides it."""
    if plan.topic is None or plan.target is None:
        return f"{'no' if plan.answer == 'no' else 'cannot tell'}, {plan.reasons[0].text}"
    what = (
        f"{plan.name} can get {count(plan.target.partitions, 'partition')} by the rule of "
        f"{plan.target.profile} ({plan.topic.partitions:,} now) and keep each key's records in order"
    )
    if plan.answer == "yes":
        return f"yes, {what}, by a new topic"
    because = plan.reasons[0].text
    return (
        f"no, not all can be kept: {because}"
        if plan.answer == "no"
        else f"cannot tell whether {what}: {because}"
    )


def writer_table(plan: ReshapePlan) -> Table:
    """Return a table with a row for each writer that the records show, and how many records it explains."""
    audit = plan.topic and plan.topic.audit
    rows = [
        (
            str(placement_of(share.writer)).removeprefix("the rule of "),
            f"{share.rows:,}",
            "yes" if plan.target and plan.target.profile in share.writer.same_rule else "no",
        )
        for share in (audit.shares if audit else ())
    ]
    return Table(("writer", "records", "by the target's rule"), rows, (1,))


def group_table(plan: ReshapePlan) -> Table:
    """Return a table with a row for each group: its kind, its progress, and how long the switch stops it."""
    rows = [
        (
            group.name,
            group.kind,
            "-" if group.state is None else group.state.strategy or "unknown",
            number(group.members),
            number(group.lag),
            "-" if group.members == 0 else _switch_words(plan.switches.get(group.name)),
        )
        for group in (plan.topic.groups if plan.topic else ())
    ]
    return Table(("group", "kind", "strategy", "members", "lag", "pause of its switch"), rows, (3, 4))


def _switch_words(stops: Stops | Missing | None) -> str:
    """Return in words for how long a switch stops a group; "unknown" if there are no figures."""
    return "unknown" if stops is None or isinstance(stops, Missing) else stops.longest_pause_ms.time


def step_lines(step: ReshapeStep, place: int) -> Iterator[tuple[str, bool]]:
    """Yield for each line of a step its text, and whether the line is a command."""
    yield f"{place}. {step.text}", False
    for line in step.commands:
        yield line, True
    if isinstance(step.pause_ms, Missing):
        yield f"{step.stops}: for how long is unknown; {step.pause_ms.what}; {step.pause_ms.remedy}", False
    elif step.pause_ms is not None:
        yield f"{step.stops} stops for {step.pause_ms.time}".replace("writers stops", "writers stop"), False
    else:
        yield "stops nobody", False


def way_title(way: ReshapeWay) -> str:
    """Return the heading of a way: its name and whether it keeps the order."""
    if way.obstacle is not None:
        return f"{way.name}: not possible, {way.obstacle}"
    return f"{way.name}: {'each key stays in order' if way.keeps_order else 'keys get out of order'}"


def print_plan(plan: ReshapePlan, console: Console) -> None:
    """Print the answer, its reasons, writers, groups and the two ways, then what was read and assumed."""
    from copartition.kit.grid import cell, note, print_table  # noqa: PLC0415 - needs rich

    console.print(cell(reshape_headline(plan), _ANSWERS[plan.answer]), soft_wrap=True)
    for reason in plan.reasons:
        line = f"  {MARKS[reason.weight]} {reason.text}"
        console.print(cell(line, _COLOURS[reason.weight]), soft_wrap=True)
        if isinstance(reason.ground, Missing):
            console.print(cell(f"      {reason.ground.remedy}"), soft_wrap=True)
    for table in (writer_table(plan), group_table(plan)):
        if table.rows:
            print_table(table, console)
    for way in plan.ways:
        console.print()
        console.print(cell(way_title(way), "bold"), soft_wrap=True)
        for place, step in enumerate(way.steps, 1):
            for number_, (line, is_command) in enumerate(step_lines(step, place)):
                indent = "  " if not number_ else "     "
                console.print(cell(f"{indent}{line}", "bold" if is_command else ""), soft_wrap=True)
        for price in way.prices:
            console.print(cell(f"  - {price}"), soft_wrap=True)
    console.print()
    for text in _notes(plan):
        console.print(note(text), soft_wrap=True)


def _notes(plan: ReshapePlan) -> Iterator[str]:
    """Yield the evidence and the assumptions of the plan, each sentence once."""
    # Most groups share their assumptions about time, so each assumption is printed only once.
    if isinstance(plan.ground, Missing):
        return
    grounds = [stops.ground for stops in plan.switches.values() if not isinstance(stops, Missing)]
    yield from ground_lines(plan.ground, *grounds)


def plan_markdown(plan: ReshapePlan) -> str:
    """Return the plan as GitHub Markdown: the answer in bold, reasons, both ways, tables folded."""
    page = Page()
    page.add("**", markdown_text(reshape_headline(plan)), "**\n")
    reasons = [
        f"{MARKS[reason.weight]} {reason.text}"
        + (f". {reason.ground.remedy}" if isinstance(reason.ground, Missing) else "")
        for reason in plan.reasons
    ]
    page.items(reasons, "reason")
    for way in plan.ways:
        page.add(f"\n### {markdown_text(way_title(way))}\n\n")
        for place, step in enumerate(way.steps, 1):
            for number_, (line, is_command) in enumerate(step_lines(step, place)):
                # A command stands between backticks, so a backtick in it is replaced by an apostrophe.
                shown = f"`{visible(line).replace('`', chr(39))}`" if is_command else markdown_text(line)
                # Two blanks at the end keep Markdown from joining the lines of a step.
                page.add(f"{'' if not number_ else '   '}{shown}  \n")
        page.items(way.prices, "price")
    if writer_table(plan).rows:
        page.whole_table("Writers", writer_table(plan), "writer", share=2)
    if group_table(plan).rows:
        page.whole_table("Groups", group_table(plan), "group", share=2)
    page.items([*_notes(plan)], "note")
    return page.finished


class ReasonData(TypedDict):
    """A fact that the reshape depends on.

    Attributes:
        code: a short name of the fact, which stays the same in later versions.
        weight: "lost": something cannot be kept; "open": it is not known whether it can be kept; "told": it
            can be kept, and somebody has to know or do this.
        text: the fact in a sentence.
        evidence: the sources from which the fact was read.
        missing: the fact that is not known, and how to learn it; null if the reason states a known fact.
    """

    code: str
    weight: Literal["lost", "open", "told"]
    text: str
    evidence: list[str]
    missing: Missing | None


class StepData(TypedDict):
    """A step of one of the two ways.

    Attributes:
        text: what is to be done.
        commands: the command lines and settings, in order.
        stops: who stops during the step: "nobody", "writers" or the name of a group.
        pause_ms: the shortest and the longest pause, in milliseconds; null if nobody stops or if the pause is
            not known.
        unknown: why the pause is not known; null if it is known.
    """

    text: str
    commands: list[str]
    stops: str
    pause_ms: Span | None
    unknown: Missing | None


class WayData(TypedDict):
    """One of the two ways to reshape the topic.

    Attributes:
        name: "a new topic and a switch" or "in place".
        obstacle: why this way cannot be taken; null if it can.
        keeps_order: whether each key's records stay in order.
        steps: the steps in order; empty if the way cannot be taken.
        prices: what the way costs, in sentences: how many records are lost, moved or read twice.
    """

    name: str
    obstacle: str | None
    keeps_order: bool
    steps: list[StepData]
    prices: list[str]


class GroupData(TypedDict):
    """A group that reads the topic.

    Attributes:
        name: the group's name.
        kind: "classic", "consumer", "share" or "streams".
        strategy: the group's assignor; null if it has none or if the assignor is not known.
        members: the number of its members; null if they were not asked for.
        lag: the number of records of the topic that it has not committed; null if a partition with records
            has no commit.
        commits: partition -> committed offset; for a share group the offset at which it starts.
        switch_pause_ms: the least and the most time, in milliseconds, for which the switch to the new topic
            stops the group; null if it is not known.
    """

    name: str
    kind: str
    strategy: str | None
    members: int | None
    lag: int | None
    commits: dict[str, int]
    switch_pause_ms: Span | None


class WriterData(TypedDict):
    """A rule that explains records of the topic.

    Attributes:
        profile: the first client profile with this rule.
        num_partitions: the partition count over which it places records.
        records: the number of records that were read and that the rule explains.
    """

    profile: str
    num_partitions: int
    records: int


class CopyData(TypedDict):
    """Size and time of the copy.

    Attributes:
        records: the number of records to copy; an upper bound.
        rate: how many records a second are copied.
        is_assumed: whether the rate is an assumption, because nobody measured it.
        written_per_s: how many records a second the writers add during the copy.
        seconds: the time until the copy has caught up with the writers, in seconds; null if it never does.
    """

    records: int
    rate: float
    is_assumed: bool
    written_per_s: float
    seconds: float | None


class PlanDocument(TypedDict):
    """A plan to reshape a topic.

    Attributes:
        format_version: the version of this format; a minor version adds fields and never renames one.
        answer: "yes": everything can be kept; "no": something cannot be kept; "unknown": it is not known
            whether something can be kept.
        verdict: the answer in a sentence.
        topic: the topic's name.
        partitions: the topic's partition count; null if the topic was refused by its name and not looked at.
        target: the name of the new topic; null if the topic is refused or the rule of its keys is not known.
        target_partitions: the partition count of the new topic; null if `target` is null.
        target_profile: the client profile whose rule places keys in the new topic; null if `target` is null.
        reasons: the facts that decide the answer, the weightiest first.
        writers: the rules that explain who wrote the topic.
        groups: the groups that read the topic.
        moves: how many of the sampled records get another partition; null if `target` is null.
        copy: the size and the time of the copy; null if `target` is null.
        ways: the two ways, by a new topic and in place; empty if `target` is null.
        evidence: the sources that were read.
        assumed: what the plan assumes because no source shows it.
    """

    format_version: str
    answer: Literal["yes", "no", "unknown"]
    verdict: str
    topic: str
    partitions: int | None
    target: str | None
    target_partitions: int | None
    target_profile: str | None
    reasons: list[ReasonData]
    writers: list[WriterData]
    groups: list[GroupData]
    moves: Moves | None
    copy: CopyData | None
    ways: list[WayData]
    evidence: list[str]
    assumed: list[str]


def plan_json(plan: ReshapePlan) -> str:
    """Return the plan as JSON."""
    # The topic is None if it was refused by its name and therefore not read. The target is None if the rule
    # is not known.
    topic, target = plan.topic, plan.target
    ground = ground_fields(plan.ground)
    document: PlanDocument = {
        "format_version": FORMAT_VERSION,
        "answer": plan.answer,
        "verdict": reshape_headline(plan),
        "topic": plan.name,
        "partitions": None if topic is None else topic.partitions,
        "target": None if target is None else target.topic,
        "target_partitions": None if target is None else target.partitions,
        "target_profile": None if target is None else target.profile,
        "reasons": [
            attributes(ReasonData, reason, evidence=ground["evidence"], missing=ground["missing"])
            for reason in plan.reasons
            for ground in [ground_fields(reason.ground)]
        ],
        "writers": [
            attributes(WriterData, share.writer, records=share.rows)
            for share in (topic.audit.shares if topic else ())
        ],
        "groups": [
            attributes(
                GroupData,
                group,
                strategy=None if group.state is None else group.state.strategy,
                commits={str(partition): offset for partition, offset in sorted(group.commits.items())},
                switch_pause_ms=_switch_span(plan.switches.get(group.name)),
            )
            for group in (topic.groups if topic else ())
        ],
        "moves": plan.moves,
        "copy": None if plan.copy is None else attributes(CopyData, plan.copy),
        "ways": [
            attributes(WayData, way, steps=[_step(step) for step in way.steps], prices=[*way.prices])
            for way in plan.ways
        ],
        "evidence": ground["evidence"],
        "assumed": ground["assumed"],
    }
    return dump(document)


def _switch_span(stops: Stops | Missing | None) -> Span | None:
    """Return for how long a switch stops a group, for the JSON document; null if there are no figures."""
    return None if stops is None or isinstance(stops, Missing) else _span(stops.longest_pause_ms)


def _span(range_: Range) -> Span:
    """Return a range for the JSON document, with null for an infinite end."""
    return cast("Span", finite(asdict(range_)))


def _step(step: ReshapeStep) -> StepData:
    """Return a step for the JSON document."""
    pause = step.pause_ms
    unknown = pause if isinstance(pause, Missing) else None
    span = _span(pause) if isinstance(pause, Range) else None
    return attributes(StepData, step, commands=[*step.commands], pause_ms=span, unknown=unknown)


def reshape_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document, of draft 2020-12."""
    return json_schema(PlanDocument, "copartition reshape")
