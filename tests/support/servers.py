"""One of each server for a whole run, started by the first test that asks, in whichever worker.

The process that reads the command line holds the servers. A worker of pytest-xdist asks that process over a
socket; without pytest-xdist both are the same process.
"""

from __future__ import annotations

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from multiprocessing.connection import Client, Listener
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future
    from multiprocessing.connection import Connection


class Servers:
    """Starts each server once and keeps it until `close`.

    Args:
        starts: for each kind of server what starts it: a context manager, whose value is what tests get.

    Attributes:
        address: where workers reach `get`, as `ask` takes it.
    """

    def __init__(self, starts: Mapping[str, Callable[[], AbstractContextManager[Any]]]) -> None:
        self._starts = starts
        self._running: dict[str, Future[Any]] = {}
        self._lock = threading.Lock()
        # A broker dies with the thread that started its process (see `dies_with_us`), so these threads stay.
        self._starters = ThreadPoolExecutor(len(starts))
        self._stack = ExitStack()
        key = secrets.token_bytes(16)
        self._listener = Listener(("127.0.0.1", 0), authkey=key, backlog=64)
        host, port = self._listener.address
        self.address = f"{host}:{port}:{key.hex()}"
        threading.Thread(target=self._accept, daemon=True).start()

    def get(self, kind: str) -> Any:
        """Return what tests get of a server; start the server if it is not running yet.

        Raises:
            Exception: the server did not start; the next call tries again.
        """
        with self._lock:
            server = self._running.get(kind)
            if server is None or (server.done() and server.exception()):
                server = self._starters.submit(lambda: self._stack.enter_context(self._starts[kind]()))
                self._running[kind] = server
        return server.result()

    def close(self) -> None:
        """Stop all servers."""
        self._listener.close()
        self._stack.close()
        self._starters.shutdown()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with connection:
            try:
                answer = self.get(connection.recv())
            except Exception as error:  # noqa: BLE001 - the test that asked raises it
                answer = error
            connection.send(answer)


def ask(address: str, kind: str) -> Any:
    """Return what tests get of a server that another process holds.

    Raises:
        Exception: what the other process raised as it started the server.
    """
    host, port, key = address.split(":")
    with Client((host, int(port)), authkey=bytes.fromhex(key)) as connection:
        connection.send(kind)
        answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer


class OneOfEach:
    """The plug-in of pytest: the process that reads the command line holds the servers, workers ask for them.

    Args:
        config: that of this process; `workerinput` of a worker says where the servers are.
        starts: what starts each kind of server, as `Servers` takes it.
    """

    def __init__(
        self, config: pytest.Config, starts: Mapping[str, Callable[[], AbstractContextManager[Any]]]
    ) -> None:
        self._address = getattr(config, "workerinput", {}).get("servers")
        self._servers = None if self._address else Servers(starts)

    def get(self, kind: str) -> Any:
        """Return what tests get of a server."""
        return self._servers.get(kind) if self._servers else ask(self._address, kind)

    @pytest.hookimpl(optionalhook=True)  # with `-p no:xdist` nobody calls it
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where the servers are."""
        assert self._servers is not None
        node.workerinput["servers"] = self._servers.address

    def pytest_unconfigure(self) -> None:
        """Stop the servers after the last test."""
        if self._servers:
            self._servers.close()
