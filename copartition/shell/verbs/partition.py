"""Run `copartition partition` and `copartition profiles`: show the partition of a key for each client."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from copartition.kit.words import visible
from copartition.shell.commands import Output, command, write
from copartition.shell.options import output_options, partitions_option
from partitioning.topic_partition import MAX_PARTITIONS

if TYPE_CHECKING:
    from partitioning.serializers import KeySerializer

_KEY_TYPES = (
    *("string", "integer", "long", "short", "float", "double", "uuid", "json", "hex", "base64"),
    *("avro", "protobuf", "jsonschema"),
)
"""A copy of `serializers.KEY_TYPES`, so that help need not import it; a test compares the two."""
_SHOWN_BYTES = 24
"""The most bytes of a key that `--all-forms` shows for each form."""


@command(
    "copartition partition order-42 -n 12",
    "copartition partition 42 -n 12 --key-type long --profile java --profile librdkafka -o json",
    "copartition partition 42 -n 12 --all-forms",
    "copartition partition --keys orders.csv --column key -n 12 --profile java",
)
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@partitions_option("Partitions of the topic.", MAX_PARTITIONS, required=True)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    help="Show only this client's profile, or this plug-in; repeatable.",
)
@click.option(
    "--key-type",
    type=click.Choice(_KEY_TYPES),
    default="string",
    show_default=True,
    help="The serializer that writes the keys.",
)
@click.option(
    "--schema-id",
    metavar="ID|header",
    help="The id of the schema in the registry; header: the producer sends it in a header, not in the key.",
)
@click.option(
    "--schema-file",
    metavar="FILE",
    help="The file of the schema: JSON for avro, a descriptor set for protobuf.",
)
@click.option(
    "--keys", "file", metavar="FILE", help="Read keys from a file, one from each line; - for standard input."
)
@click.option(
    "--column",
    metavar="NAME",
    help="With --keys: the column of CSV, or the field of NDJSON, that has the keys.",
)
@click.option(
    "--all-forms",
    is_flag=True,
    help="Show the partition of each key in every form in which it may be written.",
)
@output_options("text", "json")
def partition(
    keys: tuple[str, ...],
    *,
    partitions: int,
    profiles: tuple[str, ...],
    key_type: str,
    schema_id: str | None,
    schema_file: str | None,
    file: str | None,
    column: str | None,
    all_forms: bool,
    output: Output,
) -> None:
    """Show the partition to which every client sends each KEY of a topic with N partitions.

    A dash means that the client does not hash this key, or that its keys must be texts and this key is none.
    Clients hash the serialized key, so 42 as a long and 42 as a text are different keys (--key-type). With
    json, avro, protobuf or jsonschema, KEY is a JSON document; if it is not JSON, it is taken as a text.

    Exit code: 0 the partitions are shown; 2 a key or a file could not be read.
    """
    if bool(keys) == bool(file):
        raise click.UsageError("give each KEY as an argument, or a file of them with --keys")
    if column and not file:
        raise click.UsageError("--column is for --keys")
    number = _schema_id(schema_id)
    given = _read_keys(file, column) if file else _Keys(keys)
    asked = [*dict.fromkeys(_profile_name(name) for name in profiles)]
    if all_forms:
        if key_type != "string" or number == "header" or schema_file:
            raise click.UsageError(
                "--all-forms tries every type: leave --key-type, --schema-file and header out"
            )
        # A null key has no bytes, so it has no form either.
        texts = [key if isinstance(key, str) else json.dumps(key) for key in given.values if key is not None]
        _show_forms(texts, partitions, asked or ["java"], number, output)
        return
    from partitioning import PROFILES, list_partitioners  # noqa: PLC0415 - only here
    from partitioning.serializers import key_serializer  # noqa: PLC0415

    serializer = key_serializer(key_type, schema=_schema(schema_file), schema_id=number)
    encoded = given.serialize(serializer)
    # A file may have a million keys, so only Java's rule is computed for it, unless others are asked for.
    names = asked or (["java"] if file else list(PROFILES))
    # A key that a profile refuses is an error only if the user named the profile; else it gets a dash.
    places = {name: _places(encoded, partitions, name, strict=bool(asked)) for name in names}
    shown = [_key_text(key) for key in given.values]
    if output.form == "json":
        rows = [
            {"key": key, "partitions": {name: row[index] for name, row in places.items()}}
            for index, key in enumerate(shown)
        ]
        answer = {"num_partitions": partitions, "key_type": key_type, "keys": rows}
        write(json.dumps(answer, indent=2) + "\n")
        return
    if file:
        # One line for each key, as `cut` and `sort` expect it: a table would have to wait for the longest
        # key.
        columns = [["-" if place is None else str(place) for place in row] for row in places.values()]
        lines = [("key", *names), *zip(map(visible, shown), *columns, strict=True)]
        write("".join("\t".join(line) + "\n" for line in lines))
        return
    from rich.text import Text  # noqa: PLC0415 - only tables need it

    from copartition.kit.grid import table  # noqa: PLC0415

    # If the profile is a plug-in's, its own summary is shown.
    summaries = {info.name: info.summary for info in list_partitioners()}
    listing = table(["PROFILE", *map(repr, shown), "CLIENT"], right=range(1, len(keys) + 1))
    for name in names:
        cells = [Text("-" if place is None else str(place)) for place in places[name]]
        listing.add_row(Text(name), *cells, Text(summaries[name], "dim"))
    output.paint(lambda console: console.print(listing))


def _places(keys: Sequence[bytes | None], partitions: int, profile: str, *, strict: bool) -> list[int | None]:
    """Return the partition of each key; None if the profile does not hash it or, unless strict, refuses it.

    Raises:
        InvalidKeyError: strict is set, and the profile's keys are texts, but one of these keys is not UTF-8.
    """
    from partitioning import partition_batch  # noqa: PLC0415 - only here
    from partitioning.errors import InvalidKeyError  # noqa: PLC0415

    try:
        placed = partition_batch(keys, partitions, profile=profile).tolist()
    except InvalidKeyError:
        if strict:
            raise
        # A client whose keys are texts refuses a binary key, such as the long 200. It gets None for this key,
        # so that the partitions of the other clients and the other keys are still shown.
        if len(keys) == 1:
            return [None]
        return [place for key in keys for place in _places([key], partitions, profile, strict=False)]
    return [None if place < 0 else place for place in placed]


def _schema_id(text: str | None) -> int | Literal["header"] | None:
    """Return the value of --schema-id: a number, "header", or None if the option is not given.

    Raises:
        click.BadParameter: the text is neither.
    """
    if text is None:
        return None
    if text == "header":
        return "header"
    if not text.isascii() or not text.isdigit():
        raise click.BadParameter(f"{text!r} is neither a number nor header", param_hint="--schema-id")
    return int(text)


def _schema(path: str | None) -> bytes | None:
    """Return the content of the file of --schema-file; None if the option is not given.

    Raises:
        click.ClickException: the file cannot be read.
    """
    if path is None:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - help does without pathlib
            return file.read()
    except OSError as error:
        raise click.ClickException(f"cannot read {path}: {error.strerror}") from error


class _Keys(NamedTuple):
    """Keys as the user gave them.

    Attributes:
        values: texts, or values of NDJSON, of which a null is None.
        are_json: True if they are values of NDJSON, so that a string is a value and not a JSON document.
    """

    values: Sequence[Any]
    are_json: bool = False

    def serialize(self, serializer: KeySerializer) -> list[bytes | None]:
        """Return the bytes of each key; an error names the key by its number, from 1."""
        from partitioning.errors import InvalidKeyError  # noqa: PLC0415 - help and completion do without
        from partitioning.serializers import WITH_REGISTRY  # noqa: PLC0415

        # For a type that takes JSON, a string of NDJSON is the key itself. For any other type it is the text
        # of the key, as an argument is: "42" is the number 42 for the type long.
        takes_values = self.are_json and serializer.key_type in {"json", *WITH_REGISTRY}
        encoded = []
        for number, key in enumerate(self.values, 1):
            of = serializer.of_text if isinstance(key, str) and not takes_values else serializer.of
            try:
                encoded.append(of(key))
            except InvalidKeyError as error:
                raise InvalidKeyError(f"key {number}: {error}") from None
        return encoded


def _read_keys(path: str, column: str | None) -> _Keys:
    """Return the keys of a file: its lines, a column of CSV, or a field of NDJSON.

    A file with a column is NDJSON if it begins with {, and otherwise CSV whose first line has the names. None
    is a null of NDJSON; an empty line is an empty key.

    Raises:
        SourceError: the file cannot be read, or a line lacks the column; the message names the line.
    """
    from partitioning.errors import SourceError  # noqa: PLC0415 - help and completion do without

    try:
        # Bytes that are not UTF-8 are written as they came. A byte order mark at the start belongs to no key.
        with click.open_file(path, encoding="utf-8", errors="surrogateescape") as stream:
            text = stream.read().removeprefix("\ufeff")
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    if column is None:
        return _Keys(text.removesuffix("\n").split("\n") if text else [])
    if text.lstrip()[:1] == "{":
        values = []
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
            try:
                values.append(json.loads(line)[column])
            # A line with thousands of brackets makes the parser raise a RecursionError.
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                why = f"no field {column!r}" if isinstance(error, KeyError) else "no JSON object"
                raise SourceError(f"{path}, line {number}: {why}") from None
        return _Keys(values, are_json=True)
    import csv  # noqa: PLC0415 - only here

    # The reader gets a stream, because str.splitlines would also split cells at rarer line ends within them.
    rows = csv.DictReader(io.StringIO(text, newline=""))
    cells = []
    try:
        if column not in (rows.fieldnames or ()):
            names = ", ".join(rows.fieldnames or ["nothing"])
            raise SourceError(f"{path} has no column {column!r}; its first line names {names}")
        for row in rows:
            if row[column] is None:
                raise SourceError(f"{path}, line {rows.line_num}: it ends before the column {column!r}")
            cells.append(row[column])
    except csv.Error as error:
        raise SourceError(f"{path}, near line {rows.line_num + 1}: no CSV: {error}") from None
    return _Keys(cells)


def _show_forms(
    keys: Sequence[str], partitions: int, profiles: Sequence[str], schema_id: int | None, output: Output
) -> None:
    """Print each form of each key: its partition by each profile, and its first bytes in hexadecimal.

    Args:
        keys: the keys as texts.
        partitions: the topic's partition count.
        profiles: names of the profiles, a column each.
        schema_id: the number that precedes keys of a registry; None leaves these forms out.
        output: the form and the destination. JSON has all bytes of a key, not only the first ones.
    """
    from partitioning.serializers import forms_of  # noqa: PLC0415 - only here

    forms = [(_key_text(text), form, key) for text in keys for form, key in forms_of(text, schema_id)]
    placed = [_places([key for *_, key in forms], partitions, name, strict=False) for name in profiles]
    # `placed` has a list of partitions for each profile. `places` has a row for each form.
    places = [*zip(*placed, strict=True)]
    if output.form == "json":
        rows = [
            {
                "key": text,
                "form": form,
                "bytes": key.hex(),
                "partitions": dict(zip(profiles, row, strict=True)),
            }
            for (text, form, key), row in zip(forms, places, strict=True)
        ]
        write(json.dumps({"num_partitions": partitions, "forms": rows}, indent=2) + "\n")
        return
    from rich.text import Text  # noqa: PLC0415 - only tables need it

    from copartition.kit.grid import table  # noqa: PLC0415

    listing = table(["KEY", "FORM", *profiles, "BYTES"], right=range(2, 2 + len(profiles)))
    for (text, form, key), row in zip(forms, places, strict=True):
        begins = key[:_SHOWN_BYTES].hex() + ("..." if len(key) > _SHOWN_BYTES else "")
        shown = ["-" if place is None else str(place) for place in row]
        listing.add_row(*map(Text, (repr(text), form, *shown)), Text(begins, "dim"))
    output.paint(lambda console: console.print(listing))


def _key_text(key: Any) -> str:
    """Return a key as text; bytes that are not UTF-8 are escaped for JSON and terminals."""
    if not isinstance(key, str):
        return json.dumps(key)
    return key.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _profile_name(name: str) -> str:
    """Return the name of the profile of a client or tool; any other name is returned as it is."""
    from partitioning.profiles import known_profile  # noqa: PLC0415 - help does without

    profile = known_profile(name)
    return name if profile is None else profile.name


@command("copartition profiles", "copartition profiles -o json")
@output_options("text", "json")
def profiles(output: Output) -> None:
    """List every client's rule for keys, then plug-ins with their own descriptions.

    CHECKED says whether the rule was compared with the client itself, with 2,680 keys. If it was not, the
    rule is known only from the client's source.

    Exit code: 0 the rules are listed.
    """
    from partitioning import PROFILES, list_partitioners  # noqa: PLC0415 - help does without

    columns = ("name", "hash", "null", "empty", "unkeyed", "checked", "client")
    rows = [
        {column: getattr(profile, column) for column in columns}
        | {"checked": "yes" if profile.checked else "no"}
        for profile in PROFILES.values()
    ]
    rows += [
        dict.fromkeys(columns, "-")
        | {"name": info.name, "client": f"{info.origin}: {info.fault or info.summary}"}
        for info in list_partitioners()
        if info.origin != "built-in"
    ]
    output.print_rows(rows)
