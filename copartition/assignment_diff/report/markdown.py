"""Write diffs as Markdown, for pull requests and tickets."""

from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.report.headline import headline
from copartition.assignment_diff.report.model import FATES, Shown, View, conflicts, presence, reason, renames
from copartition.assignment_diff.report.verdict import (
    detail_lines,
    diff_assumptions,
    heading,
    movement,
    reason_counts,
)
from copartition.kit.markdown import MOST_CHARACTERS, Page, markdown_text, shorten_list
from copartition.kit.words import number, partition_ranges

_RANGE_CHARACTERS = 500
"""The most characters of a list of partitions in a row."""
_ROWS = 2_000
"""The most rows that are written; more never fit into a report, however short they are."""


def diff_markdown(diff: AssignmentDiff, view: View | None = None) -> str:
    """Return a diff as GitHub Markdown: the verdict in bold, short tables, the long part folded.

    The text has at most `MOST_CHARACTERS`, so that it fits into a comment. If rows do not fit, the text says
    how many are left out.

    Args:
        diff: the diff.
        view: chooses rows; None for members that changed.
    """
    shown = Shown(diff, view)
    page = Page()
    page.add("**", markdown_text(headline(diff)), "**\n")
    page.items(detail_lines(diff), "line")
    page.items([f"assumed: {assumption}" for assumption in diff_assumptions(diff)], "assumption")
    # The name of a group may be very long. It must leave room for the tables.
    page.add("\n", markdown_text(" · ".join(heading(diff)), MOST_CHARACTERS // 6), "\n")
    if not diff.same:
        because = reason_counts(diff) if shown.view.reasons else []
        page.add("\n", markdown_text(" · ".join([*movement(diff), *because])), "\n")
    if shown.filters:
        page.add("\n", markdown_text(shown.filters, 1_000), "\n")
    page.items([f"⚠️ {text}" for text in conflicts(shown.part, "→")], "conflict")
    page.items(diff.warnings, "warning")
    page.items(renames(diff), "rename")
    if not diff.same:
        _TABLES[shown.view.by or "member"](shown, page)
    return page.finished


def _members(shown: Shown, page: Page) -> None:
    """Add the tables of members and of flows to the page.

    The table of members may use half of the room that is left, so that flows have the other half.

    Args:
        shown: the chosen rows of the diff.
        page: gets the tables at its end.
    """
    # The largest changes come first, so that the rows that do not fit are small changes.
    members = shown.largest_members(_ROWS)
    columns = ("member", "before", "after", "delta", "kept", "")
    rows = (
        (
            member.name,
            member.before,
            member.after,
            f"{member.after - member.before:+d}",
            member.kept,
            presence(member),
        )
        for member in members
    )
    page.table("Members", columns, rows, len(shown.members), "member", share=2)
    flows, more, _ = shown.largest_flows(_ROWS)
    # The column "because" exists only if the view asks for reasons; a plan alone does not add it.
    because = ["because"] if shown.view.reasons else []
    page.table(
        "Flows",
        ("from", "to", *because, "partitions", "which"),
        (
            (
                flow.source or "nobody",
                flow.target or "nobody",
                *([reason(flow)] if because else []),
                len(flow.partitions),
                shorten_list(partition_ranges(flow.partitions), _RANGE_CHARACTERS),
            )
            for flow in flows
        ),
        len(flows) + more,
        "flow",
    )


def _topics(shown: Shown, page: Page) -> None:
    """Add the table of topics to the page.

    If there are more than `_ROWS` topics, those with the most changes are listed.

    Args:
        shown: the chosen rows of the diff.
        page: gets the table at its end.
    """
    titles = ("partitions", *FATES)
    rows = (
        (
            topic.name,
            *(getattr(topic, title) for title in titles),
            number(topic.lag_moved),
        )
        for topic in shown.largest_topics(_ROWS)
    )
    page.table("Topics", ("topic", *titles, "lag moved"), rows, len(shown.topics), "topic")


def _partitions(shown: Shown, page: Page) -> None:
    """Add the table of partitions to the page, at most the first `_ROWS` in the order of the diff.

    Args:
        shown: the chosen rows of the diff.
        page: gets the table at its end.
    """
    because = ["because"] if shown.view.reasons else []
    rows = (
        (
            change.topic,
            change.partition,
            change.action.label,
            change.source or "nobody",
            change.target or "nobody",
            number(change.lag),
            *([reason(change)] if because else []),
        )
        for change in shown.first_changes(_ROWS)
    )
    columns = ("topic", "partition", "change", "from", "to", "lag", *because)
    page.table("Partitions", columns, rows, shown.partitions, "partition")


_TABLES = {"member": _members, "topic": _topics, "partition": _partitions}
"""`View.by` -> the function that adds its tables."""
