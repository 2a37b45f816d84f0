"""Questions to brokers over a connection of our own."""

import socket
import struct
import uuid
from random import Random

import pytest

from copartition.assignment_diff import plan
from copartition.groups.live import wire
from copartition.groups.live.wire import read_features, read_subscriptions
from copartition.shell.client_options import client_settings
from partitioning.errors import ProtocolError, SourceError
from tests.copartition.groups.worker import read_or_nobody, settings
from tests.support import secured as users
from tests.support.tiers import examples
from tests.support.waiting import wait_for


def test_scram_is_spoken_as_rfc_7677_has_it(monkeypatch):
    monkeypatch.setattr(wire.secrets, "token_hex", lambda _: "rOprNGfwEbeRWgbNEkqO")
    connection = wire.Connection(socket.socket())
    said = []
    answers = [
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    ]

    def answer(data):
        said.append(data.decode())
        return answers[len(said) - 1]

    monkeypatch.setattr(connection, "_authenticate", answer)
    connection._scram("sha256", "user", "pencil")
    connection._stream.close()
    assert said == [
        "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        (
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        ),
    ]


class Broker:
    """A socket from which one answer comes."""

    def __init__(self, answer):
        self.left = struct.pack(">ii", len(answer) + 4, 1) + answer

    def settimeout(self, seconds):
        pass

    def sendall(self, data):
        self.asked = data

    def recv(self, size):
        part, self.left = self.left[:size], self.left[size:]
        return part


FEATURES = bytes.fromhex("0000") + b"\x02" + struct.pack(">hhh", 69, 0, 1) + b"\0" + bytes(4)
LEVEL = b"\x02\x0egroup.version" + struct.pack(">hh", 1, 1) + b"\0"


@pytest.mark.parametrize(
    ("answer", "keys", "levels"),
    [
        (FEATURES + b"\x01\x02" + bytes([len(LEVEL)]) + LEVEL, {69: 1}, {"group.version": 1}),
        (FEATURES + b"\0", {69: 1}, {}),
        (bytes.fromhex("0023"), {}, {}),
    ],
)
def test_the_levels_of_features_are_read(answer, keys, levels):
    assert wire.Connection(Broker(answer)).features() == (keys, levels)


@pytest.mark.parametrize("answer", [b"", b"\0\0\x7f", FEATURES + b"\x01\x02\x7f", b"\0\0" + b"\xff" * 9])
def test_bytes_that_are_no_answer_are_a_fault(answer):
    with pytest.raises(ProtocolError):
        wire.Connection(Broker(answer)).features()


def test_names_of_any_length_are_written_as_they_are_read():
    for size in (0, 1, 126, 127, 128, 20_000):
        assert wire.AnswerReader(wire.compact_text("x" * size), "it").compact() == "x" * size


@pytest.mark.parametrize("config", [{}, {"bootstrap.servers": "nowhere"}])
def test_settings_without_a_broker_are_refused(config):
    with pytest.raises(SourceError, match="names no broker"):
        read_features(config)


def test_members_of_the_consumer_protocol_tell_what_they_read(broker, workers):
    topics, group = sorted(broker.create_topic(2) for _ in range(2)), f"wire-{uuid.uuid4()}"
    new = {"group.protocol": "consumer"}
    workers(group, topics[:1], "one", **new, **{"client.rack": "r1"})
    workers(group, [f"^{topics[1]}"], "two", **new)
    state, _ = wait_for(
        lambda: read_or_nobody(group, broker),
        lambda found: found[0].status == "Stable" and (found[0].member >= 0).sum() == 4,
    )
    told = {member.client_id: (member.topics, member.rack, member.protocol) for member in state.members}
    assert told == {"one": ((topics[0],), "r1", "consumer"), "two": ((topics[1],), None, "consumer")}
    assert plan(state, "uniform").assumed == ()
    assert read_features(settings(broker))["group.version"] >= 1


def test_a_user_with_a_password_is_let_in(secured):
    config = users.settings(secured)
    assert read_features(config)["group.version"] >= 1
    with pytest.raises(SourceError, match="Authentication failed"):
        read_features(config | {"sasl.password": "hunter2"})
    with pytest.raises(SourceError, match="error"):
        read_subscriptions("nobodys", config)


def test_tls_is_spoken(encrypted, tmp_path):
    path = tmp_path / "client.properties"
    path.write_text("\n".join(f"{name}={value}" for name, value in encrypted.listeners["valid"].items()))
    assert read_features(client_settings(None, (), str(path)))["group.version"] >= 1
    path.write_text("\n".join(f"{name}={value}" for name, value in encrypted.listeners["expired"].items()))
    with pytest.raises(SourceError, match="expired"):
        read_features(client_settings(None, (), str(path)))


def described(members, kind=b""):
    """An answer to ConsumerGroupDescribe: one group with these members, each of two topics and a pattern."""
    member = (
        wire.compact_text("m")
        + b"\0"  # no instance id
        + wire.compact_text("r1")
        + bytes(4)
        + wire.compact_text("c")
        + wire.compact_text("/h")
        + b"\x03"
        + wire.compact_text("orders")
        + wire.compact_text("payments")
        + wire.compact_text("clicks.*")
        + (b"\x02" + bytes(16) + wire.compact_text("orders") + b"\x03" + bytes(8) + b"\0\0") * 2
        + kind
        + b"\0"
    )
    names = wire.compact_text("g") + wire.compact_text("Stable") + bytes(8) + wire.compact_text("uniform")
    group = b"\0\0\0" + names + bytes([members + 1]) + member * members + bytes(4) + b"\0"
    return b"\0" + bytes(4) + b"\x02" + group + b"\0"


@pytest.mark.parametrize(
    ("version", "kind", "protocol"),
    [(0, b"", None), (1, b"\0", "classic"), (1, b"\x01", "consumer"), (1, b"\xff", None)],
)
def test_subscriptions_are_read_from_an_answer(version, kind, protocol):
    found = wire.Connection(Broker(described(1, kind))).subscriptions("g", version)
    assert found == {"m": wire.MemberSubscription(("orders", "payments"), "clicks.*", "r1", protocol)}


@pytest.mark.parametrize("seed", range(examples(200)))
def test_damaged_answers_are_read_or_are_a_fault(seed):
    rng, answer = Random(seed), bytearray(described(2, b"\x01"))
    for _ in range(rng.randint(1, 4)):
        answer[rng.randrange(len(answer))] = rng.randrange(256)
    try:
        found = wire.Connection(Broker(bytes(answer[: rng.randint(1, len(answer))]))).subscriptions("g", 1)
    except ProtocolError:
        return
    assert len(found) <= 2
