"""Audits for programs, as JSON; keys are stable: a minor version adds, never renames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from copartition.reports.audit_words import remarks, settled, verdict
from copartition.reports.data import dump
from copartition.topics.audit.topic_audit import Coverage, KeyForm, Share, Span, TopicAudit, Writer
from partitioning.kit.docstrings import described
from partitioning.kit.extras import needs

if TYPE_CHECKING:
    from collections.abc import Sequence

AUDIT_FORMAT_VERSION = "1.0"


class WriterData(TypedDict):
    """A rule over a partition count."""

    profile: str
    same_rule: list[str]
    num_partitions: int


class SpanData(TypedDict):
    """Offsets of a partition and the writer that explains them best."""

    partition: int
    first: int
    last: int
    first_ms: int | None
    last_ms: int | None
    writer: WriterData | None
    rows: int
    keyless: int
    explained: int
    missed: list[int]
    rivals: list[WriterData]


class ShareData(TypedDict):
    """What a writer explains of a topic."""

    writer: WriterData
    rows: int


class FormData(TypedDict):
    """One form of keys."""

    name: str
    rows: int
    schema_ids: list[int]
    maybe: list[str]
    example: str


class CoverageData(TypedDict):
    """How much was read."""

    kind: str
    read: int
    present: int
    partitions: list[int]
    said: str


class AuditData(TypedDict):
    """Who wrote a topic.

    Attributes:
        settled: whether one writer over the topic's own count explains what was read, but for strays.
        verdict: the answer in a sentence.
        remarks: what to know beside the answer, in sentences.
        tried: how many writers were tried.
        example: one such key in hexadecimal; of a long one, its first bytes.
    """

    topic: str
    num_partitions: int
    certainty: str
    settled: bool
    verdict: str
    remarks: list[str]
    compacted: bool | None
    coverage: CoverageData
    shares: list[ShareData]
    spans: list[SpanData]
    forms: list[FormData]
    tried: int


class Document(TypedDict):
    """Who wrote some topics.

    Attributes:
        format_version: of this document; a minor version adds fields, never renames any.
        topics: an audit of each, in the order in which they were named.
    """

    format_version: str
    topics: list[AuditData]


_DESCRIBED: dict[type, tuple[type, ...]] = {
    Document: (Document,),
    AuditData: (TopicAudit, AuditData),
    CoverageData: (Coverage,),
    ShareData: (Share,),
    SpanData: (Span,),
    FormData: (KeyForm,),
    WriterData: (Writer,),
}
"""Whose docstrings describe the fields."""


def audit_json(audits: Sequence[TopicAudit]) -> str:
    """Audits as JSON."""
    return dump(Document(format_version=AUDIT_FORMAT_VERSION, topics=[_audit(audit) for audit in audits]))


def audit_schema() -> dict[str, Any]:
    """The JSON Schema of the document, of draft 2020-12."""
    with needs("the JSON Schema", "cli"):
        import msgspec  # noqa: PLC0415 - only the schema needs it
    schema = msgspec.json.schema(Document)
    for type_, sources in _DESCRIBED.items():
        properties = schema["$defs"][type_.__name__]["properties"]
        for source in sources:
            for name, said in described(source).items():
                if name in properties:
                    properties[name] = {**properties[name], "description": said}
    schema["$defs"]["FormData"]["properties"]["example"]["description"] = described(AuditData)["example"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The report of copartition audit -o json",
        **schema,
    }


def _audit(audit: TopicAudit) -> AuditData:
    return AuditData(
        topic=audit.topic,
        num_partitions=audit.num_partitions,
        certainty=audit.certainty,
        settled=settled(audit),
        verdict=verdict(audit),
        remarks=remarks(audit),
        compacted=audit.compacted,
        coverage=CoverageData(
            kind=audit.coverage.kind,
            read=audit.coverage.read,
            present=audit.coverage.present,
            partitions=[*audit.coverage.partitions],
            said=audit.coverage.said,
        ),
        shares=[ShareData(writer=_writer(share.writer), rows=share.rows) for share in audit.shares],
        spans=[_span(span) for span in audit.spans],
        forms=[
            FormData(
                name=form.name,
                rows=form.rows,
                schema_ids=[*form.schema_ids],
                maybe=[*form.maybe],
                example=form.example.hex(),
            )
            for form in audit.forms
        ],
        tried=len(audit.tried),
    )


def _writer(writer: Writer) -> WriterData:
    return WriterData(
        profile=writer.profile, same_rule=[*writer.same_rule], num_partitions=writer.num_partitions
    )


def _span(span: Span) -> SpanData:
    return SpanData(
        partition=span.partition,
        first=span.first,
        last=span.last,
        first_ms=span.first_ms,
        last_ms=span.last_ms,
        writer=None if span.writer is None else _writer(span.writer),
        rows=span.rows,
        keyless=span.keyless,
        explained=span.explained,
        missed=[*span.missed],
        rivals=[_writer(each) for each in span.rivals],
    )
