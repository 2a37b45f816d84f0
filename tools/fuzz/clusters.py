"""What brokers, workers and tools tell, and files of settings: transactions, share groups, other tools' JSON.

The answers of brokers come from a made-up socket; their bytes are damaged, their names and times are any.
"""

from __future__ import annotations

import json
import struct
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from confluent_kafka.admin import AdminClient
from rich.console import Console

from copartition.assignment_diff import diff
from copartition.groups import parse_capture, parse_snapshot, snapshot_bytes
from copartition.groups.live import wire
from copartition.kit.grid import VisibleConsole
from copartition.models.share_groups.report import print_share, share_json
from copartition.models.share_groups.run import ShareGroup, assess_share
from copartition.shell.client_options import client_settings
from copartition.transactions.judging import judge_looks
from copartition.transactions.looks import Look, OpenProducer, PartitionLook, Transaction
from copartition.transactions.report import print_transactions, transactions_json
from partitioning.clients.contact import quiet_client
from partitioning.errors import CopartitionError
from tools.fuzz.mutation import mutate

if TYPE_CHECKING:
    from random import Random

TESTS = Path(__file__).parents[2] / "tests/copartition/groups"
NAMES = [
    "orders",
    "a b",
    "",
    "\x1b[2J",
    "\u202egpj",
    "\x9b1m",
    "\ud800",
    "a\nb",
    "<b>\"'",
    "x" * 300,
    "[red]",
]
TIMES = [-1, 0, 1, 1_700_000_000_000, 2**31, 2**53, 2**63 - 1, -(2**63), 10**15]
OFFSETS = [None, 0, 1, 7, 2**63 - 1]
FOLDER = TemporaryDirectory(prefix="copartition-clusters-")


def unseen(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.isprintable()]


def _look(rng: Random) -> Look:
    def partition() -> tuple[str, int]:
        return rng.choice(NAMES), rng.choice((0, 1, 2**31 - 1))

    transactions = tuple(
        Transaction(
            rng.choice(NAMES), rng.choice((0, 7, -1, 2**63 - 1)), rng.choice((0, 3, -1)),
            rng.choice(("Ongoing", "Empty", "PrepareAbort", "CompleteCommit", rng.choice(NAMES))),
            rng.choice((0, 60_000, -1, 2**31 - 1)), rng.choice((None, *TIMES)), rng.choice((1, -1)),
            frozenset(partition() for _ in range(rng.randrange(3))),
        )
        for _ in range(rng.randrange(3))
    )  # fmt: skip
    partitions = tuple(
        PartitionLook(
            *partition(), rng.choice(OFFSETS), rng.choice(OFFSETS), rng.choice(OFFSETS),
            rng.choice((None, (), (OpenProducer(7, 3, 4, rng.choice(TIMES)),))),
        )
        for _ in range(rng.randrange(3))
    )  # fmt: skip
    return Look(float(rng.choice(TIMES)), transactions, partitions, ("1 broker",))


def make_looks(rng: Random) -> tuple[Look, Look]:
    return _look(rng), _look(rng)


def check_looks(case: tuple[Look, Look]) -> None:
    first, last = case
    answer = judge_looks(first, last, open_ms=60_000, servers="b:9092", transaction_version=2)
    assert transactions_json(last, answer, "g").isascii()
    console = VisibleConsole(file=StringIO(), width=120)
    print_transactions(last, answer, console, full=True)
    assert not unseen(console.file.getvalue())  # type: ignore[attr-defined]


class _Stream:
    """A socket from which these bytes come."""

    def __init__(self, content: bytes) -> None:
        self._left = content

    def settimeout(self, seconds: float) -> None:
        pass

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, size: int) -> bytes:
        part, self._left = self._left[:size], self._left[size:]
        return part


def _array(*items: bytes) -> bytes:
    return wire.compact_array(items)


_TEXT = wire.compact_text
ANSWERS = {
    "features": b"\0\0" + _array(struct.pack(">hhh", 69, 0, 1) + b"\0") + bytes(4) + b"\0",
    "coordinator": bytes(5) + b"\0\0\0" + bytes(4) + _TEXT("kafka-1") + struct.pack(">i", 9092) + b"\0",
    "group_types": bytes(7) + _array(*(_TEXT(name) * 3 + _TEXT("Share") + b"\0" for name in "ab")) + b"\0",
    "subscriptions": bytes(5)
    + _array(
        b"\0\0\0" + _TEXT("g") + _TEXT("Stable") + bytes(8) + _TEXT("uniform")
        + _array(
            _TEXT("m") + b"\0" + _TEXT("r") + bytes(4) + _TEXT("c") + _TEXT("/h")
            + _array(_TEXT("t")) + _TEXT(".*")
            + (_array(bytes(16) + _TEXT("t") + _array(bytes(4)) + b"\0") + b"\0") * 2 + b"\1\0"
        )
        + bytes(4) + b"\0"
    ) + b"\0",
}  # fmt: skip


def make_answer(rng: Random) -> tuple[str, bytes]:
    name = rng.choice([*ANSWERS])
    body = mutate(rng, ANSWERS[name]) if rng.random() < 0.9 else ANSWERS[name]
    size = len(body) + 4 if rng.random() < 0.95 else rng.choice((0, -1, 3, 2**31 - 1, 100_000_001))
    return name, struct.pack(">ii", size, 1) + body


def check_answer(case: tuple[str, bytes]) -> None:
    name, content = case
    connection = wire.Connection(_Stream(content))  # type: ignore[arg-type]
    questions = {"coordinator": ("g",), "subscriptions": ("g", 1)}
    with wire.failures():
        getattr(connection, name)(*questions.get(name, ()))


def _unit(worker: str, **own: Any) -> dict[str, Any]:
    return {"state": "RUNNING", "worker_id": worker, **own}


CONNECT = {
    name: {
        "status": {
            "name": name,
            "connector": _unit("w1:8083"),
            "tasks": [_unit("w1:8083", id=0), _unit("w2:8083", id=1), _unit("w1:8083", id=3, trace="x")],
            "type": "sink",
        }
    }
    for name in ("jdbc", "connector:jdbc")
}
TOOLS = [
    json.dumps(CONNECT).encode(),
    json.dumps(CONNECT["jdbc"]["status"]).encode(),
    *(path.read_bytes() for path in sorted((TESTS / "field").iterdir())),
    *(path.read_bytes() for path in sorted((TESTS / "captures").glob("s[ht]*.txt"))),
]


def make_tool(rng: Random) -> bytes:
    content = rng.choice(TOOLS)
    if rng.random() < 0.1 and content[:1] == b"{":
        content = b'{"a":' * rng.choice((90, 500, 100_000)) + content
    return mutate(rng, content)


def check_tool(content: bytes) -> None:
    text = content.decode(errors="replace")
    for state in parse_capture(text):
        if state is not None:
            kept = diff(state, parse_snapshot(snapshot_bytes(state))[0])
            assert kept.same or kept.conflicts


def make_share(rng: Random) -> dict[str, Any]:
    records, members = rng.choice((1, 2, 5, 20, 100, 0, 10**9)), rng.choice((1, 2, 4, 0))
    kinds = ["release", "reject", "crash", 0.0, 10.0, 1e9, float("inf"), float("nan"), "burn", -1, None]
    return {
        "members": members,
        "records": records,
        "process_ms": rng.choice((0, 1, 5, 100, -1, 1e300)),
        "max_poll_records": rng.choice((1, 3, 20)),
        "batch_records": rng.choice((1, 3, 10)),
        "each": rng.random() < 0.3,
        "renew": rng.random() < 0.3,
        "lock_ms": rng.choice((1, 2, 5, 50, 30_000, 1e-6, float("inf"))),
        "delivery_limit": rng.choice((2, 3, 5, 20)),
        "max_locks": rng.choice((1, 2, 200)),
        "session_ms": rng.choice((1, 100, 45_000)),
        "special": {rng.choice((0, 1, 4, -1, 0.5, True)): rng.choice(kinds) for _ in range(rng.randrange(3))},
        "killed": {0: rng.choice((0, 10, float("nan")))} if rng.random() < 0.2 else {},
        "stopped": {0: rng.choice((0, 10, -3))} if rng.random() < 0.2 else {},
        "restart_ms": rng.choice((float("inf"), 0, 100.0)),
        "round_trip_ms": rng.choice((0, 1, 5.0)),
    }


def check_share(case: dict[str, Any]) -> None:
    assessment = assess_share(ShareGroup(**case))
    json.loads(share_json(assessment))
    print_share(assessment, Console(file=StringIO(), width=100))


SECRETS = ["Hunter2", "S3cret", "pa55.Word", "tok=en9", "p@ss:w0rd", "X9.y8"]
PARTS = ("unter2", "3cret", "pa55", "Word", "en9", "p@ss", "w0rd", "X9", "y8")


def make_settings(rng: Random) -> tuple[str, str]:
    """A file of settings whose lines are broken, joined and damaged, and a prefix for all of them."""

    def secret() -> str:
        return "".join(rng.choice(SECRETS) for _ in range(rng.randint(1, 3)))

    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    lines = [
        f'sasl.jaas.config={module} required username="u" password="{secret()}";',
        f"sasl.password={secret()}",
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=PLAIN",
        f"ssl.key.password: {secret()}",
        f"ssl.keystore.password {secret()}",
        "bootstrap.servers=127.0.0.1:1",
        f"sasl.oauthbearer.client.secret={secret()}",
        f"ssl.truststore.certificates=-----BEGIN {secret()} \\\n {secret()} \\\n-----END",
    ]
    rng.shuffle(lines)
    prefix = rng.choice(("", "prod."))
    text = "\n".join(prefix + line for line in lines[: rng.randint(1, len(lines))])
    for _ in range(rng.randint(0, 3)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(("\n", " \\\n", "\\", "\r", '"', "=", ":", " ", "#")) + text[at:]
    if rng.random() < 0.3:
        text = mutate(rng, text.encode()).decode(errors="replace")
    return prefix, text


def check_settings(case: tuple[str, str]) -> None:
    prefix, text = case
    path = Path(FOLDER.name, "client.properties")
    path.write_text(text, encoding="utf-8", newline="")
    try:
        config = client_settings(None, (), str(path))
        if prefix:
            config = {name.removeprefix(prefix): value for name, value in config.items()}
        # A store would be looked for, and its name is no secret.
        config = {name: value for name, value in config.items() if not name.endswith(".location")}
        # The last setting is refused if all others are taken, so that no client with threads is made.
        quiet_client(AdminClient, {**config, "no.such.setting": ""}, [])
    except (click.ClickException, CopartitionError) as error:
        shown = error.format_message() if isinstance(error, click.ClickException) else str(error)
        # The folder's random name may have the two letters of a part.
        shown = shown.replace(str(path), path.name)
        assert not [part for part in PARTS if part in shown], shown


TARGETS = {
    "looks": (make_looks, check_looks),
    "answers": (make_answer, check_answer),
    "tools": (make_tool, check_tool),
    "share-groups": (make_share, check_share),
    "settings-files": (make_settings, check_settings),
}
