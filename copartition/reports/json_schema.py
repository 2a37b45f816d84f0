"""The JSON Schema of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partitioning.kit.docstrings import described
from partitioning.kit.extras import needs

if TYPE_CHECKING:
    from collections.abc import Iterable


def json_schema(document: type, report: str, documented: Iterable[type]) -> dict[str, Any]:
    """The JSON Schema of a document, of draft 2020-12.

    Args:
        document: its type.
        report: what it is the report of.
        documented: the types in it whose docstrings describe their attributes.
    """
    with needs("the JSON Schema", "cli"):
        import msgspec  # noqa: PLC0415 - only the schema needs it
    schema = msgspec.json.schema(document)
    for type_ in documented:
        for name, said in described(type_).items():
            properties = schema["$defs"][type_.__name__]["properties"]
            properties[name] = {"description": said, **properties[name]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The report of {report} -o json",
        **schema,
    }
