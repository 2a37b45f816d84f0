"""A process that was forked from one with a producer."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from partitioning.clients import delivery
from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.confluent_aio import PartitioningAIOProducer
from partitioning.clients.read_process_write import loop
from partitioning.clients.read_process_write.settings import LoopSettings
from partitioning.errors import DeliveryError
from tests.partitioning.clients.clusters import Cluster
from tests.support.broker import free_ports

FORKED = r"^this producer belongs to process \d+, from which this one was forked"


@pytest.fixture
def fork(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes this process another one, as far as its producers can say."""
    return lambda: monkeypatch.setattr(delivery.os, "getpid", lambda: -1)


@pytest.mark.live
@pytest.mark.parametrize(
    "call",
    [
        lambda producer: producer.produce("t", b"value", b"key"),
        PartitioningProducer.poll,
        PartitioningProducer.flush,
        PartitioningProducer.close,
    ],
    ids=["produce", "poll", "flush", "close"],
)
def test_each_call_that_would_wait_says_so(
    call: Callable[[PartitioningProducer], object], fork: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,) = free_ports(1)
    with PartitioningProducer({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}) as producer:
        fork()
        with pytest.raises(DeliveryError, match=FORKED):
            call(producer)
        monkeypatch.undo()


CALLS: dict[str, Callable[[PartitioningAIOProducer], Awaitable[object]]] = {
    "flush": lambda producer: producer.flush(),
    "close": lambda producer: producer.close(),
}


@pytest.mark.live
@pytest.mark.parametrize("call", CALLS)
def test_in_asyncio_each_call_says_so(
    call: str, fork: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        (port,) = free_ports(1)
        async with PartitioningAIOProducer(
            {"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0}
        ) as producer:
            fork()
            with pytest.raises(DeliveryError, match=FORKED):
                await CALLS[call](producer)
            monkeypatch.undo()

    asyncio.run(main())


IN_CHILD: dict[str, Callable[[PartitioningProducer, str], object]] = {
    "produce": lambda producer, topic: producer.produce(topic, b"value", b"key"),
    "produce to a partition": lambda producer, topic: producer.produce(topic, b"value", partition=0),
    "produce_batch": lambda producer, topic: producer.produce_batch(topic, [{"value": b"value"}]),
    "poll": lambda producer, _: producer.poll(),
    "close": lambda producer, _: producer.close(),
}


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("call", IN_CHILD)
def test_a_call_ends_in_both_processes(mocked: Cluster, call: str) -> None:
    """The topic was met before the fork, so no call looks it up."""
    topic = mocked.create_topic(3)
    with PartitioningProducer(
        {"bootstrap.servers": mocked.bootstrap_servers, "linger.ms": 60_000}
    ) as producer:
        producer.produce(topic, b"value", b"key")
        assert_refused_in_child(lambda: IN_CHILD[call](producer, topic))
        assert producer.flush() == 0


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_in_asyncio_a_record_is_refused_in_the_child_only(mocked: Cluster) -> None:
    topic = mocked.create_topic(3)

    async def main() -> None:
        async with PartitioningAIOProducer({"bootstrap.servers": mocked.bootstrap_servers}) as producer:
            sent = await producer.produce(topic, b"value", b"key")
            assert_refused_in_child(lambda: producer.produce(topic, b"value", b"key"))
            await producer.flush()
            assert sent.result().offset() == 0

    asyncio.run(main())


def assert_refused_in_child(call: Callable[[], object]) -> None:
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            call()
        except DeliveryError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    said = b"".join(iter(lambda: os.read(reader, 1000), b"")).decode()
    os.close(reader)
    assert f"belongs to process {os.getpid()}, from which this one was forked" in said
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("ending", [None, SystemExit(0)])
def test_what_process_forks_ends_where_it_returns(
    ending: BaseException | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """To close the loop's consumer, librdkafka would wait there without end."""

    class EndedError(BaseException):
        """Instead of the end of this process."""

    def process(_: object) -> list[Any]:
        monkeypatch.setattr(loop.os, "getpid", lambda: -1)
        if ending is not None:
            raise ending
        return []

    def end(code: int) -> None:
        raise EndedError(code)

    monkeypatch.setattr(loop.os, "_exit", end)
    monkeypatch.setattr(loop, "_watch", lambda _: None)
    settings = LoopSettings.of(["source"], {"group.id": "g"}, {"transactional.id": "t"}, 20)
    record: Any = SimpleNamespace()
    with caplog.at_level(logging.ERROR), pytest.raises(EndedError, match="1"):
        loop._process([record], process, settings)
    assert "process forked this one and let it return" in caplog.text
