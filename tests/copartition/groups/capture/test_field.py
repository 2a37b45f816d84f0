"""Captures as people pasted them in public reports: each with a command, its exit code and its answer.

The files have the facts of the reports, with other names and ids.
"""

from pathlib import Path

import pytest

from copartition.groups import parse_capture
from copartition.groups.capture import parse_captures
from copartition.shell.main import copartition
from partitioning.errors import SourceError
from tests.support.commands import invoker
from tests.support.tiers import sample

FIELD = Path(__file__).parents[1] / "field"
run = invoker(copartition)

DIFFS = [
    ("g02-members-verbose-kminion.txt", 1, "4 of 14 partitions have no reader"),
    ("g02b-members-verbose-count.txt", 2, "line 3: shop-app-6cc3ba50-3183-4d1d-b933-dffe9f578985 has 1"),
    ("g02c-no-comma-row.txt", 1, "5 of 13 partitions have no reader"),
    ("g02d-blank.txt", 1, "4 of 14 partitions have no reader"),
    ("g03-kop.txt", 2, "line 4: TOPIC is 'persistent://public/default/clicks-600', a topic of Pulsar"),
    ("g04-no-header.txt", 2, "without their header; copy the line that begins with GROUP"),
    ("g04b-with-header.txt", 1, "members have 0 to 299 partitions, and 75 are possible; 2 of 4 members"),
    ("g05-kubectl.txt", 0, "Balanced: every member has 25 partitions."),
    ("g05-kubectl.txt", 0, "line 54 is no row and was left out: 'pod \"kafka-consumer-groups\" deleted'"),
    ("g05b-no-trailer.txt", 0, "Balanced: every member has 25 partitions."),
    ("g06-rpk-three-groups.txt", 2, "3 groups (to_saver_m4, to_saver_m5, to_saver_m6); name one"),
    ("g06-rpk-three-groups.txt --group to_saver_m4", 0, "to_saver_m4   Stable   1 member"),
    ("g07-burrow.json", 2, "this is Burrow's answer about a consumer, which has hosts in place of members"),
    ("g08-offset-checker.txt", 2, "this is the output of ConsumerOffsetChecker"),
    ("g09-no-offset.txt", 0, "Balanced: every member has 1 partition."),
    ("g09b-kafka-exporter.prom", 2, "these are metrics of an exporter, which count lags"),
    ("g10-lag-exporter.prom", 2, "these are metrics of an exporter, which count lags"),
    ("g12-all-groups.txt", 2, "3 groups (snuba-post-processor, snuba-consumers, snuba-replacers)"),
    ("g12-all-groups.txt --group snuba-replacers", 0, "Balanced: every member has 1 partition."),
    ("g13-rpk-negative.txt", 1, "mirror   Empty   0 members"),
    ("g14-one-topic-each.txt", 0, "Balanced: every member has 4 partitions."),
    ("g21-wrapped.txt", 1, "the group has 10 partitions and no member; at least 23,951,457 records wait"),
    ("g21b-wrapped-owner.txt", 1, "9 of 10 partitions have no reader, where at least 5,614,219 records"),
    ("g22-pipes.txt", 0, "Balanced: every member has 1 partition."),
    ("g22b-markdown.txt", 0, "Balanced: every member has 1 partition."),
    ("g22c-tabs.txt", 0, "Balanced: every member has 1 partition."),
    ("g22d-quoted.txt", 0, "Balanced: every member has 1 partition."),
    ("g23-rpk-cluster-offsets.txt", 2, "this is the output of rpk cluster offsets"),
    ("g25-assign-no-members.txt", 1, "aa   Empty   0 members   1 partition"),
    ("g26-leader-topics-only.txt", 1, "2 of 4 partitions have no reader, where 981 records wait"),
    ("g28-two-owners.txt", 1, "3 partitions have two owners."),
    ("g29-spark-committed-only.txt", 1, "3 partitions and no member; 1,497 records wait there"),
    ("g31-topic-without-reader.txt", 1, "2 of 5 partitions have no reader, where 4,707,500 records wait"),
    ("g32-own-topics-range.txt", 0, "Balanced: every member has 1 partition."),
    ("g32-own-topics-range.txt plan:current --deploy rolling", 2, "what they have does not fit one list"),
    ("g33-state-and-table.txt", 0, "Balanced, but 2 of 5 members have none"),
    ("small-b.json", 2, "this is Burrow's answer about a consumer"),
    ("small-nogroupcol.txt", 1, "aa   Empty   0 members   1 partition"),
    ("small-oldidle.txt", 0, "Balanced, but 1 of 2 members has none"),
    ("small-pod.txt", 0, "line 4 is no row and was left out: 'pod \"kcg\" deleted'"),
    ("small-prompt.txt", 0, "line 4 is no row and was left out: '[user@host ~]$'"),
    ("small-rpkneg.txt", 1, "t-0 has a lag of -8220: the group committed an offset beyond the end"),
    ("small-rpkold.txt", 0, "m   Stable   2 members   1 partition"),
    ("small-statecount.txt", 0, "Balanced, but 1 of 3 members has none"),
    ("small-statecount.txt", 0, "the source counts 1 member without partitions that it does not list"),
    ("small-twoowners.txt", 1, "t-0 has two owners: a, b"),
    ("small-unread.txt", 1, "1 of 2 partitions has no reader, where 900,000 records wait"),
    ("small-unread2.txt", 1, "1 of 3 partitions has no reader, where 900,000 records wait"),
    ("small-warnafter.txt", 0, "line 4 is no row and was left out: '[2026-01-01 10:00:00,000] WARN"),
    ("small-wrap.txt", 0, "rows that were wrapped over 2 lines were joined"),
]
OTHER_KINDS = [
    ("g18-streams-members.txt", 2, "my-streams is a Streams group (KIP-1071)"),
    ("g18b-share.txt", 2, "my-share-group is a share group (KIP-932)"),
    ("g18c-share-old.txt", 2, "group-share-x is a share group (KIP-932)"),
]
DOCTORS = [
    ("g13-rpk-negative.txt", 1, "the commit is beyond the end of topic-mjim-0"),
    ("g28-two-owners.txt", 1, "two members have t-0, t-1 and t-2"),
    ("g29-spark-committed-only.txt", 1, "the group is Empty with 0 members"),
    ("small-oldidle.txt", 1, "1 member without a partition: c-2"),
    ("small-rpkold.txt", 1, "Stable, 2 members, protocol unknown, strategy range"),
    ("small-statecount.txt", 1, "1 member without a partition: 1 that the source counts and does not list"),
]


@pytest.mark.parametrize(
    ("command", "arguments", "code", "sentence"),
    sample([*(("diff", *row) for row in (*DIFFS, *OTHER_KINDS)), *(("doctor", *row) for row in DOCTORS)], 2),
)
def test_what_people_pasted_has_the_right_answer(command, arguments, code, sentence):
    name, *options = arguments.split()
    result = run(command, FIELD / name, *options, "--width", 400)
    assert sentence in result.output
    assert result.exit_code == code
    assert "this source does not show members without" not in result.output or "statecount" not in name


def test_every_file_of_the_field_is_tried():
    tried = {arguments.split()[0] for arguments, _, _ in (*DIFFS, *DOCTORS, *OTHER_KINDS)}
    assert tried == {path.name for path in FIELD.iterdir()}


HEADER = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
ROWS = [
    "billing orders 0 5 7 2 app-1-aaaa /10.0.0.1 app-1",
    "billing orders 1 5 5 0 app-2-bbbb /10.0.0.2 app-2",
    "billing orders 2 5 5 0 app-2-bbbb /10.0.0.2 app-2",
    "billing legacy 0 5 9 4 - - -",
]


def table(*, prefix="", join=" ", head=HEADER, rows=ROWS):
    """The table as its tool prints it, in columns of fixed width."""
    widths = (15, 15, 10, 15, 15, 15, 25, 15, 12)
    lines = [
        join.join(word.ljust(width) for word, width in zip(line.split(), widths, strict=True))
        for line in (head, *rows)
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


def bars(outer):
    """The table as Markdown draws it, or psql."""
    lines = [f"{outer}{' | '.join(line.split())}{outer}" for line in (HEADER, *ROWS)]
    return "\n".join([lines[0], "|".join(["---"] * 9), *lines[1:], ""])


def wrapped(width):
    """The table as a terminal of this width shows it."""
    return "".join(
        f"{line[start : start + width]}\n"
        for line in table().splitlines()
        for start in range(0, len(line), width)
    )


CLEAN = table()
PASTES = {
    "in a quote": table(prefix="> "),
    "in a quote of a quote": table(prefix=">> "),
    "in Markdown's code": table(prefix="    "),
    "from docker compose": table(prefix="kafka-1  | "),
    "from kubectl logs": table(prefix="[pod/kafka-0/kafka] "),
    "with bars": bars(""),
    "in Markdown": bars("|").replace("|GROUP", "| GROUP"),
    "in a fence": f"```\n{CLEAN}```\n",
    "in another fence": f"~~~text\n{CLEAN}~~~\n",
    "in colours": CLEAN.replace("billing", "\x1b[1;32mbilling\x1b[0m"),
    "with blanks that do not break": CLEAN.replace(" ", "\u00a0"),
    "with tabs": "\n".join("\t".join(line.split()) for line in (HEADER, *ROWS)) + "\n",
    "as CSV": "\n".join(",".join(line.split()) for line in (HEADER, *ROWS)) + "\n",
    "with the line ends of Windows": CLEAN.replace("\n", "\r\n"),
    "wrapped at 100": wrapped(100),
    "wrapped at 80": wrapped(80),
    "wrapped at 123": wrapped(123),
    "wrapped without its last blanks": "\n".join(line.rstrip() for line in wrapped(100).split("\n")),
    "below its command": f"$ kafka-consumer-groups.sh --describe --group billing\n\n{CLEAN}$ \n",
    "in bash": f"{CLEAN}bash-4.4$ exit\nexit\ncommand terminated with exit code 1\n",
    "in a container": f"{CLEAN}I have no name!@kafka-0:/$ \n",
    "as root": f"{CLEAN}root@kafka-0:/# exit\n",
    "on Windows": f"{CLEAN}C:\\kafka\\bin\\windows>\n",
    "in PowerShell": f"{CLEAN}PS C:\\kafka> ls\n",
    "with a warning between": CLEAN.replace(
        "billing         orders          1",
        "[2026-01-01 10:00:00,000] WARN slow (org.A)\nbilling         orders          1",
    ),
    "with a remark below": f"{CLEAN}Why is one of them without a reader?\n",
    "with time": f"{CLEAN}\nreal\t0m3.210s\nuser\t0m4.1s\nsys\t0m0.3s\n",
}


@pytest.mark.parametrize("how", PASTES)
def test_a_table_is_the_same_group_however_it_was_pasted(how):
    ((state, _),) = parse_captures(PASTES[how])
    clean, _ = parse_capture(CLEAN)
    assert (state.members, state.topics, state.name) == (clean.members, clean.topics, "billing")
    assert [*zip(state.places, state.member.tolist(), state.lag.tolist(), strict=True)] == [
        *zip(clean.places, clean.member.tolist(), clean.lag.tolist(), strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            CLEAN.replace("billing         orders          1  ", "illing         orders          1  "),
            "2 groups .billing, illing.",
        ),
        (CLEAN.replace("orders          1 ", "or"), "line 3"),
        (f"{CLEAN}bill", "line 6"),
        (f"{CLEAN}billing something else\n", "line 6"),
        (f"{CLEAN}what is this\n{table(head=HEADER, rows=ROWS[:1]).splitlines()[1]}\n", "line 6: the row"),
        (bars("").replace(" | app-1\n", "\n"), "line 3: the row has 8 cells, the header 9"),
        (wrapped(123).replace("app-2-bbbb", "app-2-bbb", 1), "the table is wrapped, and this row"),
    ],
)
def test_what_may_be_a_row_is_never_left_out(text, fault):
    with pytest.raises(SourceError, match=fault):
        parse_captures(text)


def test_the_command_names_the_group_of_an_old_table():
    old = "".join(f"{line[16:]}\n" for line in CLEAN.splitlines())
    text = f"$ bin/kafka-consumer-groups.sh --describe --group billing --new-consumer\n\n{old}"
    assert parse_capture(text)[0].name == "billing"
    later = text.replace("billing", "shipping").replace("app-", "pod-")
    assert parse_capture(text + later, "shipping")[0].name == "shipping"
