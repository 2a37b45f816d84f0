"""A proxy on a loopback port between Kafka's clients and a broker, that delays, cuts and drops answers."""

from __future__ import annotations

import asyncio
import struct
from contextlib import suppress
from itertools import count
from threading import Thread
from typing import TYPE_CHECKING, Self

from copartition.models import Fault
from tests.support.broker import free_ports
from tests.support.waiting import GENEROUS_S

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter, Task
    from collections.abc import Iterable, Mapping

PRODUCE, OFFSET_COMMIT, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = 0, 8, 25, 26, 28
"""Numbers of requests in Kafka's protocol."""

LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{{port}},PROXIED://127.0.0.1:{behind},CONTROLLER://127.0.0.1:{{controller_port}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},PROXIED://127.0.0.1:{front}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT
"""


class Proxy:
    """Passes whole requests and answers on; use it as a context manager.

    A broker with the settings `listeners` tells whoever asks it through here to come back through here.

    Attributes:
        bootstrap_servers: where clients connect to.
        listeners: settings for a broker of one node behind this proxy.
        delay_s: how long each answer is held back.
        silent: while this is set, nothing comes through, and no connection ends.
        refusing: while this is set, whoever connects is hung up on.
        dropped: how many answers were dropped.
    """

    def __init__(self) -> None:
        self._front, self._behind = free_ports(2)
        self.bootstrap_servers = f"127.0.0.1:{self._front}"
        self.listeners = LISTENERS.format(front=self._front, behind=self._behind)
        self.delay_s = 0.0
        self.silent = False
        self.refusing = False
        self.dropped = 0
        self._drops: list[int] = []
        self._script: Mapping[int, Fault] = {}
        self._turns = count()
        self._open: set[StreamWriter] = set()
        self._serving: set[Task[None] | None] = set()
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", self._front)
        )
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def drop(self, requests: Iterable[int]) -> None:
        """Keep back the next answer to each of these requests, and cut its connection.

        The broker has done what was asked for, and the client cannot know.
        """
        self._loop.call_soon_threadsafe(self._drops.extend, list(requests))

    def script(self, faults: Mapping[int, Fault]) -> None:
        """What happens to the n-th Produce request from now on, counted from 0.

        A refused one arrives with a wrong checksum, which the broker answers with CORRUPT_MESSAGE. Where a
        connection is to break, the client gets all earlier answers and then its end; what the client still
        sends goes nowhere, and is not counted.
        """
        self._loop.call_soon_threadsafe(self._follow, dict(faults))

    def cut(self) -> None:
        """Cut every connection, whatever is under way."""
        self._loop.call_soon_threadsafe(self._cut)

    def close(self) -> None:
        """End the proxy and every connection."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(GENEROUS_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, client: StreamReader, to_client: StreamWriter) -> None:
        if self.refusing:
            to_client.transport.abort()
            return
        serving = asyncio.current_task()
        self._serving.add(serving)
        ends = [to_client]
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                broker, to_broker = await asyncio.open_connection("127.0.0.1", self._behind)
                ends.append(to_broker)
                self._open.update(ends)
                way = _Way(client, to_client, broker, to_broker)
                await _first_of(self._requests(way), self._answers(way))
        finally:
            self._serving.remove(serving)
            self._open.difference_update(ends)
            for end in ends:
                end.close()

    def _follow(self, script: Mapping[int, Fault]) -> None:
        self._script, self._turns = script, count()

    async def _requests(self, way: _Way) -> None:
        while True:
            frame = await _frame(way.client)
            await self._while_silent()
            request, _, correlation = struct.unpack_from(">hhi", frame, 4)
            fault = self._script.get(next(self._turns)) if request == PRODUCE else None
            if fault is Fault.REQUEST_LOST:
                await way.idle.wait()
                way.to_client.write_eof()
                return await _to_the_end(way.client)
            if _has_answer(frame):
                way.asked[correlation] = request
                way.idle.clear()
            if fault is Fault.ACK_LOST:
                way.last = correlation
            way.to_broker.write(_corrupted(frame) if fault is Fault.REFUSED else frame)
            await way.to_broker.drain()
            if fault is Fault.ACK_LOST:
                return await _to_the_end(way.client)

    async def _answers(self, way: _Way) -> None:
        while True:
            frame = await _frame(way.broker)
            (correlation,) = struct.unpack_from(">i", frame, 4)
            request = way.asked[correlation]
            if request in self._drops:
                self._drops.remove(request)
                self.dropped += 1
                return
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            await self._while_silent()
            if correlation == way.last:
                self.dropped += 1
                way.to_client.write_eof()
            else:
                way.to_client.write(frame)
                await way.to_client.drain()
            way.answered(correlation)

    async def _while_silent(self) -> None:
        while self.silent:
            await asyncio.sleep(0.02)

    def _cut(self) -> None:
        for end in self._open:
            end.transport.abort()

    async def _end(self) -> None:
        self._server.close()
        self.refusing = True
        self._cut()
        # Only tasks of ours are cancelled. asyncio's own task that accepts a connection ends by itself; if it
        # were cancelled, nobody would close the socket.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in self._serving:
                task.cancel()
            await asyncio.wait(others)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Way:
    """A client's connection and the broker's, and what was asked and is not answered."""

    def __init__(
        self, client: StreamReader, to_client: StreamWriter, broker: StreamReader, to_broker: StreamWriter
    ) -> None:
        self.client, self.to_client = client, to_client
        self.broker, self.to_broker = broker, to_broker
        self.asked: dict[int, int] = {}  # request by correlation id
        self.last = -1  # whose answer is kept back and ends the connection
        self.idle = asyncio.Event()
        self.idle.set()

    def answered(self, correlation: int) -> None:
        del self.asked[correlation]
        if not self.asked:
            self.idle.set()


def _has_answer(frame: bytes) -> bool:
    """Whether a request is other than Produce with `acks=0`; Produce is read from version 3 on."""
    request, version, _, client_id = struct.unpack_from(">hhih", frame, 4)
    if request != PRODUCE:
        return True
    at = 4 + 10 + max(client_id, 0)
    if version < 9:
        (transactional_id,) = struct.unpack_from(">h", frame, at)  # its length, -1 where there is none
        acks_at = at + 2 + max(transactional_id, 0)
    else:  # after tags; one more than its length, 0 where there is none
        acks_at = at + 1 + max(frame[at + 1], 1)
    return struct.unpack_from(">h", frame, acks_at) != (0,)


def _corrupted(frame: bytes) -> bytes:
    """A Produce request whose last record is another than the checksum says; three tag sections follow it."""
    return frame[:-4] + bytes([frame[-4] ^ 1]) + frame[-3:]


async def _to_the_end(source: StreamReader) -> None:
    while await source.read(1 << 16):
        pass


async def _frame(source: StreamReader) -> bytes:
    length = await source.readexactly(4)
    return length + await source.readexactly(*struct.unpack(">i", length))


async def _first_of(*ways: object) -> None:
    """Run both directions of a connection until one ends."""
    tasks = [asyncio.ensure_future(way) for way in ways]  # type: ignore[call-overload]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
