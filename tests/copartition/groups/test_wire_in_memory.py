"""What is asked of brokers over a connection of our own, and what their answers become: no server."""

import base64
import hashlib
import hmac
import ssl
import struct
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from copartition.groups.live import wire
from copartition.groups.live.wire import (
    NO_TAGS,
    AnswerReader,
    MemberSubscription,
    compact_array,
    compact_text,
    read_features,
    read_group_types,
    read_subscriptions,
)
from partitioning.errors import ProtocolError, SourceError
from tests.copartition.groups.served import (
    API_VERSIONS,
    CONSUMER_GROUP_DESCRIBE,
    FIND_COORDINATOR,
    LIST_GROUPS,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
    Brokers,
    coordinator,
    versions,
)

FIRST, SECOND = ("b1", 9092), ("b2", 9093)
CONFIG = {"bootstrap.servers": "b1:9092"}
LEVELS = {"group.version": 1, "transaction.version": 2}
FEATURES = {API_VERSIONS: versions({CONSUMER_GROUP_DESCRIBE: 1}, LEVELS)}


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have these brokers in memory answer from now on."""

    def start(answers: dict[tuple[str, int], Any]) -> Brokers:
        brokers = Brokers(answers)
        monkeypatch.setattr(wire.socket, "create_connection", brokers.create_connection)
        return brokers

    return start


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that only sleep moves, in thousandths."""
    clock = SimpleNamespace(now=0)

    def sleep(seconds: float) -> None:
        clock.now += round(1000 * seconds)

    time = SimpleNamespace(monotonic=lambda: clock.now / 1000, sleep=sleep)
    monkeypatch.setattr(wire, "time", time)
    return clock


@pytest.mark.parametrize(
    "servers",
    [
        "b1:9092",
        "PLAINTEXT://b1:9092",
        " b1:9092 ,b2:9093",
        "b1,b1:9092",
        ":9092,b1:x,b1:9092",
        "nowhere:1,b1:9092",
    ],
)
def test_the_first_broker_that_there_is_answers(serve: Any, servers: str) -> None:
    brokers = serve({FIRST: FEATURES, SECOND: {}})
    assert read_features({"bootstrap.servers": servers}) == LEVELS
    assert [(asked.address, asked.key, asked.version) for asked in brokers.asked] == [
        (FIRST, API_VERSIONS, 3)
    ]
    assert brokers.open == 0


def test_an_address_of_ipv6_is_in_brackets(serve: Any) -> None:
    serve({("::1", 9092): FEATURES})
    assert read_features({"bootstrap.servers": "[::1]:9092"}) == LEVELS


def test_where_every_broker_refuses_the_last_ones_reason_is_told(serve: Any) -> None:
    serve({})
    with pytest.raises(SourceError, match="own connection failed: refused at b2:9093"):
        read_features({"bootstrap.servers": "b1:9092,b2:9093"})


@pytest.mark.parametrize(
    ("keys", "level"), [({CONSUMER_GROUP_DESCRIBE: 0}, 1), ({LIST_GROUPS: 5}, 0), ({}, 0)]
)
def test_brokers_that_cannot_describe_a_group_of_the_consumer_protocol_have_no_level_of_it(
    serve: Any, keys: dict[int, int], level: int
) -> None:
    serve({FIRST: {API_VERSIONS: versions(keys, LEVELS)}})
    assert read_features(CONFIG) == LEVELS | {"group.version": level}


@pytest.mark.parametrize("cut", [None, b"\0", b"\0\0\xff"])
def test_a_broker_that_hangs_up_or_says_half_is_a_source_that_cannot_be_read(
    serve: Any, cut: bytes | None
) -> None:
    brokers = serve({FIRST: {API_VERSIONS: cut}})
    with pytest.raises(SourceError, match="over copartition's own connection failed: "):
        read_features(CONFIG)
    assert brokers.open == 0


@pytest.mark.usefixtures("clock")
def test_each_answer_has_five_seconds(serve: Any) -> None:
    brokers = serve({FIRST: FEATURES})
    read_features(CONFIG)
    assert set(brokers.timeouts) == {5.0}


def member(name: str, topic: str, version: int) -> bytes:
    """A member in an answer to ConsumerGroupDescribe, without partitions."""
    named = compact_text(name) + b"\0\0" + bytes(4) + compact_text("client") + compact_text("/h")
    return named + compact_array([compact_text(topic)]) + b"\0" + b"\x01\0" * 2 + b"\x01" * version + NO_TAGS


def description(version: int, error: int = 0) -> bytes:
    """An answer to ConsumerGroupDescribe: a group of two members."""
    head = struct.pack(">h", error) + compact_text("it says")
    about = compact_text("billing") + compact_text("Stable") + bytes(8) + compact_text("uniform")
    members = compact_array([member("m-1", "orders", version), member("m-2", "pay", version)])
    return bytes(4) + compact_array([head + about + members + bytes(4) + NO_TAGS]) + NO_TAGS


@pytest.mark.parametrize(
    ("known", "asked", "protocol"),
    [
        ({CONSUMER_GROUP_DESCRIBE: 7}, 1, "consumer"),
        ({CONSUMER_GROUP_DESCRIBE: 1}, 1, "consumer"),
        ({CONSUMER_GROUP_DESCRIBE: 0}, 0, None),
        ({}, 0, None),
    ],
)
def test_the_groups_coordinator_is_asked_in_a_version_that_it_knows(
    serve: Any, known: dict[int, int], asked: int, protocol: str | None
) -> None:
    brokers = serve(
        {
            FIRST: {FIND_COORDINATOR: coordinator(*SECOND)},
            SECOND: {API_VERSIONS: versions(known), CONSUMER_GROUP_DESCRIBE: description(asked)},
        }
    )
    found = read_subscriptions("billing", CONFIG)
    topics = {"m-1": ("orders",), "m-2": ("pay",)}
    assert found == {name: MemberSubscription(read, None, None, protocol) for name, read in topics.items()}
    # The number tells a broker's own log which question of a connection it was.
    assert [request[:4] for request in brokers.asked] == [
        (FIRST, FIND_COORDINATOR, 3, 1),
        (SECOND, API_VERSIONS, 3, 1),
        (SECOND, CONSUMER_GROUP_DESCRIBE, asked, 2),
    ]
    assert brokers.asked[0].body == compact_text("billing") + b"\0" + NO_TAGS
    assert brokers.asked[2].body == compact_array([compact_text("billing")]) + b"\0" + NO_TAGS
    assert brokers.open == 0


MOVES = [14, 15, 16]


@pytest.mark.parametrize("error", MOVES)
def test_a_coordinator_that_moves_is_looked_up_and_asked_again(
    serve: Any, clock: SimpleNamespace, error: int
) -> None:
    lookups = [coordinator("", -1, error), coordinator(*FIRST), coordinator(*SECOND)]
    answers = {API_VERSIONS: versions({CONSUMER_GROUP_DESCRIBE: 0})}
    brokers = serve(
        {
            FIRST: {FIND_COORDINATOR: lookups, CONSUMER_GROUP_DESCRIBE: description(0, error), **answers},
            SECOND: {CONSUMER_GROUP_DESCRIBE: description(0), **answers},
        }
    )
    began = clock.now
    assert read_subscriptions("billing", CONFIG).keys() == {"m-1", "m-2"}
    assert (clock.now - began, brokers.open) == (2 * 200, 0)


def test_a_coordinator_that_moves_for_long_is_given_up(serve: Any, clock: SimpleNamespace) -> None:
    serve({FIRST: {FIND_COORDINATOR: coordinator("", -1, 15, "The coordinator is not available.")}})
    with pytest.raises(SourceError, match=r"failed: error 15: The coordinator is not available\."):
        read_subscriptions("billing", CONFIG)
    assert 10_000 <= clock.now < 11_000


@pytest.mark.parametrize("where", ["look-up", "answer"])
def test_another_error_of_a_broker_is_told_at_once(serve: Any, clock: SimpleNamespace, where: str) -> None:
    finds = coordinator(*FIRST) if where == "answer" else coordinator("", -1, 30, "it says")
    answers = {API_VERSIONS: versions({}), CONSUMER_GROUP_DESCRIBE: description(0, 30)}
    serve({FIRST: {FIND_COORDINATOR: finds, **answers}})
    with pytest.raises(SourceError, match="failed: error 30: it says"):
        read_subscriptions("billing", CONFIG)
    assert clock.now == 0


def listing(error: int, *groups: tuple[str, str]) -> bytes:
    """An answer to ListGroups: groups with their types."""
    rows = [
        compact_text(name) + compact_text("consumer") + compact_text("Stable") + compact_text(kind) + NO_TAGS
        for name, kind in groups
    ]
    return bytes(4) + struct.pack(">h", error) + compact_array(rows) + NO_TAGS


def test_each_broker_tells_the_types_of_its_groups_unless_it_is_too_old(serve: Any) -> None:
    old = ("b3", 9092)
    brokers = serve(
        {
            FIRST: {API_VERSIONS: versions({LIST_GROUPS: 5}), LIST_GROUPS: listing(0, ("a", "Classic"))},
            SECOND: {
                API_VERSIONS: versions({LIST_GROUPS: 6}),
                LIST_GROUPS: listing(0, ("b", "Share"), ("c", "")),
            },
            old: {API_VERSIONS: versions({LIST_GROUPS: 4}), LIST_GROUPS: listing(0, ("d", "Classic"))},
        }
    )
    assert read_group_types([FIRST, SECOND, old], CONFIG) == {"a": "classic", "b": "share", "c": ""}
    questions = [asked for asked in brokers.asked if asked.key == LIST_GROUPS]
    # Without a filter of states or of types.
    assert [(asked.version, asked.body) for asked in questions] == [(5, b"\x01\x01" + NO_TAGS)] * 2


def test_a_broker_that_refuses_to_list_groups_is_told(serve: Any) -> None:
    serve({FIRST: {API_VERSIONS: versions({LIST_GROUPS: 5}), LIST_GROUPS: listing(29)}})
    with pytest.raises(SourceError, match=r"failed: error 29$"):
        read_group_types([FIRST], CONFIG)


USER = {"security.protocol": "sasl_plaintext", "sasl.username": "a=b,c", "sasl.password": "pencil"}
WELCOME = b"\0\0" + compact_array([])


def speech(words: bytes, error: int = 0) -> bytes:
    """An answer to SaslAuthenticate."""
    return struct.pack(">hh", error, -1) + struct.pack(">i", len(words)) + words


def words_of(body: bytes) -> bytes:
    """The bytes of a mechanism in a SaslAuthenticate request."""
    assert struct.unpack(">i", body[:4]) == (len(body) - 4,)
    return body[4:]


@pytest.mark.parametrize("name", ["sasl.mechanism", "sasl.mechanisms"])
def test_plain_sends_user_and_password_before_anything_else(serve: Any, name: str) -> None:
    brokers = serve({FIRST: {SASL_HANDSHAKE: WELCOME, SASL_AUTHENTICATE: speech(b""), **FEATURES}})
    assert read_features(CONFIG | USER | {name: "plain"}) == LEVELS
    assert [(asked.key, asked.version) for asked in brokers.asked] == [
        (SASL_HANDSHAKE, 1),
        (SASL_AUTHENTICATE, 0),
        (API_VERSIONS, 3),
    ]
    assert brokers.asked[0].body == b"\0\x05PLAIN"
    assert words_of(brokers.asked[1].body) == b"\0a=b,c\0pencil"


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "plaintext", ""])
def test_without_sasl_nobody_logs_in(serve: Any, protocol: str) -> None:
    brokers = serve({FIRST: FEATURES})
    read_features(CONFIG | USER | {"security.protocol": protocol, "sasl.mechanism": "PLAIN"})
    assert [asked.key for asked in brokers.asked] == [API_VERSIONS]


@pytest.mark.parametrize(
    ("mechanism", "handshake", "verdict", "error"),
    [
        ("PLAIN", b"\0\x21" + compact_array([]), b"", "error 33: the broker knows no PLAIN"),
        ("PLAIN", WELCOME, b"\0\x3a\0\x03bad" + bytes(4), "error 58: bad"),
        ("GSSAPI", WELCOME, b"", "GSSAPI is not spoken here, only PLAIN and SCRAM"),
    ],
)
def test_a_login_that_fails_says_why(
    serve: Any, mechanism: str, handshake: bytes, verdict: bytes, error: str
) -> None:
    brokers = serve({FIRST: {SASL_HANDSHAKE: handshake, SASL_AUTHENTICATE: verdict, **FEATURES}})
    with pytest.raises(SourceError, match=error):
        read_features(CONFIG | USER | {"sasl.mechanism": mechanism})
    assert API_VERSIONS not in {asked.key for asked in brokers.asked}
    assert brokers.open == 0


class Scram:
    """A broker that knows SCRAM (RFC 5802) and the password.

    Args:
        digest: "sha256" or "sha512".
        changes: what it says otherwise: `nonce`, `iterations` or `verdict`.
    """

    def __init__(self, digest: str, **changes: Any) -> None:
        self._digest, self._changes = digest, changes
        self._steps = count()

    def answer(self, body: bytes) -> bytes:
        words = words_of(body).decode()
        return speech((self._challenge if next(self._steps) == 0 else self._verdict)(words).encode())

    def _challenge(self, words: str) -> str:
        self._first = words.removeprefix("n,,")
        name, nonce = self._first.split(",r=")
        assert name == "n=a=3Db=2Cc"
        self._iterations = self._changes.get("iterations", 4096)
        salt = base64.b64encode(b"salt").decode()
        self._said = f"r={self._changes.get('nonce', nonce)}theirs,s={salt},i={self._iterations}"
        return self._said

    def _verdict(self, words: str) -> str:
        last, _, proof = words.partition(",p=")
        salted = hashlib.pbkdf2_hmac(self._digest, b"pencil", b"salt", self._iterations)
        messages = f"{self._first},{self._said},{last}".encode()
        key = hmac.digest(salted, b"Client Key", self._digest)
        signature = hmac.digest(hashlib.new(self._digest, key).digest(), messages, self._digest)
        right = bytes(one ^ other for one, other in zip(key, signature, strict=True))
        assert base64.b64decode(proof) == right
        theirs = hmac.digest(hmac.digest(salted, b"Server Key", self._digest), messages, self._digest)
        return self._changes.get("verdict", f"v={base64.b64encode(theirs).decode()},x=more")


@pytest.mark.parametrize(("mechanism", "digest"), [("SCRAM-SHA-256", "sha256"), ("scram-sha-512", "sha512")])
def test_scram_logs_in_where_both_know_the_password(serve: Any, mechanism: str, digest: str) -> None:
    serve({FIRST: {SASL_HANDSHAKE: WELCOME, SASL_AUTHENTICATE: Scram(digest).answer, **FEATURES}})
    assert read_features(CONFIG | USER | {"sasl.mechanism": mechanism}) == LEVELS


@pytest.mark.parametrize(
    ("changes", "error", "sent"),
    [
        ({"verdict": "v=AAAA"}, "the broker's signature is wrong", 2),
        ({"nonce": "recorded"}, "the broker's nonce does not begin with ours", 1),
        ({"iterations": 4095}, "wants a password hashed 4095 times", 1),
        ({"iterations": 1_000_001}, "wants a password hashed 1000001 times", 1),
    ],
)
def test_scram_ends_where_the_broker_proves_nothing(
    serve: Any, changes: dict[str, Any], error: str, sent: int
) -> None:
    scram = Scram("sha256", **changes)
    brokers = serve({FIRST: {SASL_HANDSHAKE: WELCOME, SASL_AUTHENTICATE: scram.answer, **FEATURES}})
    with pytest.raises(SourceError, match=error):
        read_features(CONFIG | USER | {"sasl.mechanism": "SCRAM-SHA-256"})
    assert [asked.key for asked in brokers.asked] == [SASL_HANDSHAKE, *[SASL_AUTHENTICATE] * sent]


class Tls:
    """A TLS context that notes how it is used, and wraps by doing nothing."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.fails, self.noted = fails, dict[str, Any]()
        self.check_hostname, self.verify_mode = True, ssl.CERT_REQUIRED

    def create(self, **trusted: Any) -> "Tls":
        self.noted["trusted"] = trusted
        return self

    def load_cert_chain(self, *chain: Any) -> None:
        self.noted["chain"] = chain

    def wrap_socket(self, stream: Any, server_hostname: str) -> Any:
        self.noted["host"] = server_hostname
        if self.fails:
            raise self.fails
        return stream


@pytest.mark.parametrize(
    ("settings", "noted", "checks", "verifies"),
    [
        ({}, {"trusted": {"cafile": None, "cadata": None}}, True, True),
        ({"ssl.ca.location": "ca.pem"}, {"trusted": {"cafile": "ca.pem", "cadata": None}}, True, True),
        ({"ssl.ca.pem": "-----"}, {"trusted": {"cafile": None, "cadata": "-----"}}, True, True),
        ({"ssl.endpoint.identification.algorithm": "none"}, {}, False, True),
        ({"ssl.endpoint.identification.algorithm": "https"}, {}, True, True),
        ({"enable.ssl.certificate.verification": "false"}, {}, False, False),
        ({"enable.ssl.certificate.verification": "true"}, {}, True, True),
        ({"ssl.certificate.location": "own.pem"}, {"chain": ("own.pem", None, "")}, True, True),
        (
            {
                "ssl.certificate.location": "own.pem",
                "ssl.key.location": "key.pem",
                "ssl.key.password": "hush",
            },
            {"chain": ("own.pem", "key.pem", "hush")},
            True,
            True,
        ),
    ],
)
def test_tls_is_set_up_as_the_settings_say(
    serve: Any,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    noted: dict[str, Any],
    checks: bool,
    verifies: bool,
) -> None:
    tls = Tls()
    monkeypatch.setattr(wire.ssl, "create_default_context", tls.create)
    serve({FIRST: FEATURES})
    assert read_features(CONFIG | {"security.protocol": "ssl"} | settings) == LEVELS
    assert tls.noted.items() >= (noted | {"host": "b1"}).items()
    assert (tls.check_hostname, tls.verify_mode == ssl.CERT_REQUIRED) == (checks, verifies)


def test_tls_and_sasl_go_together(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = Tls()
    monkeypatch.setattr(wire.ssl, "create_default_context", tls.create)
    brokers = serve({FIRST: {SASL_HANDSHAKE: WELCOME, SASL_AUTHENTICATE: speech(b""), **FEATURES}})
    read_features(CONFIG | USER | {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"})
    assert (tls.noted["host"], len(brokers.asked)) == ("b1", 3)


def test_a_failed_handshake_leaves_no_connection(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    tls = Tls(fails=ssl.SSLError("no such protocol"))
    monkeypatch.setattr(wire.ssl, "create_default_context", tls.create)
    brokers = serve({FIRST: FEATURES})
    with pytest.raises(SourceError, match="no such protocol"):
        read_features(CONFIG | {"security.protocol": "SSL"})
    assert (brokers.open, brokers.asked) == (0, [])


@pytest.mark.parametrize(
    ("data", "value"), [(b"\0", 0), (b"\x7f", 127), (b"\x80\x01", 128), (b"\xff\xff\xff\xff\x0f", 2**32 - 1)]
)
def test_a_number_of_variable_length_is_read_to_five_bytes(data: bytes, value: int) -> None:
    assert AnswerReader(data, "it").uvarint() == value


@pytest.mark.parametrize(
    ("data", "fault"), [(b"\x80\x80\x80\x80\x80\x01", "a number takes too many bytes"), (b"\x80", "it")]
)
def test_a_longer_or_cut_number_is_a_fault(data: bytes, fault: str) -> None:
    with pytest.raises(ProtocolError, match=fault):
        AnswerReader(data, "it").uvarint()


@pytest.mark.parametrize(("data", "turns"), [(b"\0", 0), (b"\x01", 0), (b"\x03ab", 2)])
def test_an_array_has_a_turn_for_each_element(data: bytes, turns: int) -> None:
    assert len(AnswerReader(data, "it").items()) == turns


def test_an_array_larger_than_the_answer_is_a_fault() -> None:
    with pytest.raises(ProtocolError, match="an array says it has 3 elements where 2 bytes are left"):
        AnswerReader(b"\x04ab", "it").items()
