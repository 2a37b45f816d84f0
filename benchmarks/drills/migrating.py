"""Drills of `copartition migrate`: does the way that it names lead there, and is there a milder one?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.consumers.clients import JAVA, LIBRDKAFKA, Client
from benchmarks.drills.drill import Drill, Outcome
from benchmarks.drills.judging import never, no_ok, no_stop, says
from benchmarks.drills.stage import UNIFORM, OldCluster, strategies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.drills.judging import Answer, Facts
    from benchmarks.drills.stage import Settings, Stage

NAMES = ("pod-0", "pod-1", "pod-2")
TIMEOUTS: Settings = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 3000}


def old_cluster(stage: Stage) -> Outcome:
    """Ask for the consumer protocol where no broker speaks it."""
    stage.create(6)
    stage.form(NAMES, strategies("range"), JAVA)
    stage.ask("migrate", stage.live, "uniform")
    fault = stage.stop_and_start(UNIFORM, JAVA)
    for member in stage.running.values():
        member.signal("kill")
    stage.running.clear()
    stage.form(NAMES, strategies("range"), JAVA)
    return Outcome(
        "all members were stopped and started with group.protocol=consumer, then with range again",
        f"with group.protocol=consumer: {fault or 'all lived'}; with range all lived",
        {"no member starts with group.protocol=consumer": fault is not None},
    )


def roll_to_uniform(strategy: str) -> Callable[[Stage], Outcome]:
    """Make the walk of a librdkafka group from this strategy to uniform, in a rolling bounce first."""

    def walk(stage: Stage) -> Outcome:
        stage.create(6)
        stage.form(NAMES, strategies(strategy), LIBRDKAFKA)
        stage.ask("migrate", stage.live, "uniform")
        stage.ask("diff", stage.live, "plan:uniform")
        fault = stage.roll(UNIFORM, LIBRDKAFKA)
        stopped = stage.stop_and_start(UNIFORM, LIBRDKAFKA) if fault else None
        became = f"the rolling bounce: {fault or 'all lived and shared all partitions'}"
        if fault:
            became += f"; the stop and start: {stopped or 'all lived and shared all partitions'}"
        return Outcome(
            "the members were restarted one after the other with group.protocol=consumer"
            + (", then all were stopped and started" if fault else ""),
            became,
            {"a rolling bounce works": fault is None, "a rolling bounce fails": fault is not None},
        )

    return walk


def after_bounce_1(stage: Stage) -> Outcome:
    """Ask in the middle of a migration, when an eager strategy is still in every list."""
    stage.create(6)
    stage.form(NAMES, strategies("cooperative-sticky", "range"), JAVA)
    stage.ask("migrate", stage.live, "cooperative-sticky")
    stage.ask("diff", stage.live, "plan:current", "--deploy", "rolling")
    before = len(stage.revocations("pod-2"))
    fault = stage.roll(strategies("cooperative-sticky", "range"), JAVA)
    given_up = stage.revocations("pod-2")[before:]
    whole = sum(len(partitions) >= 2 for partitions in given_up)
    second = stage.roll(strategies("cooperative-sticky"), JAVA)
    return Outcome(
        "a rolling deploy with the same list, then the second bounce to cooperative-sticky alone",
        f"in the deploy pod-2 gave up all its partitions {whole} times ({fault or 'all lived'}); "
        f"the second bounce: {second or 'all lived'}",
        {"every rebalance revoked everything": whole > 1},
    )


def half_converted(stage: Stage) -> Outcome:
    """Ask when one of three members has come over to the consumer protocol."""
    stage.create(6)
    stage.form(NAMES, strategies("range"), JAVA)
    stage.close("pod-0")
    stage.start("pod-0", UNIFORM, JAVA)
    stage.settle()
    stage.ask("migrate", stage.live, "uniform")
    for name in NAMES[1:]:
        stage.close(name)
        stage.start(name, UNIFORM, JAVA)
        stage.settle()
    return Outcome(
        "the two members that were still classic were restarted with group.protocol=consumer",
        "all lived; only then the group had no classic member",
        {"two of three members are classic": True},
    )


def default_list(stage: Stage) -> Outcome:
    """Ask for the way from Java's default list, which has the cooperative strategy already."""
    stage.create(6)
    stage.form(NAMES, {}, JAVA)
    stage.ask("migrate", "range,cooperative-sticky", "cooperative-sticky", on_cluster=False)
    stage.ask("migrate", stage.live, "cooperative-sticky")
    fault = stage.roll(strategies("cooperative-sticky"), JAVA)
    return Outcome(
        "one rolling bounce from the default list to cooperative-sticky",
        fault or "all lived and shared all partitions after every restart",
        {"one bounce is enough": fault is None},
    )


def with_timeouts(client: Client) -> Callable[[Stage], Outcome]:
    """Make the walk of a group whose members have timeouts in their configuration."""

    def walk(stage: Stage) -> Outcome:
        stage.create(6)
        own = strategies("range") | TIMEOUTS
        stage.form(NAMES, own, client)
        answer = stage.ask("migrate", stage.live, "uniform")
        kept = {name: value for name, value in own.items() if name not in answer.said}
        stage.close("pod-0")
        fault = stage.attempt(["pod-0"], kept | UNIFORM, client)
        return Outcome(
            "a member was restarted as the step says; settings that the step does not name were kept",
            f"kept {', '.join(name for name in kept if name in TIMEOUTS) or 'no timeout'}; "
            + (fault or "all lived and shared all partitions"),
            {"the member does not start": fault},
        )

    return walk


def _starts(_: Sequence[Answer], facts: Facts) -> str | None:
    """Find a step with which a member does not start."""
    fault = facts["the member does not start"]
    return f"a member that follows the step does not start: {fault}" if fault else None


DRILLS = (
    Drill(
        "migrate-old-cluster",
        "a Java range group of 3 on a cluster whose group.version is 0",
        old_cluster,
        (
            no_stop("no member starts with group.protocol=consumer"),
            no_ok("no member starts with group.protocol=consumer"),
            says("upgrade|group.version", "that the brokers must be upgraded first"),
        ),
        cluster=OldCluster,
    ),
    Drill(
        "migrate-librdkafka-range",
        "a librdkafka range group of 3 in its third generation or later, which reads one topic",
        roll_to_uniform("range"),
        (
            no_stop("a rolling bounce works"),
            no_ok("a rolling bounce fails"),
            never("co-partitioned reading (of .*)?ends", "the group reads one topic"),
        ),
    ),
    Drill(
        "migrate-librdkafka-cooperative",
        "a librdkafka cooperative-sticky group of 3 in its third generation or later",
        roll_to_uniform("cooperative-sticky"),
        (no_stop("a rolling bounce works"), no_ok("a rolling bounce fails")),
    ),
    Drill(
        "migrate-after-bounce-1",
        "a Java group of 3 after the first bounce: every list is [cooperative-sticky, range]",
        after_bounce_1,
        (
            never("nothing has to change", "an eager strategy is still in every list", 0),
            never(r"\(cooperative\)", "every rebalance of the deploy revoked everything", 1),
        ),
    ),
    Drill(
        "migrate-half-converted",
        "a KIP-848 group of 3 in which two members are still classic",
        half_converted,
        (never("nothing has to change", "two of three members are classic"),),
    ),
    Drill(
        "migrate-default-list",
        "a Java group of 3 with the default list [range, cooperative-sticky]",
        default_list,
        (never(r"(?s)2 rolling bounces(?!.*fewer)", "one bounce is enough"),),
    ),
    *(
        Drill(
            f"migrate-timeouts-{client.name}",
            f"a {client.name} range group of 3 whose configuration has session.timeout.ms",
            with_timeouts(client),
            (_starts, no_stop("the member does not start")),
        )
        for client in (JAVA, LIBRDKAFKA)
    ),
)
