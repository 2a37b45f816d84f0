"""Run `copartition partition` and `copartition profiles`: show the partition of a key for each client."""

import json
import os

import click

from copartition.shell.commands import Output, command, write
from copartition.shell.options import output_options, partitions_option
from partitioning.topic_partition import MAX_PARTITIONS


@command(
    "copartition partition order-42 -n 12",
    "copartition partition order-42 order-43 -n 12 --profile java --profile librdkafka -o json",
)
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@partitions_option("Partitions of the topic.", MAX_PARTITIONS, required=True)
@click.option(
    "--profile", "profiles", multiple=True, help="Only this client's rule, or this plug-in's; repeatable."
)
@output_options("text", "json")
def partition(
    keys: tuple[str, ...],
    *,
    partitions: int,
    profiles: tuple[str, ...],
    output: Output,
) -> None:
    """Show the partition to which every client sends each KEY (as UTF-8 bytes) of a topic with N partitions.

    A dash means that the client does not hash such a key.
    """
    from partitioning import PROFILES, list_partitioners, partition_for_key  # noqa: PLC0415 - only here

    names = [_profile_name(name) for name in profiles] or list(PROFILES)
    # fsencode gives back the very bytes of the command line, also those that are no UTF-8.
    encoded = [os.fsencode(key) for key in keys]
    places = {name: [partition_for_key(key, partitions, profile=name) for key in encoded] for name in names}
    # A key that is no UTF-8 is shown with its bytes escaped, as JSON and terminals cannot hold them.
    shown = [key.decode("utf-8", "backslashreplace") for key in encoded]
    if output.form == "json":
        rows = [
            {"key": key, "partitions": {name: row[index] for name, row in places.items()}}
            for index, key in enumerate(shown)
        ]
        write(json.dumps({"num_partitions": partitions, "keys": rows}, indent=2) + "\n")
        return
    from rich.text import Text  # noqa: PLC0415 - only tables need it

    from copartition.kit.grid import table  # noqa: PLC0415

    # The client's line is a plug-in's own, if the profile is one of a plug-in.
    summaries = {info.name: info.summary for info in list_partitioners()}
    listing = table(["PROFILE", *(repr(key) for key in shown), "CLIENT"], right=range(1, len(keys) + 1))
    for name in names:
        cells = [Text("-" if place is None else str(place)) for place in places[name]]
        listing.add_row(Text(name), *cells, Text(summaries[name], "dim"))
    output.paint(lambda console: console.print(listing))


def _profile_name(name: str) -> str:
    """Return the name of the profile of a client or tool; any other name as it is."""
    from partitioning.profiles import known_profile  # noqa: PLC0415 - help does without

    profile = known_profile(name)
    return name if profile is None else profile.name


@command("copartition profiles")
@output_options("text", "json")
def profiles(output: Output) -> None:
    """List every client's rule for keys, then plug-ins with their own descriptions."""
    from partitioning import PROFILES, list_partitioners  # noqa: PLC0415 - help does without

    columns = ("name", "hash", "null", "empty", "unkeyed", "client")
    rows = [{column: getattr(profile, column) for column in columns} for profile in PROFILES.values()]
    rows += [
        dict.fromkeys(columns, "-")
        | {"name": info.name, "client": f"{info.origin}: {info.fault or info.summary}"}
        for info in list_partitioners()
        if info.origin != "built-in"
    ]
    output.print_rows(rows)
