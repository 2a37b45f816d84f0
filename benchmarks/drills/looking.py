"""Drills of the commands that look: is an "ok" seen, does the advice fit, does a monitor outlive a broker?"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from contextlib import suppress
from itertools import product
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, ResourceType

from benchmarks.consumers.clients import AIOKAFKA, KAFKA_PYTHON
from benchmarks.drills.drill import Drill, Outcome
from benchmarks.drills.judging import figure, never, no_ok, same_balance, says
from benchmarks.drills.migrating import NAMES
from benchmarks.drills.stage import UNIFORM, strategies
from tests.support import jars
from tests.support.broker import POM, Broker, free_ports
from tests.support.encrypted import allowed
from tests.support.secured import USERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from signal import Signals

    from benchmarks.drills.stage import Stage

GUEST = (
    *("-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN"),
    *("-X", "sasl.username=guest", "-X", "sasl.password=guests"),
)
WAITING = 6000
SOON = ("--interval", "1s")
TOLD = (
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
)
"""Options of a broker that writes down why a group rebalances, as brokers of production do."""


class SecuredCluster(Broker):
    """A broker with users; `guest` is one without rights.

    Attributes:
        users: the address at which users log in.
    """

    def __init__(self, settings: str = "", java_options: Sequence[str] = (), version: str = "") -> None:
        [port] = free_ports(1)
        self.users = f"127.0.0.1:{port}"
        super().__init__(settings + USERS.format(users_port=port), java_options, version=version)


def _users(stage: Stage) -> str:
    assert isinstance(stage.broker, SecuredCluster)
    return stage.broker.users


def _allow(stage: Stage, kind: ResourceType, name: str) -> None:
    for done in stage.admin.create_acls([allowed("guest", kind, name, AclOperation.DESCRIBE)]).values():
        done.result(30)


# Answers without evidence ----------------------------------------------------------------------------------


def transactions_of_a_guest(stage: Stage) -> Outcome:
    """Ask as a user without rights while a transaction is open for too long."""
    stage.create(3)
    settings = {"bootstrap.servers": stage.servers, "transactional.id": "payments-1", "log_level": 0}
    producer = Producer(settings)
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(next(iter(stage.topics)), b"")
    producer.flush(30)
    time.sleep(2)
    limit = ("--open-longer-than", "1s")
    stage.ask("transactions", *limit, *GUEST, servers=_users(stage))
    seen = stage.ask("transactions", *limit)
    producer.abort_transaction(30)
    return Outcome(
        "the same question was asked as a user with all rights",
        f"that answer ends with {seen.code}: {seen.headline}",
        {"a transaction is open for too long": seen.code == 1},
    )


def doctor_of_a_guest(stage: Stage) -> Outcome:
    """Ask as a user who may see the group, and neither its topic nor its lag."""
    stage.create(3)
    stage.commit(0)
    stage.form(NAMES, strategies("range") | {"enable.auto.commit": "false"})
    stage.write(WAITING)
    _allow(stage, ResourceType.GROUP, stage.group)
    stage.ask("doctor", stage.group, *SOON, *GUEST, servers=_users(stage))
    seen = stage.ask("doctor", stage.group, *SOON, "--lag", "1000")
    return Outcome(
        "the same question was asked as a user with all rights",
        f"{WAITING:,} records wait, and that answer ends with {seen.code}",
        {"records wait": WAITING},
    )


def two_owners(stage: Stage) -> Outcome:
    """Ask about a file to which two captures were appended."""
    stage.create(6)
    stage.form(NAMES[:1], strategies("range"))
    file = stage.folder / "group.txt"
    captured = _describe(stage)
    stage.form(NAMES[1:], strategies("range"))
    file.write_text(captured + "\n".join(_describe(stage).splitlines()[2:]) + "\n")
    stage.ask("doctor", file.name, on_cluster=False)
    stage.ask("diff", file.name, on_cluster=False)
    return Outcome(
        "kafka-consumer-groups.sh --describe was appended to one file twice, before and after two joins",
        "four of six partitions have two owners in the file",
        {"partitions have two owners": 4},
    )


def _describe(stage: Stage) -> str:
    """What kafka-consumer-groups.sh prints of the group."""
    tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
    command = ["java", "-cp", f"{jars.fetch(POM)}/*", tool, "--bootstrap-server", stage.servers]
    command += ["--describe", "--group", stage.group]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def empty_group(stage: Stage) -> Outcome:
    """Ask about a group whose members have all left, while records wait."""
    stage.create(6)
    stage.form(NAMES, strategies("range"), KAFKA_PYTHON)
    stage.write(600)
    time.sleep(6)  # longer than auto.commit.interval.ms, so that offsets are committed
    for name in NAMES:
        stage.close(name)
    stage.write(600)
    stage.ask("doctor", stage.group, *SOON)
    return Outcome("nothing", "no member is there, and 600 records wait", {"the group is empty": True})


def unequal_loads(stage: Stage) -> Outcome:
    """Ask two commands about a range group whose last member has 1 partition and the others 4."""
    for name, partitions in {"orders": 4, "payments": 3, "refunds": 3, "returns": 3}.items():
        stage.create(partitions, name)
    stage.form([*NAMES, "pod-3"], strategies("range"))
    owners = stage.settle()
    stage.ask("doctor", stage.group, *SOON)
    stage.ask("diff", stage.live)
    loads = sorted(Counter(owners.values()).values())
    return Outcome("nothing", f"the members have {loads} partitions", {"loads": loads})


# Advice that fits ----------------------------------------------------------------------------------------


def crash_loop(stage: Stage) -> Outcome:
    """Ask while a member is killed and started again and again, and its ghosts keep partitions."""
    stage.create(4)
    stage.form(NAMES, UNIFORM)
    for _ in range(3):
        stage.kill("pod-2")
        stage.start("pod-2", UNIFORM)
        time.sleep(4)
    stage.ask("doctor", stage.group, *SOON)
    listed = len(stage.admin.describe_consumer_groups([stage.group])[stage.group].result().members)
    for member in list(stage.running.values()):
        member.signal("kill")
    return Outcome(
        "nothing: fewer members would not have helped",
        f"the group lists {listed} members of 3 processes",
        {"members without a process": listed - 3},
    )


def frozen_process(stage: Stage) -> Outcome:
    """Ask for the cause after a process stood still for longer than its session."""
    stage.create(6)
    settings = strategies("range") | {"session.timeout.ms": 6000, "heartbeat.interval.ms": 2000}
    stage.form(NAMES, settings)
    stage.running["pod-2"].signal("stop")
    time.sleep(25)
    stage.running["pod-2"].signal("continue")
    stage.settle()
    (stage.folder / "server.log").write_bytes(stage.broker.logs[0].read_bytes())
    stage.ask("why", "server.log", "--group", stage.group, on_cluster=False)
    return Outcome("nothing", "pod-2 stood still for 25 s and was not restarted", {"restarts": 0})


def spread_of_uniform(stage: Stage) -> Outcome:
    """Ask about a KIP-848 group in which a member has a topic nearly alone."""
    for name in ("orders", "payments"):
        stage.create(8, name)
    stage.form(NAMES[:2], UNIFORM)
    stage.ask("doctor", stage.group, *SOON)
    owners = stage.settle()
    most = max(Counter((topic, owner) for (topic, _), owner in owners.items()).values())
    return Outcome("nothing", f"a member has {most} of 8 partitions of a topic", {"most of a topic": most})


def timeouts_of_848(stage: Stage) -> Outcome:
    """Ask about the timeouts of a KIP-848 group, which the broker's configuration has."""
    stage.create(6)
    stage.form(NAMES, UNIFORM)
    stage.ask("doctor", stage.group, *SOON)
    return Outcome(
        "nothing",
        "the broker's group.consumer.session.timeout.ms is 6000",
        {"a broker knows the timeouts": True},
    )


def idle_members(stage: Stage) -> Outcome:
    """Ask about a group of five members and three partitions."""
    stage.create(3)
    names = [f"pod-{number}" for number in range(5)]
    stage.form(names, strategies("range"), AIOKAFKA)
    stage.ask("diff", stage.live)
    idle = len(names) - len(set(stage.settle().values()))
    return Outcome("nothing", f"{idle} members have no partition", {"idle members": idle})


def unread_partitions(stage: Stage) -> Outcome:
    """Ask after a topic grew, before the members know of the new partitions."""
    stage.create(6)
    stage.form(NAMES, strategies("range"))
    stage.ask("snapshot", stage.live, "--out", "before.json")
    stage.grow(10)
    stage.ask("diff", stage.live)
    stage.ask("diff", "before.json", stage.live)
    return Outcome("nothing", "nobody reads four of ten partitions", {"partitions without a reader": 4})


# Monitors ------------------------------------------------------------------------------------------------


class _Watch:
    """`copartition watch` beside the drill."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._file = (stage.folder / "watch.txt").open("w+")
        self._process = subprocess.Popen(
            stage.command("watch", stage.group), stdout=self._file, stderr=subprocess.STDOUT, cwd=stage.folder
        )

    def shows(self, what: str, within_s: float) -> bool:
        """Whether a line with these words comes within so many seconds."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline and self._process.poll() is None:
            if what in self._output():
                return True
            time.sleep(0.2)
        return what in self._output()

    def end(self) -> int | None:
        """End it and keep what it said; its exit code if it had ended by itself."""
        code = self._process.poll()
        self._process.terminate()
        self._process.wait(30)
        self._stage.keep_answer(f"watch {self._stage.group}", 0 if code is None else code, self._output())
        self._file.close()
        return code

    def _output(self) -> str:
        self._file.flush()
        return (self._stage.folder / "watch.txt").read_text()


def outlives(by: Signals, times: int = 4) -> Callable[[Stage], Outcome]:
    """Make the walk in which a broker goes and comes back while `watch` runs."""

    def walk(stage: Stage) -> Outcome:
        stage.create(6)
        stage.form(NAMES, strategies("range"))
        watch = _Watch(stage)
        watch.shows("pod-0", 30)
        for _ in range(times):
            time.sleep(2)
            stage.broker.stop(by=by)
            time.sleep(3)
            stage.broker.start()
        time.sleep(10)
        stage.close("pod-1")
        back = watch.shows("pod-1 left", 60) or watch.shows("leave", 1)
        code = watch.end()
        how = "runs on" if code is None else f"ended with {code}"
        return Outcome(
            f"the broker was stopped by {by.name} and started {times} times, then pod-1 was closed",
            f"watch {how}, and {'shows' if back else 'does not show'} that pod-1 left",
            {"watch ended": code, "watch shows what came after": back},
        )

    return walk


def _lives(_: Any, facts: Any) -> str | None:
    """Find a monitor that says nothing any more; that it ended is a fault of every drill."""
    return None if facts["watch shows what came after"] else "watch does not show what came after"


_LONG = ("--interval", "8s")
"""So much time between two looks that a restart falls between them."""


def _wait_until_connected(command: subprocess.Popen[str], within_s: float = 20) -> None:
    """Wait until a command has a socket, or until so many seconds are over; Python may start slowly."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline and command.poll() is None:
        for file in Path(f"/proc/{command.pid}/fd").iterdir():
            with suppress(OSError):  # the command has closed it since
                if os.readlink(file).startswith("socket:"):  # noqa: PTH115 - no path is behind a socket
                    return
        time.sleep(0.05)


def ask_in_a_restart(stage: Stage) -> Outcome:
    """Restart the broker while a command is under way; then ask through a pipe that ends after a line."""
    stage.create(6)
    stage.form(NAMES, strategies("range"))
    questions = (("doctor", stage.group, *_LONG), ("transactions", *_LONG), ("diff", stage.live))
    for question, after_s in product(questions, (1, 3)):
        command = stage.command(*question)
        asked = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=stage.folder
        )
        _wait_until_connected(asked)
        time.sleep(after_s)
        stage.broker.stop()
        stage.broker.start()
        said, _ = asked.communicate(timeout=600)
        stage.keep_answer(" ".join(question), asked.returncode, said)
    codes = Counter(f"{answer.command.split()[0]} {answer.code}" for answer in stage.answers)
    asked_of_shell = f"{subprocess.list2cmdline(stage.command('diff', stage.live))} | head -1"
    shell = ["bash", "-o", "pipefail", "-c", asked_of_shell]
    run = subprocess.run(shell, capture_output=True, text=True, check=False)
    stage.keep_answer(f"diff {stage.live} | head -1", run.returncode, run.stdout + run.stderr)
    seen = ", ".join(f"{question} {times} times" for question, times in sorted(codes.items()))
    return Outcome(
        "the broker was restarted 1 and 3 seconds after each command had connected",
        f"exit codes: {seen}",
        {"codes": dict(codes)},
    )


def broker_down(stage: Stage) -> Outcome:
    """Ask a cluster whose only broker is down."""
    stage.create(6)
    stage.form(NAMES, strategies("range"))
    stage.broker.stop(by=SIGKILL)
    stage.ask("doctor", stage.group, *SOON)
    stage.ask("diff", stage.live)
    return Outcome("nothing", "the only broker was down", {"brokers": 0})


def static_away(stage: Stage) -> Outcome:
    """Watch a static member that is away for eight seconds."""
    stage.create(6)
    stage.form_static(NAMES, strategies("range"))
    watch = _Watch(stage)
    watch.shows("pod-0", 30)
    time.sleep(3)
    stage.close("pod-1")
    closed = time.monotonic()
    time.sleep(7)
    stage.form_static(["pod-1"], strategies("range"))
    said = stage.running["pod-1"].output()
    away = next(event["t"] for event in said if event["event"] == "assign") - closed
    time.sleep(5)
    watch.end()
    return Outcome(
        "static member pod-1 was closed and started again",
        f"nobody read its partitions for {away:.1f} s",
        {"seconds away": round(away, 1)},
    )


DRILLS = (
    Drill(
        "transactions-without-rights",
        "a transaction is open for too long, and the user has no ACL",
        transactions_of_a_guest,
        (no_ok("a transaction is open for too long"),),
        cluster=SecuredCluster,
    ),
    Drill(
        "doctor-describe-group-only",
        f"{WAITING:,} records wait, and the user may DESCRIBE the group alone",
        doctor_of_a_guest,
        (
            no_ok("records wait"),
            never("nothing lags", "records wait", 0),
            says(r"standstill[^\n]*pod-\d", "which member stands still", 1),
        ),
        cluster=SecuredCluster,
    ),
    Drill(
        "doctor-two-owners",
        "a file in which four partitions have two owners",
        two_owners,
        (
            *(no_ok("partitions have two owners", at) for at in (0, 1)),
            *(says("two owners", "that partitions have two owners", at) for at in (0, 1)),
        ),
    ),
    Drill(
        "doctor-empty-group",
        "a kafka-python range group whose members have left",
        empty_group,
        (
            never("every member has partitions", "there is no member"),
            never("member is stuck|at that member's log", "there is no member"),
        ),
    ),
    Drill(
        "doctor-and-diff",
        "a librdkafka range group of 4 members, a topic of 4 partitions and three of 3",
        unequal_loads,
        (same_balance,),
    ),
    Drill(
        "doctor-crash-loop",
        "a KIP-848 group of 3 in which one member crashed three times in 15 s",
        crash_loop,
        (never("run fewer members", "members that crash are listed until their session ends"),),
        settings="group.consumer.session.timeout.ms=45000\n",
    ),
    Drill(
        "why-frozen-process",
        "the log of a broker whose member stood still for 25 s with a session of 6 s",
        frozen_process,
        (
            never(r"\d+ restarts?, .*", "no process restarted"),
            says("paused|stood still|frozen|garbage|CPU", "that the process may have stood still"),
        ),
        java_options=TOLD,
    ),
    Drill(
        "doctor-spread-uniform",
        "a KIP-848 group of 2 members and two topics of 8 partitions",
        spread_of_uniform,
        (never(r"or group\.protocol=consumer", "the group has it already"),),
    ),
    Drill(
        "doctor-timeouts-848",
        "a KIP-848 group of 3",
        timeouts_of_848,
        (never("no broker tells", "the brokers' configuration has the timeouts"),),
    ),
    Drill(
        "diff-idle-members",
        "an aiokafka range group of 5 members and 3 partitions",
        idle_members,
        (says("idle|without|have none|nothing to (read|do)", "that members are idle", headline=True),),
    ),
    Drill(
        "diff-unread-partitions",
        "a topic that grew from 6 to 10 partitions a moment ago",
        unread_partitions,
        (
            says("nobody|no owner|no reader|unread|without", "that nobody reads some", 1, headline=True),
            says("nobody|no owner|no reader|unread|without", "that nobody reads some", 2, headline=True),
        ),
    ),
    Drill(
        "watch-restarts",
        "a range group of 3, watched while its broker restarts",
        outlives(SIGTERM),
        (_lives,),
        stops_broker=True,
    ),
    Drill(
        "watch-kills",
        "a range group of 3, watched while its broker is killed",
        outlives(SIGKILL),
        (_lives,),
        stops_broker=True,
    ),
    Drill(
        "asked-in-a-restart",
        "a range group of 3, asked about while its broker restarts",
        ask_in_a_restart,
        (),
        stops_broker=True,
    ),
    Drill(
        "broker-down",
        "the only broker is down",
        broker_down,
        (never(r"\d+/\d+ brokers are down", "a person should understand it"),),
        stops_broker=True,
    ),
    Drill(
        "watch-static-away",
        "a group of 3 static members, watched while one is away",
        static_away,
        (figure(r"away at most ([\d.]+) s", "seconds away", most=True),),
    ),
)
