"""Run `copartition ledger`: show what exactly-once writes from Spark have noted on a cluster.

A ledger is a consumer group. The committed offset of a partition is a version, and the metadata stored with
it says how many records of that version have been written.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from re import Pattern
from typing import TYPE_CHECKING, Any

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import HELP, Output, QuietGroup, complain, examples_help, write
from copartition.shell.options import only_option, output_options, verbose_option
from partitioning.errors import GroupNotFoundError

if TYPE_CHECKING:
    from partitioning.clients.ledger import Entry


@click.group(
    cls=QuietGroup,
    context_settings=HELP,
    epilog=examples_help(
        "copartition ledger list -b localhost:9092", "copartition ledger show backfill -b localhost:9092"
    ),
)
def ledger() -> None:
    """Show the ledgers of exactly-once writes from Spark: which version of the data is in which partition.

    The ledger of an application is a consumer group named copartition/APP, whose committed offsets are
    versions.
    """


@ledger.command("list")
@client_options("The cluster.")
@output_options("text", "json")
def list_(*, config: dict[str, str], output: Output) -> None:
    """List the applications that have a ledger, the topics they write, and the newest version in each.

    Exit code: 0 the applications are listed, if there are any; 2 the cluster could not be asked.
    """
    from copartition.groups.live.cluster import Ledgers  # noqa: PLC0415 - help does without

    ledgers = Ledgers(config)
    rows = []
    for app_id in ledgers.applications():
        with suppress(GroupNotFoundError):  # its first version is being written, or it was just forgotten
            rows += _topics(app_id, ledgers.entries(app_id))
    _show(rows, output)


@ledger.command()
@click.argument("app_id", metavar="APP")
@only_option("topic", "pattern", "Show only topics whose names match.")
@client_options("The cluster.")
@output_options("text", "json")
def show(
    app_id: str,
    *,
    pattern: Pattern[str] | None,
    config: dict[str, str],
    output: Output,
) -> int:
    """Show each partition's version, how many records of it are written, and whether these are all.

    Exit code: 0 all partitions of a topic have the same version, with all its records; 1 some do not; 2 there
    is no such ledger, or the cluster could not be asked.
    """
    from copartition.groups.live.cluster import Ledgers  # noqa: PLC0415 - help does without

    # If APP writes no topic that matches, that is an error and not an empty listing.
    entries_by_place = {
        place: entry
        for place, entry in Ledgers(config).entries(app_id).items()
        if pattern is None or pattern.search(place[0])
    }
    if not entries_by_place:
        topic = "any topic" if pattern is None else f"topic {pattern.pattern}"
        raise click.ClickException(f"the ledger of {app_id} has no entry for {topic}")
    rows = [_partition(*place, entry) for place, entry in sorted(entries_by_place.items())]
    _show(rows, output)
    whole = all(row["whole"] is True for row in _topics(app_id, entries_by_place))
    if not whole:
        complain("not all partitions hold the newest version whole; write it again, with the same rows")
    return not whole


@ledger.command()
@click.argument("app_id", metavar="APP")
@click.option("--yes", is_flag=True, help="Confirm that the ledger is to be deleted.")
@client_options("The cluster.")
@verbose_option
def forget(
    app_id: str,
    *,
    yes: bool,
    config: dict[str, str],
) -> None:
    """Delete the ledger of APP, for all its topics; the records stay in the topics.

    After that, APP begins a new ledger at the version that its option txnFirstVersion names. A version that
    was written already is then written a second time.

    Exit code: 0 the ledger is deleted; 2 there is no such ledger, --yes is missing, or the cluster could not
    be asked.
    """
    from copartition.groups.live.cluster import Ledgers  # noqa: PLC0415 - help does without

    ledgers = Ledgers(config)
    entries = ledgers.entries(app_id)
    # This is read before the user is asked or anything is deleted: a missing ledger is an error, and needs no
    # confirmation.
    topics = ", ".join(sorted({topic for topic, _ in entries}))
    if not yes:
        raise click.UsageError(
            f"this would forget what {app_id} has written to {topics}, in {len(entries)} partitions, and "
            "what is written again would be doubled; say --yes"
        )
    ledgers.forget(app_id)
    write(f"Forgot what {app_id} has written to {topics}.\n")


def _topics(app_id: str, entries: Mapping[tuple[str, int], Entry | None]) -> list[dict[str, Any]]:
    """Return one row for each topic of an application, sorted by name.

    Args:
        app_id: the application.
        entries: (topic, partition) -> entry; None if the committed offset is no entry of a ledger.

    Returns:
        Rows with "app", "topic", "partitions" (how many have a commit), "version" (the newest; None if no
        entry can be read) and "whole" (True if every partition of the topic holds the newest version with all
        its records).
    """
    rows = []
    for topic in sorted({topic for topic, _ in entries}):
        own = [entry for (name, _), entry in entries.items() if name == topic]
        noted = [entry for entry in own if entry is not None]
        newest = max((entry.version for entry in noted), default=None)
        # An entry notes how many partitions its write had. If there are fewer entries, a partition was never
        # written, and the topic is not whole even if every entry is.
        whole = len(noted) == len(own) == max((entry.partitions for entry in noted), default=0) and all(
            entry.version == newest and entry.done for entry in noted
        )
        rows.append(
            {"app": app_id, "topic": topic, "partitions": len(own), "version": newest, "whole": whole}
        )
    return rows


def _partition(topic: str, partition: int, entry: Entry | None) -> dict[str, Any]:
    """Return the row of a partition, with "topic", "partition", "version", "records", "whole" and "digest".

    Args:
        topic: name of the topic.
        partition: number of the partition.
        entry: the partition's entry; None if the committed offset is no entry of a ledger. The figures of the
            row are then None, too.
    """
    # The column `whole` means the same as in the other listing; for one partition it is `done`.
    attributes = {"version": "version", "records": "records", "whole": "done", "digest": "digest"}
    noted = {name: getattr(entry, attribute, None) for name, attribute in attributes.items()}
    return {"topic": topic, "partition": partition, **noted}


def _show(rows: list[dict[str, Any]], output: Output) -> None:
    """Write the rows as text or JSON; only JSON has the digest, which people cannot compare by eye."""
    if output.form == "text" and not rows:
        write("No application has a ledger that this user may see.\n")
        return
    if output.form == "text":
        rows = [{name: _cell_text(row[name]) for name in row if name != "digest"} for row in rows]
    output.print_rows(rows)


def _cell_text(value: object) -> str:
    """Return the text of a value in a table: "yes" or "no", and "no entry of a ledger" for None."""
    if value is None:
        return "no entry of a ledger"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
