"""Report the steps of a reshape: rounds of the copy, groups at the switch, the proof, and the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from copartition.kit.evidence import Evidence
from copartition.kit.json import attributes_of, dump, ground_fields
from copartition.kit.words import Table, count, duration, number_ranges
from copartition.reshape.switch import GroupSwitch, next_sentence
from copartition.reshape.ways import rate_of_copy

if TYPE_CHECKING:
    from rich.console import Console

FORMAT_VERSION = "1.0"

_TELLING = 100_000
"""A round that copied fewer records than this does not report how many it copied a second.

A smaller round spends nearly all of its time on work that does not depend on its size. Its rate shows how
fast the machine is, but not how large the records are.
"""


def round_sentence(number: int, copied: int, behind: int, seconds: float) -> str:
    """Return a sentence on what a round of the copy did.

    >>> round_sentence(1, 6_000_000, 12, 74.0)
    'round 1: 6,000,000 records in 1 min 14 s, 108,514 a second without the start; 12 came meanwhile'

    Args:
        number: the number of the round, from 1.
        copied: how many records it copied.
        behind: by how many offsets the old topic grew during the round.
        seconds: how long the round took.
    """
    pace = ""
    if copied >= _TELLING and number == 1:  # later rounds have too few records to tell
        pace = f", {rate_of_copy(copied, seconds):,.0f} a second without the start"
    what = f"{count(copied, 'record')} in {duration(1_000 * seconds)}"
    return f"round {number}: {what}{pace}; {behind:,} came meanwhile"


def position_table(group: GroupSwitch) -> Table:
    """Return a table with a row for each partition: the group's position in the old and in the new topic."""
    rows = []
    # Both topics number their partitions from 0, so that partitions of the same number share a row. The topic
    # with more partitions has further rows at the end.
    for place in range(max((*group.old, *group.positions), default=-1) + 1):
        old, new, now = (columns.get(place) for columns in (group.old, group.positions, group.now))
        rows.append((str(place), *("" if offset is None else f"{offset:,}" for offset in (old, new, now))))
    titles = ("partition", "committed in the old topic", "goes on in the new one at", "committed there")
    return Table(titles, rows, range(4))


def switch_table(groups: Sequence[GroupSwitch], written: Sequence[str]) -> Table:
    """Return a table with a row for each group: members, unread records, repeats, and the next step.

    Args:
        groups: the groups.
        written: names of the groups whose positions are written in this run.
    """
    rows = [
        (
            group.name,
            f"{group.members:,}",
            f"{group.left:,}",
            f"{group.repeats:,}",
            next_sentence(group, execute=group.name in written),
        )
        for group in groups
    ]
    return Table(("group", "members", "not read yet", "read twice", "next"), rows, (1, 2, 3))


def print_switch(
    groups: Sequence[GroupSwitch], target: str, written: Sequence[str], console: Console
) -> None:
    """Print for each group what it has not read yet in the old topic, and where it continues in the new one.

    Args:
        groups: the groups.
        target: the new topic.
        written: names of the groups whose positions are written in this run.
        console: where it is printed.
    """
    from copartition.kit.grid import note  # noqa: PLC0415 - needs rich

    _print_groups(groups, target, written, console)
    for name in written:
        console.print(note(f"written: the positions of group {name} on {target}"), soft_wrap=True)
    if not written:
        console.print(note("nothing was written"), soft_wrap=True)


def _groups_head(groups: Sequence[GroupSwitch], target: str) -> str:
    """Return how many groups go on at the new topic, and how many of them read nothing twice."""
    exact = sum(not group.repeats for group in groups)
    if not groups:
        return f"no group goes on in {target} so far"
    return f"{count(len(groups), 'group')} to {target}: {exact} exactly, {len(groups) - exact} with repeats"


def _print_groups(
    groups: Sequence[GroupSwitch], target: str, written: Sequence[str], console: Console
) -> None:
    """Print a table of the groups, and a table of positions for each of them.

    The arguments are those of `print_switch`.
    """
    from copartition.kit.grid import cell, print_table  # noqa: PLC0415 - needs rich

    console.print(cell(_groups_head(groups, target), "bold"), soft_wrap=True)
    if groups:
        print_table(switch_table(groups, written), console)
    for group in groups:
        console.print()
        console.print(cell(f"group {group.name}"), soft_wrap=True)
        print_table(position_table(group), console)


def switch_json(groups: Sequence[GroupSwitch], target: str, written: Sequence[str]) -> str:
    """Return what `print_switch` prints, as JSON."""
    document = {"format_version": FORMAT_VERSION, "target": target, "written": [*written]}
    return dump({**document, "groups": _groups_json(groups)})


def _groups_json(groups: Sequence[GroupSwitch]) -> list[dict[str, Any]]:
    """Return the groups for the JSON document, with offsets by partition in both topics."""
    return [
        {
            "group": group.name,
            **attributes_of(group, "action", "members", "left", "repeats"),
            **{name: _by_text(getattr(group, name)) for name in ("old", "positions", "now")},
        }
        for group in groups
    ]


def ground_lines(ground: Evidence, *others: Evidence) -> list[str]:
    """Return a line for each source of the evidence, and one for each assumption.

    An assumption that several answers share has one line.

    Args:
        ground: the evidence of an answer.
        others: the evidence of further answers, of which only the assumptions are listed.
    """
    assumed = dict.fromkeys(text for one in (ground, *others) for text in one.assumed)
    return [*(f"read from: {source}" for source in ground.sources), *(f"assumed: {text}" for text in assumed)]


def _by_text(offsets: Mapping[int, int]) -> dict[str, int]:
    """Return offsets by partition for the JSON document, where a partition's number is a text."""
    return {str(partition): offsets[partition] for partition in sorted(offsets)}


def proof_lines(proof: Any, topic: str, target: str) -> list[str]:
    """Return the proof in sentences, the answer first.

    Args:
        proof: a `spark_integration.Proof`.
        topic: the old topic.
        target: the new topic.
    """
    # Counts of 0 are shown, too: without them, a fault that did not occur would look like one that was not
    # checked.
    faults = {
        "lost": "records without a copy",
        "doubled": "copies beyond the first",
        "changed": "copies with another key, value, header or timestamp",
        "unmatched": "copies of a place where the old topic has no record",
        "out_of_order": "copies out of order within their key",
        "misplaced": "records in another partition than the rule gives their key",
    }
    answer = (
        f"yes, {target} holds each of {count(proof.records, 'record')} of {topic} once, and those of each "
        f"of {count(proof.keys, 'key')} in order"
        if proof.holds
        else f"no, {target} does not hold what {topic} holds"
    )
    lines = [answer, *(f"{getattr(proof, name):,} {text}" for name, text in faults.items())]
    if proof.strays:
        lines.append(
            f"{count(proof.strays, 'key')} had records in several old partitions, in order within each only"
        )
    if proof.partitions:
        sizes = proof.partitions.values()
        lines.append(
            f"{count(len(proof.partitions), 'partition')} with {min(sizes):,} to {max(sizes):,} copies each"
        )
    return [*lines, *(f"example: {text}" for text in proof.examples)]


def print_proof(proof: Any, groups: Sequence[GroupSwitch], topic: str, target: str, console: Console) -> None:
    """Print the proof, its counts of faults, the positions of the groups that have moved, and the evidence.

    Args:
        proof: a `spark_integration.Proof`.
        groups: the groups with commits for both topics.
        topic: the old topic.
        target: the new topic.
        console: where it is printed.
    """
    from copartition.kit.grid import cell, note  # noqa: PLC0415 - needs rich

    head, *lines = proof_lines(proof, topic, target)
    console.print(cell(head, "bold green" if proof.holds else "bold red"), soft_wrap=True)
    for line in lines:
        console.print(cell(f"  {line}"), soft_wrap=True)
    console.print()
    _print_groups(groups, target, (), console)
    console.print()
    for text in ground_lines(proof.evidence):
        console.print(note(text), soft_wrap=True)


def proof_markdown(proof: Any, groups: Sequence[GroupSwitch], topic: str, target: str) -> str:
    """Return the proof as GitHub Markdown, a page that a team can keep."""
    from copartition.kit.markdown import Page, markdown_text  # noqa: PLC0415 - only Markdown needs it

    page = Page()
    head, *lines = proof_lines(proof, topic, target)
    page.add("**", markdown_text(head), "**\n")
    page.items(lines, "line")
    rows = [(str(place), f"{copies:,}") for place, copies in sorted(proof.partitions.items())]
    page.whole_table("Partitions", Table(("partition", "copies"), rows, (0, 1)), "partition", share=2)
    page.whole_table(markdown_text(_groups_head(groups, target)), switch_table(groups, ()), "group", share=2)
    for group in groups:
        page.whole_table(f"Group {markdown_text(group.name)}", position_table(group), "partition", share=2)
    page.items(ground_lines(proof.evidence), "note")
    return page.finished


def proof_json(proof: Any, groups: Sequence[GroupSwitch], topic: str, target: str) -> str:
    """Return the proof as JSON."""
    figures = {name: value for name, value in asdict(proof).items() if name not in {"evidence", "partitions"}}
    ground = ground_fields(proof.evidence)
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "topic": topic,
            "target": target,
            "holds": proof.holds,
            **figures,
            "examples": [*proof.examples],
            "partitions": _by_text(proof.partitions),
            "groups": _groups_json(groups),
            "evidence": ground["evidence"],
            "assumed": ground["assumed"],
        }
    )


def moved_sentence(topic: str, target: str, partitions: Sequence[int]) -> str:
    """Return a sentence that says why there is no way back: writers have moved to the new topic.

    Args:
        topic: the old topic.
        target: the new topic.
        partitions: the partitions of the new topic whose last record the copy did not write.
    """
    import numpy as np  # noqa: PLC0415 - unused by --help

    return (
        f"writers have moved: the last record of partition {number_ranges(np.array(partitions))} of "
        f"{target} is none of the copy, so {topic} no longer has all records. Stop them, and copy "
        f"{target} back as you copied it here, if you have to"
    )


def back_lines(
    topic: str,
    target: str,
    commits: Mapping[str, Mapping[int, int]],
    config: Mapping[str, str],
    *,
    execute: bool,
) -> list[str]:
    """Return in sentences which commits the way back removed or would remove, and what is left to do by hand.

    Args:
        topic: the old topic.
        target: the new topic.
        commits: group -> partition of the new topic -> committed offset, of groups that have any.
        config: librdkafka's settings; the printed commands name the cluster by `bootstrap.servers`.
        execute: whether the commits were removed in this run.
    """
    # Neither the topics nor the notes in the ledger of the copy are deleted here: if the copy is wrong, the
    # user decides whether to delete them.
    did = "removed" if execute else "would remove, with --execute,"
    servers = config.get("bootstrap.servers", "HOST:PORT")
    return [
        *(
            f"{did} the commits of group {name} on {target}: {count(len(offsets), 'partition')}; it goes "
            f"on in {topic} where it was"
            for name, offsets in commits.items()
        ),
        *([] if commits else [f"no group has a commit on {target}"]),
        f"{topic} and its groups' commits are as they were; {target} is left, and can be copied to further",
        f"to delete it: kafka-topics.sh --bootstrap-server {servers} --delete --topic {target}",
        f"and then what the copy noted: copartition ledger forget 'reshape of {topic}' --yes -b {servers}",
    ]
