"""Brokers that mean no good, asked over a connection of our own."""

import base64
import socket
import ssl
import struct
import subprocess
import threading
from contextlib import suppress

import pytest

from copartition.groups.live import wire
from copartition.groups.live.wire import read_features
from partitioning.errors import SourceError

pytestmark = pytest.mark.live

PASSWORD = "only-the-user-knows"
USER = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.username": "billing",
    "sasl.password": PASSWORD,
}


class Broker:
    """Serves one connection in a thread of its own; `asked` are the requests that came, without sizes."""

    def __init__(self, answer, context=None):
        self.asked = []
        self._answer, self._context = answer, context
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.config = {"bootstrap.servers": "{}:{}".format(*self._listening.getsockname())}
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        stream, _ = self._listening.accept()
        with stream, suppress(OSError):
            if self._context is not None:
                stream = self._context.wrap_socket(stream, server_side=True)
            with stream:
                while size := stream.recv(4, socket.MSG_WAITALL) if self._context is None else stream.recv(4):
                    (size,) = struct.unpack(">i", size)
                    self.asked.append(stream.recv(size))
                    self._answer(stream, self.asked)

    def close(self):
        self._listening.close()
        self._thread.join()


@pytest.fixture
def hostile():
    """Starts a broker that answers each request by a function of its stream and all requests so far."""
    started = []

    def start(answer, context=None):
        started.append(Broker(answer, context))
        return started[-1]

    yield start
    for broker in started:
        broker.close()


def frame(stream, body):
    """An answer to whatever was asked."""
    stream.sendall(struct.pack(">ii", len(body) + 4, 1) + body)


@pytest.mark.parametrize("size", [2**31 - 1, 100_000_001, 3, 0, -1, -(2**31)])
def test_an_answer_of_an_impossible_size_is_refused_before_it_is_read(hostile, size):
    broker = hostile(lambda stream, _: stream.sendall(struct.pack(">i", size)))
    with pytest.raises(SourceError, match=f"an answer says that it has {size} bytes"):
        read_features(broker.config)


def test_an_answer_that_comes_byte_by_byte_has_an_end(hostile, monkeypatch):
    monkeypatch.setattr(wire, "_TIMEOUT_S", 0.3)
    never = threading.Event()

    def drip(stream, _):
        stream.sendall(struct.pack(">i", 1_000_000))
        while True:
            stream.sendall(b"x")
            never.wait(0.02)

    with pytest.raises(SourceError, match="timed out"):
        read_features(hostile(drip).config)


def test_a_broker_that_hangs_up_is_said(hostile):
    with pytest.raises(SourceError, match=r"hung up|reset"):
        read_features(hostile(lambda stream, _: stream.close()).config)


def coordinator(host, port):
    """Answers to FindCoordinator that name this address, and an error of any other kind to what follows."""

    def answer(stream, asked):
        place = bytes(5) + b"\0\0\0" + bytes(4) + wire.compact_text(host) + struct.pack(">i", port) + b"\0"
        frame(stream, place if asked[-1][:2] == b"\0\x0a" else bytes(5) + b"\x02\0\x10\0")

    return answer


def test_a_coordinator_that_sends_us_on_is_followed_once(hostile):
    elsewhere = coordinator("127.0.0.1", 1)
    second = hostile(elsewhere)
    host, _, port = second.config["bootstrap.servers"].rpartition(":")
    first = hostile(coordinator(host, int(port)))
    with pytest.raises(SourceError):
        wire.read_subscriptions("billing", first.config)
    assert (len(first.asked), len(second.asked)) == (1, 1)


@pytest.mark.parametrize(
    ("host", "port"),
    [("127.0.0.1", -1), ("127.0.0.1", 65_536), ("127.0.0.1", 2**31 - 1), ("", 1), ("a\0b", 1)],
)
def test_a_coordinator_where_no_machine_can_be_is_refused(hostile, host, port):
    with pytest.raises(SourceError, match="over copartition's own connection failed"):
        wire.read_subscriptions("billing", hostile(coordinator(host, port)).config)


def scram(verdict, iterations=4096):
    """Answers as a broker that knows SCRAM, and says this as its signature."""

    def answer(stream, asked):
        said = asked[-1]
        if len(asked) == 1:
            frame(stream, b"\0\0" + bytes(4))
            return
        if len(asked) == 2:
            nonce = said.rpartition(b"r=")[2].decode()
            words = f"r={nonce}theirs,s={base64.b64encode(b'salt').decode()},i={iterations}".encode()
        else:
            words = verdict
        frame(stream, b"\0\0\xff\xff" + struct.pack(">i", len(words)) + words)

    return answer


@pytest.mark.parametrize("verdict", [b"v=" + base64.b64encode(bytes(32)), b"v=", b"", b"e=other-error"])
def test_nothing_is_asked_of_a_broker_that_cannot_sign(hostile, verdict):
    broker = hostile(scram(verdict))
    with pytest.raises(SourceError, match="the broker's signature is wrong"):
        read_features(broker.config | USER)
    assert len(broker.asked) == 3  # the mechanism, our name, our proof


@pytest.mark.parametrize("iterations", [0, 1, 4095, 1_000_001, 2**31])
def test_no_proof_is_sent_that_is_easily_guessed_or_takes_for_ever(hostile, iterations):
    broker = hostile(scram(b"", iterations))
    with pytest.raises(SourceError, match=f"hashed {iterations} times"):
        read_features(broker.config | USER)
    assert len(broker.asked) == 2


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """The files of a certificate for 127.0.0.1 and of one for another host, key included."""
    folder = tmp_path_factory.mktemp("certificates")
    for name, host in [("ours", "ip:127.0.0.1"), ("others", "dns:another.example")]:
        store = ["-keystore", folder / f"{name}.p12", "-storepass", "changeit", "-alias", name]
        subject = ["-dname", "CN=localhost", "-ext", f"san={host}", "-validity", "5"]
        make = ["keytool", "-genkeypair", "-keyalg", "RSA", "-storetype", "PKCS12", *subject, *store]
        subprocess.run(make, check=True, capture_output=True)
        openssl = ["openssl", "pkcs12", "-in", folder / f"{name}.p12", "-passin", "pass:changeit", "-nodes"]
        subprocess.run([*openssl, "-out", folder / f"{name}.pem"], check=True, capture_output=True)
    return folder


def with_tls(certificates, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / f"{name}.pem")
    return context, {"security.protocol": "SSL", "ssl.ca.location": str(certificates / f"{name}.pem")}


@pytest.mark.slow
def test_a_certificate_of_another_host_ends_it_before_a_word(hostile, certificates):
    context, trusted = with_tls(certificates, "others")
    broker = hostile(lambda *_: None, context)
    with pytest.raises(SourceError, match=r"not valid for '127\.0\.0\.1'"):
        read_features(broker.config | trusted)
    assert broker.asked == []


def test_a_key_with_a_password_that_is_not_given_is_refused_and_nobody_asked_for_it(hostile, certificates):
    _, trusted = with_tls(certificates, "ours")
    pem, locked = trusted["ssl.ca.location"], certificates / "locked.pem"
    lock = ["openssl", "rsa", "-aes256", "-in", pem, "-passout", "pass:changeit", "-out", locked]
    subprocess.run(lock, check=True, capture_output=True)
    own = {"ssl.certificate.location": pem, "ssl.key.location": str(locked)}
    broker = hostile(lambda *_: None)
    with pytest.raises(SourceError):
        read_features(broker.config | trusted | own)
    assert broker.asked == []


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
def test_tls_1_0_ends_it_before_a_word(hostile, certificates):
    context, trusted = with_tls(certificates, "ours")
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1
    broker = hostile(lambda *_: None, context)
    with pytest.raises(SourceError, match="protocol"):
        read_features(broker.config | trusted)
    assert broker.asked == []
