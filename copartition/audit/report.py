"""Report on who wrote a topic: in sentences and rows, on a terminal, in Markdown and as JSON.

Keys of the JSON are stable: a minor version adds keys and never renames any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from copartition.audit.hottest import OF_TOPIC
from copartition.audit.topic_audit import Coverage, KeyForm, Share, Span, TopicAudit, Writer
from copartition.kit.json import attributes, dump, json_schema
from copartition.kit.markdown import markdown_table, markdown_text
from copartition.kit.words import Table, first_of, key_text, list_names, number_ranges, utc
from partitioning.profiles import PROFILES

if TYPE_CHECKING:
    from rich.console import Console


_SHOWN = 5


def is_topic_settled(audit: TopicAudit) -> bool:
    """Return whether one writer with the topic's own count explains what was read, except for strays.

    A topic that had another count before is not settled, even if all its writers are known.
    """
    return (
        audit.certainty in {"sure", "likely"}
        and {writer.num_partitions for writer in _writers_in_turn(audit)} == {audit.num_partitions}
        and len(_writers_in_turn(audit)) == 1
    )


def audit_exit_code(audits: Sequence[TopicAudit]) -> int:
    """Return 0 if every topic is settled, 2 if the writer of each other topic is unknown, else 1.

    Args:
        audits: the audits of the topics of one run.
    """
    # One topic with several writers or with none makes it 1, however many other topics are unknown.
    open_ones = [audit for audit in audits if not is_topic_settled(audit)]
    if not open_ones:
        return 0
    return 2 if all(audit.certainty == "unknown" for audit in open_ones) else 1


def topic_verdict(audit: TopicAudit) -> str:
    """Return who wrote a topic, as one sentence."""
    keyed = _keyed_records(audit)
    writers = _writers_in_turn(audit)
    # The order of the cases: no keys, too few keys, several writers at once, no writer.
    if not keyed:
        missing = f"keys in {audit.coverage.read:,} records" if audit.coverage.read else "records"
        return f"no {missing}: nothing can be said"
    if audit.certainty == "unknown":
        return _why_unknown(audit)
    if audit.certainty == "mixed":
        return _several_writers(audit)
    if audit.certainty == "none":
        return (
            "no rule that was tried explains the records: partitions were chosen by hand, or by a client "
            "with a rule of its own"
        )
    if audit.num_partitions == 1:
        return "one partition, where every client puts every key"
    # The topic's present count is mentioned only if the single writer had another count. If there are several
    # writers, their names show how the count has changed.
    grown = {writer.num_partitions for writer in writers} != {audit.num_partitions}
    parts = ", then ".join(map(writer_name, writers))
    adverb = "written" if audit.certainty == "sure" else "most likely written"
    late = f", although the topic has {audit.num_partitions:,}" if grown and len(writers) == 1 else ""
    return f"{adverb} by {parts}{late}"


def remarks(audit: TopicAudit) -> list[str]:
    """Return in sentences what else is known about a topic besides its verdict.

    What was read comes first, because everything else depends on it.
    """
    coverage, keyed = audit.coverage, _keyed_records(audit)
    keyless = sum(span.keyless for span in audit.spans)
    lines = [f"read {coverage.read:,} of at most {coverage.present:,} records: {coverage.text}"]
    for writer in _writers_in_turn(audit):
        others = [name for name in writer.same_rule if name != writer.profile]
        # With one partition all rules are the same, so a list of them says nothing.
        if others and audit.num_partitions > 1:
            lines.append(
                f"{writer.profile} is {PROFILES[writer.profile].summary}; the same for keyed records: "
                f"{', '.join(others)}"
            )
    if len(_writers_in_turn(audit)) > 1 and audit.certainty in {"sure", "likely"}:
        lines.append("records of one key from before and after such a change are in different partitions")
    if keyless:
        lines.append(f"{keyless:,} of {coverage.read:,} records have no key, or an empty one")
    explained = sum(span.explained for span in audit.spans)
    strays = [f"{span.partition}@{offset}" for span in audit.spans for offset in span.missed][:_SHOWN]
    if audit.certainty in {"likely", "mixed"} and strays:
        where = ", ".join(strays)
        lines.append(
            f"{keyed - explained:,} of {keyed:,} keyed records are elsewhere than the writer of their range "
            f"puts them, for example (partition@offset) {where}"
        )
    # A count may be too low by `error`, and only counts above `error` are shown. So a key that is not shown
    # has at most twice that many records.
    if error := audit.hottest_error:
        none = f"none has more than {2 * error:,} records"
        more = f"each of the hottest may have {error:,} records more than its count"
        lines.append(f"too many keys to count all: {more if audit.hottest else none}")
    lines.extend(_form_sentence(form, audit.forms) for form in audit.forms)
    lines.extend(_header_sentences(audit))
    if audit.compacted:
        lines.append("the topic is compacted: what was deleted may have had other writers")
    return lines


def writer_name(writer: Writer) -> str:
    """Return a writer in a few words."""
    return f"{writer.profile} over {writer.num_partitions:,}"


def span_table(spans: Sequence[Span]) -> Table:
    """Return a table of spans, which are given by partition and offset.

    Partitions with the same single writer share a row. A partition with several ranges has a row for each
    range.
    """
    titles = ("partitions", "offsets", "from", "to", "writer", "keyed", "explained", "keyless")
    # Partitions with a single range all get -1, so that those with the same writer share a row. If a
    # partition has several ranges, each range keeps its number and so gets a row of its own.
    turns = Counter(span.partition for span in spans)
    alike: dict[tuple[Writer | None, int], list[Span]] = {}
    for number, span in enumerate(spans):
        alike.setdefault((span.writer, -1 if turns[span.partition] == 1 else number), []).append(span)
    rows = [_row(group) for group in alike.values()]
    return Table(titles, rows, range(5, 8))


def hottest_table(audit: TopicAudit) -> Table:
    """Return a table with a row for each of the hottest keys of a topic."""
    # The share is of all records read, also those without a key, because it shows the load of the partition.
    of_partition = Counter[int]()
    for span in audit.spans:
        of_partition[span.partition] += span.rows
    rows = [
        (key_text(key), str(partition), f"{count:,}", f"{count / of_partition[partition]:.1%}")
        for key, partition, count in audit.hottest or ()
    ]
    titles = ("hottest keys", "partition", "records", "of the partition")
    return Table(titles, rows, range(1, 4))


def _row(spans: Sequence[Span]) -> tuple[str, ...]:
    """Return the cells of one row of `span_table`.

    Args:
        spans: spans with the same writer: either one range of a partition that has several, or the ranges of
            partitions that have only one.
    """
    writer = spans[0].writer
    starts = [span.first_ms for span in spans if span.first_ms is not None]
    ends = [span.last_ms for span in spans if span.last_ms is not None]
    keyed = sum(span.rows - span.keyless for span in spans)
    return (
        number_ranges(np.array([span.partition for span in spans])),
        f"{spans[0].first}-{spans[0].last}" if len(spans) == 1 else "all read",
        _time(min(starts, default=None)),
        _time(max(ends, default=None)),
        "?" if writer is None else writer_name(writer),
        f"{keyed:,}",
        f"{sum(span.explained for span in spans):,}",
        f"{sum(span.keyless for span in spans):,}",
    )


def _time(ms: int | None) -> str:
    """Return a time in UTC; "-" without a time, and seconds since 1970 if no calendar has it."""
    return "-" if ms is None else utc(ms / 1000, lambda moment: f"{moment:%Y-%m-%d %H:%M:%S}")


def _keyed_records(audit: TopicAudit) -> int:
    """Return how many records have a key."""
    return sum(span.rows - span.keyless for span in audit.spans)


def _writers_in_turn(audit: TopicAudit) -> list[Writer]:
    """Return the writers of the spans, in the order in which they wrote.

    The n-th range of a partition is turn n of its writer. A writer is sorted by its latest turn in any
    partition: if a topic grew, its new partitions have only the last writer, whose turn there is the first.
    """
    place: dict[Writer, int] = {}
    turn: dict[int, int] = {}
    for span in audit.spans:
        turn[span.partition] = turn.get(span.partition, -1) + 1
        if span.writer is not None:
            place[span.writer] = max(turn[span.partition], place.get(span.writer, 0))
    return sorted(place, key=lambda writer: (place[writer], writer.num_partitions))


def _why_unknown(audit: TopicAudit) -> str:
    """Return why the writer is unknown: rivals that fit equally well, or too few different keys."""
    rivals = {rival for span in audit.spans for rival in span.rivals}
    if rivals:
        first = [writer_name(writer) for writer in (*_writers_in_turn(audit)[:1], *sorted(rivals))]
        return f"cannot tell: the keys fit {first_of(first, _SHOWN)} alike"
    guess = _writers_in_turn(audit)
    return "cannot tell: too few different keys" + (
        f"; they would fit {writer_name(guess[0])}, which may be chance" if guess else ""
    )


def _several_writers(audit: TopicAudit) -> str:
    """Return the writers with their shares, and how many records no writer explains."""
    keyed = _keyed_records(audit)
    parts = [f"{writer_name(share.writer)} about {share.rows / keyed:.0%}" for share in audit.shares[:_SHOWN]]
    rest = keyed - sum(share.rows for share in audit.shares)
    if rest:
        parts.append(f"{rest:,} records that no rule explains")
    return f"several clients at once: {', '.join(parts)}"


def _form_sentence(form: KeyForm, forms: Sequence[KeyForm]) -> str:
    """Return a sentence about one form of keys.

    Args:
        form: one of `forms`.
        forms: all forms of the topic, to compute the share of this one.
    """
    total = sum(key_form.rows for key_form in forms)
    ids = ""
    if form.schema_ids:
        ids = f", schema id{'s' * (len(form.schema_ids) > 1)} {', '.join(map(str, form.schema_ids))}"
    if len(form.schema_ids) > 1:
        ids += (
            ": the id is hashed, so one logical key under two ids is two keys; with ids in headers "
            "(header_schema_id_serializer) it would be one key from then on"
        )
    maybe = f" (or {', '.join(form.maybe)})" if form.maybe else ""
    example = repr(form.example)
    # A decoded key says more than its bytes, which may be a frame.
    if form.meanings:
        example = f"{form.sample[0]!r}, the {form.meanings[0].kind} {form.meanings[0].value}"
    return f"keys: {form.rows:,} of {total:,} looked at are {form.name}{maybe}, such as {example}{ids}"


def _header_sentences(audit: TopicAudit) -> Iterator[str]:
    """Yield sentences on key schemas that headers name, and on keys that have the schema's id in front."""
    if not audit.header_schemas:
        return
    schemas = list_names(audit.header_schemas[:_SHOWN])
    more = f" and {len(audit.header_schemas) - _SHOWN} more" if len(audit.header_schemas) > _SHOWN else ""
    yield (
        f"headers name the key schema {schemas}{more}: the schema's id is in a header and not in the key, so "
        "a new version of the schema moves no key whose bytes it leaves as they are"
    )
    if audit.has_both_frames:
        yield (
            "other keys have a schema id in front: a key that was written in both ways is two keys, in two "
            "partitions but by chance; switch all producers at once, as for another partitioner"
        )


MOST_ROWS = 40


def _tables(audit: TopicAudit, *, every: bool) -> list[tuple[Table, str]]:
    """Return the tables of ranges and of hottest keys, without a table that has no rows.

    Args:
        audit: the audit of one topic.
        every: whether all rows are shown, and not only the first ones.

    Returns:
        Each table with the text to show below it, which is empty if no row is left out.
    """
    tables = []
    for table, most, what in (
        (span_table(audit.spans), MOST_ROWS, "ranges"),
        (hottest_table(audit), OF_TOPIC, "hottest keys of partitions"),
    ):
        rows = table.rows if every else table.rows[:most]
        more = len(table.rows) - len(rows)
        # A topic may have no hot keys. Its table would have a title and no rows, so it is left out.
        if rows:
            left_out = f"and {more:,} more {what}; --all shows them" if more else ""
            tables.append((table._replace(rows=rows), left_out))
    return tables


def print_audits(audits: Sequence[TopicAudit], console: Console, *, every: bool) -> None:
    """Print the verdict of each topic, its ranges and hottest keys, and the remarks.

    Args:
        audits: the audits of the topics of one run.
        console: where to print.
        every: whether all rows of the tables are shown, and not only the first ones.
    """
    from copartition.kit.grid import cell, note, print_table  # noqa: PLC0415 - needs rich

    for number, audit in enumerate(audits):
        # Topics are separated by an empty line; there is none before the first.
        if number:
            console.print()
        console.print(
            cell(f"{audit.topic}: {topic_verdict(audit)} ({audit.certainty})", "bold"), soft_wrap=True
        )
        for shown, more in _tables(audit, every=every):
            print_table(shown, console)
            if more:
                console.print(note(more))
        for remark in remarks(audit):
            console.print(note(remark), soft_wrap=True)


def audit_markdown(audits: Sequence[TopicAudit], *, every: bool) -> str:
    """Return audits as GitHub Markdown: for each topic the verdict in bold, the tables and the remarks.

    Args:
        audits: the audits of the topics of one run.
        every: whether all rows of the tables are shown, and not only the first ones.
    """
    lines: list[str] = []
    for audit in audits:
        sentence = markdown_text(f"{audit.topic}: {topic_verdict(audit)} ({audit.certainty})")
        lines += [f"**{sentence}**", ""]
        for shown, more in _tables(audit, every=every):
            lines += [*markdown_table(shown), ""]
            if more:
                lines += [more, ""]
        lines += [f"- {markdown_text(remark)}" for remark in remarks(audit)]
        lines += [""]
    return "\n".join(lines).rstrip("\n") + "\n"


AUDIT_FORMAT_VERSION = "1.0"


class AuditedForm(TypedDict):
    """One form of keys.

    Attributes:
        example: a key of this form in hexadecimal; only its first bytes if it is long.
    """

    name: str
    rows: int
    schema_ids: list[int]
    maybe: list[str]
    example: str


class HotKeyData(TypedDict):
    """A key with many records.

    Attributes:
        key: the key's bytes in hexadecimal.
        partition: the partition of these records. If the key is in another partition, too, that is another
            entry.
        rows: the number of its records in this partition; a lower bound if `hottest_error` is above 0.
    """

    key: str
    partition: int
    rows: int


class AuditData(TypedDict):
    """The audit of one topic: who wrote it.

    Attributes:
        settled: whether one writer over the topic's own partition count explains what was read, except for
            strays.
        verdict: the answer in a sentence.
        remarks: further sentences about what was found.
        tried: how many writers were tried: rules with partition counts.
    """

    topic: str
    num_partitions: int
    certainty: str
    settled: bool
    verdict: str
    remarks: list[str]
    compacted: bool | None
    coverage: Coverage
    shares: tuple[Share, ...]
    spans: tuple[Span, ...]
    forms: list[AuditedForm]
    hottest: list[HotKeyData] | None
    hottest_error: int
    header_schemas: tuple[str, ...]
    tried: int


class AuditDocument(TypedDict):
    """The audits of some topics.

    Attributes:
        format_version: the version of this format; a minor version adds fields and never renames one.
        topics: the audit of each topic, in the order in which they were named.
    """

    format_version: str
    topics: list[AuditData]


def audit_json(audits: Sequence[TopicAudit]) -> str:
    """Return audits as JSON."""
    topics = [
        attributes(
            AuditData,
            audit,
            settled=is_topic_settled(audit),
            verdict=topic_verdict(audit),
            remarks=remarks(audit),
            forms=[attributes(AuditedForm, form, example=form.example.hex()) for form in audit.forms],
            hottest=audit.hottest
            and [attributes(HotKeyData, hot, key=hot.key.hex()) for hot in audit.hottest],
        )
        for audit in audits
    ]
    return dump(AuditDocument(format_version=AUDIT_FORMAT_VERSION, topics=topics))


def audit_schema() -> dict[str, Any]:
    """Return the JSON Schema of the document, of draft 2020-12."""
    return json_schema(AuditDocument, "copartition audit", {AuditData: TopicAudit, AuditedForm: KeyForm})
