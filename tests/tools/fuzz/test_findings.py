"""Files that once ended in a crash, a raw exception, gigabytes or a wrong answer, and how each ends now.

So do some that a bound could do wrong: an alias of itself, one long word.
"""

import gzip
import re
import tracemalloc

import pytest

from assignors.files import decode_text
from assignors.state import UNKNOWN_LAG
from copartition.assignment_diff import read_pair
from copartition.groups import parse_snapshot
from copartition.simulation import Scenario
from partitioning.errors import CopartitionError
from tools.fuzz.logs import RECORDED, check_logs
from tools.fuzz.runner import attempt

MEGABYTES = 100

START = "topics: {t: 2}\nconsumers: 1\n"
LAUGHS = (
    "a: &a ["
    + "x," * 100
    + "]\n"
    + "".join(
        f"{name}: &{name} [{f'*{before},' * 100}]\n" for before, name in zip("abcdef", "bcdefg", strict=True)
    )
)
ROLLING = "{event: rolling-restart, every_ms: 1, down_ms: 1},"
SNAPSHOT = (
    '{"kind":"group-snapshot","format_version":"1.0",'
    '"members":[{"id":"a","partitions":{"t":[%s]}}],"topics":{"t":%s},"lag":{"t":{"0":%s}}}'
)


def table(rows):
    widths = [max(map(len, column)) + 1 for column in zip(*rows, strict=True)]
    return "\n".join("".join(map(str.ljust, row, widths)) for row in rows)


def offsets(partition="0", lag="1"):
    names = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    return table([names.split(), ["g", "t", partition, "1", "1", lag, "c", "/h", "c"]])


def members(assignment):
    return table(
        [
            ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"],
            ["g", "c", "/h", "c", "1", assignment],
        ]
    )


SCENARIOS = [
    ("brackets.yaml", "[" * 25_000, "line 1, column 21: more than 20 levels of nesting"),
    ("dashes.yaml", "- " * 25_000, "line 1, column 41: more than 20 levels of nesting"),
    ("keys.yaml", "{a: " * 25_000, "more than 20 levels of nesting"),
    ("laughs.yaml", LAUGHS, "line 3, column .*: more than 100,000 values, which JSON may have"),
    ("long.yaml", "a" * 40_000, "line 1, column 1: more than 32,767 characters in one value"),
    ("large.yaml", "#" * 600_000, "more than 524,288 bytes"),
    ("twice.yaml", START + "seed: 1\nseed: 2", "line 4, column 1: 'seed' is there twice"),
    ("date.yaml", START + "name: 2001-99-99", "line 3, column 7: '2001-99-99' is no timestamp"),
    ("int.yaml", START + "seed: !!int ''", "line 3, column 7: '' is no int"),
    ("bool.yaml", START + "static: !!bool x", "line 3, column 9: 'x' is no bool"),
    ("list.yaml", START + "seed: !!int [1]", "line 3"),
    ("digits.yaml", START + "seed: " + "9" * 5_000, "line 3, column 7: '999.*' is no int that can be read"),
    ("bits.yaml", START + "seed: 0b" + "1" * 20_000, "line 3, column 7: '0b1.*' is no int that can be read"),
    (
        "sixty.yaml",
        START + "seed: " + "9:" * 10_000 + "9",
        "line 3, column 7: '9:9.*' is no int that can be read",
    ),
    ("control.yaml", START + "name: \x07", "control characters are not allowed"),
    ("itself.yaml", "topics: &a [*a]\nconsumers: 1", r"\$.topics"),
    (
        "grow.yaml",
        START + "events: [{event: grow, at_ms: 1, topic: t, partitions: 2147483647}]",
        r"has 2,147,483,647 partitions; 16,777,216 are .* - at `\$.events\[0\].partitions`",
    ),
    ("rolling.yaml", f"topics: {{t: 1}}\nconsumers: 20000\nevents: [{ROLLING * 100}]", "2,000,100 events"),
    ("name.yaml", f"topics: {{{'t' * 250}: 2}}\nconsumers: 1", "a name of 250 characters"),
    ("nested.toml", "a=" + "[" * 25_000, "nested too deeply"),
    ("dots.toml", ".".join("a" * 20_000) + "=1", "line 1: a key of more than 100 parts"),
    (
        "header.toml",
        "\n[" + " . ".join('"a"' for _ in range(20_000)) + "]",
        "line 2: a key of more than 100 parts",
    ),
    ("digits.toml", "seed=" + "9" * 5_000, "5000 digits"),
    ("word.toml", "a" * 500_000, "Expected '='"),
    ("nested.json", '{"events":[{"at_ms":' + "[" * 100_000, "nested too deeply"),
    ("partitions.json", '{"topics":{"t":2147483647},"consumers":1}', r"16,777,216 are .* `\$.topics`"),
    ("consumers.json", '{"topics":{"t":1},"consumers":2000000000}', r"from 0 to 1048576 - at `\$.consumers`"),
    ("packed.json", b"\x1f\x8b\x08", "compressed"),
]
GROUPS = [
    ("partitions.json", SNAPSHOT % (0, 2**31 - 1, 1), r"`int` <= 16777216 - at `\$.topics"),
    ("number.json", SNAPSHOT % (2**32, 1, 1), r"`int` <= 2147483646 - at `\$.members\[0\].partitions"),
    ("lag.json", SNAPSHOT % (0, 1, 10**25), r"`int` <= 9223372036854775807 - at `\$.lag"),
    ("nested.json", '{"kind":"group-snapshot","x":' + "[" * 100_000, "nested too deeply"),
    ("highest.txt", offsets("999999999"), "the group with topic 't' has 1,000,000,000 partitions"),
    (
        "wraps.txt",
        offsets("4294967296"),
        "line 2: PARTITION is '4294967296', not a number from 0 to 2147483646",
    ),
    (
        "lag.txt",
        offsets(lag="9" * 26),
        "line 2: LAG is '99.*', not a number from -9223372036854775807 to 9223372036854775807",
    ),
    ("digits.txt", offsets("9" * 5_000), "line 2: PARTITION is '99"),
    ("comma.txt", members("t(0,)"), r"line 2: cannot read the assignment 't\(0,\)'"),
    ("wraps-too.txt", members("t(4294967296)"), "line 2: ASSIGNMENT is '4294967296'"),
    ("word.txt", members("t" * 100_000), "line 2: cannot read the assignment 'ttt"),
    ("blank.txt", offsets() + "\na" * 4_000_000, "the 4,000,001 lines are too short for rows"),
    ("notes.txt", "a\n" * 4_000_000, "no output of kafka-consumer-groups"),
    ("absent.txt", "consumer group '" * 300_000, "no output of kafka-consumer-groups"),
]

HEAVY = {"word.toml", "rolling.yaml", "notes.txt", "absent.txt"}
"""Files whose refusal takes a second while memory is counted."""


def files(rows):
    """The rows of a table, each called by its file."""
    return [
        pytest.param(*row, id=row[0], marks=[pytest.mark.heavy] if row[0] in HEAVY else []) for row in rows
    ]


@pytest.fixture(autouse=True)
def memory():
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEGABYTES * 2**20


def refused(read, path):
    error = attempt(read, path)
    assert isinstance(error, CopartitionError), repr(error)
    return str(error)


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


@pytest.mark.parametrize(("name", "content", "fault"), files(SCENARIOS))
def test_a_hostile_scenario_is_refused_by_name(tmp_path, name, content, fault):
    path = written(tmp_path, name, content)
    message = refused(Scenario.from_file, path)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert re.search(fault, message)


@pytest.mark.parametrize(("name", "content", "fault"), files(GROUPS))
def test_a_hostile_group_is_refused_by_name(tmp_path, name, content, fault):
    path = written(tmp_path, name, content)
    message = refused(lambda source: read_pair(source, "plan:range"), path)
    assert message.startswith(f"{path}: ")
    assert re.search(fault, message)


def test_a_wide_snapshot_takes_columns_and_no_objects():
    state, _ = parse_snapshot(decode_text((SNAPSHOT % (0, 2**20, 7)).encode()))
    assert len(state.partition) == 2**20
    assert state.lag[state.lag != UNKNOWN_LAG].tolist() == [7]


def test_long_numbers_in_names_are_compared(tmp_path):
    rows = table(
        [["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"]]
        + [
            ["g", name, "/h", name, "1", f"t({number})"]
            for number, name in enumerate(["c-" + "9" * 5_000, "c-10", "c-9"])
        ]
    )
    from copartition.assignment_diff import diff

    pair = read_pair(written(tmp_path, "names.txt", rows), "plan:range")
    assert [change.name[:4] for change in diff(pair.before, pair.after).members] == ["c-9", "c-10", "c-99"]


def test_a_long_word_in_a_log_takes_no_time():
    """A pattern that begins anew at each of its characters needed ten seconds."""
    log = (RECORDED / "librdkafka-range" / "c0-0.log.gz").read_bytes()
    line = next(line for line in gzip.decompress(log).splitlines() if b"#consumer-" in line)
    assert attempt(check_logs, [line.replace(b"#consumer-", b"x" * 20_000)]) is None


@pytest.mark.parametrize(
    "line",
    [
        "Preparing to rebalance group g with old generation 1 " * 1_200,
        "Preparing to rebalance group g with old generation 1" + " (reason: (kafka.x)" * 3_000,
    ],
    ids=["groups", "reasons"],
)
def test_a_line_that_repeats_itself_is_searched_once(line):
    """The pattern began anew at each repetition, which took longer than an attempt may take."""
    error = attempt(check_logs, [f"{line}!".encode()])
    assert error is None or isinstance(error, CopartitionError)
