"""Strikes at a cluster while commands ask it: who dies, who comes back, and how late."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from math import inf
from queue import Empty, Queue
from random import Random
from signal import SIGINT, SIGKILL, SIGTERM
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.faults.brokers import REPLICATED
from tests.support.broker import Broker, Kafka
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FAULTS = {"restart": SIGTERM, "kill": SIGKILL}
CUT = "connections cut"
"""The fault of a proxy before the broker, which cuts all connections and hangs up on new ones for a while."""
MOST_CUT_S = 3.0
"""How long at most the proxy hangs up on whoever connects; how long is drawn anew for each strike."""
PROTOCOLS = ("classic", "consumer")
BACK_WITHIN_S = 60.0
"""How long after a new member has joined `watch` may take to show it; else the watch never came back."""

_STRUCK_NODES = 2, 3
"""Of three nodes those that can coordinate the groups; the first one is the controller and stays up."""

_BUG = "this is a bug"


class Cell(NamedTuple):
    """A cluster and what happens to its coordinator."""

    nodes: int
    fault: str  # a key of FAULTS, or CUT
    version: str = ""  # of Kafka; that of the other tests if empty

    @property
    def name(self) -> str:
        """The cell's name in the measurements, as "1 node, kill"."""
        version = f", Kafka {self.version}" if self.version else ""
        return f"{self.nodes} node{'s' if self.nodes > 1 else ''}, {self.fault}{version}"


CELLS = (
    *(Cell(nodes, fault, version) for version in ("", "4.4.0") for nodes in (1, 3) for fault in FAULTS),
    Cell(1, CUT),
)


def run(cell: Cell, strikes: int, save: Callable[[dict[str, Any]], None]) -> None:
    """Strike a cluster so many times; after each strike `save` gets the run so far."""
    racks = [f"rack{number}" for number in range(cell.nodes)]
    random = Random(0)
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy()) if cell.fault == CUT else None
        settings = REPLICATED if cell.nodes > 1 else "" if proxy is None else proxy.listeners
        broker = stack.enter_context(Broker(settings, racks=racks, version=cell.version))
        kafka = Kafka(broker.bootstrap_servers)
        if cell.nodes > 1:
            _create_internal_topics(broker.bootstrap_servers)
        topic = kafka.create_topic(4)
        asked = broker.bootstrap_servers if proxy is None else proxy.bootstrap_servers
        watched = [
            stack.enter_context(WatchedGroup(asked, broker.bootstrap_servers, topic, protocol))
            for protocol in PROTOCOLS
        ]
        asking = stack.enter_context(Asking(asked, watched[0].group))
        show_members(watched, 0)
        for number in range(strikes):
            struck_s = time.monotonic()
            if proxy is not None:
                proxy.refusing = True
                proxy.cut()
                time.sleep(random.uniform(0, MOST_CUT_S))
                proxy.refusing = False
            else:
                node = 1 if cell.nodes == 1 else _STRUCK_NODES[number % 2]
                broker.stop(node, FAULTS[cell.fault])
                broker.start(node)
            up_s = time.monotonic()
            show_members(watched, struck_s)
            for group in watched:
                group.note(up_s)
            show_members([group for group in watched if group.is_new], 0)
            save(_outcome(cell, number + 1, watched, asking, []))
        interrupted = [group.interrupt() for group in watched]
        save(_outcome(cell, strikes, watched, asking, interrupted))


def _outcome(
    cell: Cell,
    strikes: int,
    watched: Sequence[WatchedGroup],
    asking: Asking,
    interrupted: Sequence[float | None],
) -> dict[str, Any]:
    """Return what `measured.json` keeps; `interrupted` are seconds from Ctrl-C to a watch's end in order."""
    back_s = [round(seconds, 1) for group in watched for seconds in group.back_s]
    return {
        "cell": cell.name,
        "strikes": strikes,
        "watches": len(back_s) + sum(group.gone for group in watched),
        "died": [words for group in watched for words in group.died],
        "silent": sum(group.silent for group in watched),
        "said_away": sum(group.said_away for group in watched),
        "back_s": back_s,
        "interrupted_s": [None if seconds is None else round(seconds, 2) for seconds in interrupted],
        "asked": asking.asked,
        "codes": dict(sorted(asking.codes.items())),
        "bugs": list(asking.bugs),
        "load": round(os.getloadavg()[0]),
    }


class Lines:
    """The lines of a stream, each with the time at which it came, read by a thread."""

    def __init__(self, stream: Any) -> None:
        self._queue: Queue[tuple[float, str]] = Queue()
        Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: Any) -> None:
        for line in stream:
            self._queue.put((time.monotonic(), line))

    def news(self) -> list[tuple[float, str]]:
        """Return the lines that came since the last call."""
        lines = []
        with suppress(Empty):
            while True:
                lines.append(self._queue.get_nowait())
        return lines


class WatchedGroup:
    """A group with one member, and a `copartition watch` of it that is started anew after it has died.

    Args:
        asked: addresses with which the watch comes to the cluster.
        servers: addresses with which members come to it.
        topic: what they read.
        protocol: `group.protocol` of the members.

    Attributes:
        group: the group's id.
        died: exit codes of the watches that ended by themselves, and the last line that each wrote.
        silent: watches that lived and showed no new member within `BACK_WITHIN_S`.
        gone: strikes after which no watch came back, dead or silent.
        said_away: strikes of which the watch said a word.
        is_new: whether this watch was started after the last strike.
        back_s: for each strike that a watch survived, seconds from the cluster's first answer to the first
            sign of the watch; 0 if a sign came before.
    """

    def __init__(self, asked: str, servers: str, topic: str, protocol: str) -> None:
        self.group = f"restarts-{protocol}"
        self.died: list[str] = []
        self.back_s: list[float] = []
        self.silent = self.gone = self.said_away = 0
        self._asked, self._servers, self._topic, self._protocol = asked, servers, topic, protocol
        self._members = 0
        self.is_new = False
        self._start()

    def _start(self) -> None:
        command = ["copartition", "watch", self.group, "-b", self._asked, "-o", "json"]
        self._process = subprocess.Popen(
            [*_run_command(command[0]), *command[1:], "--interval", "500ms"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._out, self._err = Lines(self._process.stdout), Lines(self._process.stderr)
        self._words: list[tuple[float, str]] = []
        # A member that joins before the first look would be no change.
        deadline = time.monotonic() + BACK_WITHIN_S
        while not self._out.news() and self._process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)

    def join(self, struck_s: float) -> None:
        """Let a new member join; signs of the watch count from a time on, that of the strike."""
        self._members += 1
        self._name = f"member-{self._members}"
        self._member = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": self.group,
                "client.id": self._name,
                "group.protocol": self._protocol,
                "log_level": 0,
            }
        )
        self._member.subscribe([self._topic])
        self._struck_s, self._first_s, self._deadline = struck_s, inf, inf
        self._named = self.is_new = False

    def look(self) -> bool:
        """Serve the member and read what the watch wrote; return whether there is nothing to wait for."""
        self._member.poll(0.05)
        if self._deadline == inf and self._member.assignment():  # now the watch can show the member
            self._deadline = time.monotonic() + BACK_WITHIN_S
        self._words += self._err.news()
        lines = self._out.news()
        signs = [at for at, _ in lines] + [at for at, word in self._words if "answers again" in word]
        self._first_s = min([self._first_s, *(at for at in signs if at > self._struck_s)])
        self._named = self._named or any(json.loads(line)["name"] == self._name for _, line in lines)
        return self._named or time.monotonic() > self._deadline or self._process.poll() is not None

    def leave(self) -> None:
        """Let the member leave."""
        self._member.close()

    def note(self, up_s: float) -> None:
        """Note whether the watch named the member; start another watch if this one is dead or silent."""
        self.said_away += any("away since" in word or "trying again" in word for _, word in self._words)
        if self._named:
            self.back_s.append(max(self._first_s - up_s, 0))
            self._words = []
            return
        self.gone += 1
        time.sleep(0.5)  # until the last words of a process that ended are read
        code = self._process.poll()
        if code is None:
            self.silent += 1
            self._process.kill()
        else:
            words = [*self._words, *self._err.news()]
            self.died.append(f"{code}: {words[-1][1].strip() if words else 'not a word'}")
        self._process.wait()
        self._start()
        self.is_new = True

    def interrupt(self) -> float | None:
        """End the watch by Ctrl-C: seconds until it had ended; None if its exit code is not 0."""
        begun = time.monotonic()
        self._process.send_signal(SIGINT)
        code = self._process.wait(30)
        return time.monotonic() - begun if code == 0 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def show_members(groups: Sequence[WatchedGroup], struck_s: float) -> None:
    """Let a new member join each group, and leave once the group's watch has named it or cannot any more."""
    for group in groups:
        group.join(struck_s)
    waiting = [*groups]
    while waiting:
        waiting = [group for group in waiting if not group.look()]
    for group in groups:
        group.leave()


class Asking:
    """Asks three commands in turn, again and again, and counts how they end.

    Attributes:
        asked: how many commands ended.
        codes: how many ended with each exit code, "doctor 0"; below 0: by a signal.
        bugs: the last line of those that called their end a bug.
    """

    def __init__(self, servers: str, group: str) -> None:
        on = ["-b", servers]
        self._commands: Sequence[tuple[str, ...]] = (
            ("copartition", "doctor", f"live:{group}", *on),
            ("copartition", "transactions", "--interval", "100ms", *on),
            ("assignment-diff", f"live:{group}", *on),
        )
        self.asked = 0
        self.codes: dict[str, int] = {}
        self.bugs: list[str] = []
        self._ended = Event()
        self._thread = Thread(target=self._ask)

    def _ask(self) -> None:
        while not self._ended.wait(2):  # the machine has other things to do
            for command in self._commands:
                done = subprocess.run(
                    [*_run_command(command[0]), *command[1:]],
                    check=False,
                    capture_output=True,
                    text=True,
                    stdin=subprocess.DEVNULL,
                )
                name = "assignment-diff" if command[0] == "assignment-diff" else command[1]
                key = f"{name} {done.returncode}"
                self.codes[key] = self.codes.get(key, 0) + 1
                self.asked += 1
                if _BUG in done.stderr or done.returncode not in {0, 1, 2}:
                    last = done.stderr.strip().rpartition("\n")[2]
                    self.bugs.append(f"{key}: {last or 'not a word'}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def _run_command(name: str) -> list[str]:
    """How this Python runs a command of the wheel."""
    function = name.replace("-", "_")
    return [sys.executable, "-c", f"from copartition.shell import {function} as main; main()"]


def _create_internal_topics(servers: str) -> None:
    """Have the two nodes that are struck coordinate all groups and transactions in turn."""
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for name in ("__consumer_offsets", "__transaction_state"):
        topic = NewTopic(
            name,
            1,
            config={"cleanup.policy": "compact", "min.insync.replicas": "1"},
            replica_assignment=[[*_STRUCK_NODES]],
        )
        admin.create_topics([topic])[name].result(30)
    Kafka(servers).wait_for_leaders("__consumer_offsets", 1)
