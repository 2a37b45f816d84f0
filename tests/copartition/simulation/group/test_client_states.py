"""The tables of the clients' states have the moves that runs make, and these are moves of Kafka's client."""

import pytest

from assignors.group import Topic
from copartition.simulation import (
    Consumer,
    Costs,
    Exponential,
    Failover,
    Grow,
    Join,
    Restart,
    Scenario,
    Settings,
    SlowNetwork,
    SlowPoll,
    Stall,
    Uniform,
    simulate,
)
from copartition.simulation.group.classic_client import ClassicClient
from copartition.simulation.group.client import Client
from copartition.simulation.group.client_states import ClassicClientState, ClientEvent, ConsumerClientState
from copartition.simulation.group.consumer_client import ConsumerClient
from copartition.simulation.group.leader import Decisions
from copartition.simulation.run import Run
from partitioning.errors import ScenarioError

PREVIOUS = {
    "JOINING": {"FENCED", "UNSUBSCRIBED", "STALE"},
    "RECONCILING": {"STABLE", "JOINING", "ACKNOWLEDGING", "RECONCILING"},
    "ACKNOWLEDGING": {"RECONCILING"},
    "STABLE": {"JOINING", "ACKNOWLEDGING", "RECONCILING"},
    "FENCED": {"JOINING", "STABLE", "RECONCILING", "ACKNOWLEDGING", "PREPARE_LEAVING", "LEAVING"},
    "PREPARE_LEAVING": {"JOINING", "STABLE", "RECONCILING", "ACKNOWLEDGING", "UNSUBSCRIBED"},
    "LEAVING": {"PREPARE_LEAVING"},
    "FATAL": {
        *("JOINING", "STABLE", "RECONCILING", "ACKNOWLEDGING"),
        *("PREPARE_LEAVING", "LEAVING", "UNSUBSCRIBED"),
    },
    "STALE": {"LEAVING"},
}
"""`MemberState.getPreviousValidStates` of kafka-clients 4.4.0, as that class prints it."""
AT_ONCE = {"PREPARE_LEAVING", "LEAVING"}
"""States that the model leaves out: a client whose application is late passes them at one moment."""

SHORT = Settings(
    session_timeout_ms=6_000,
    heartbeat_interval_ms=2_000,
    max_poll_interval_ms=20_000,
    group_consumer_session_timeout_ms=6_000,
    group_consumer_heartbeat_interval_ms=2_000,
    group_consumer_assignment_interval_ms=0,
)
"""Sessions, and times until an application must poll, that end during callbacks and assignments of `SLOW`."""
SLOW = Costs(poll_ms=20_000, revoke_ms=4_000, assignor_ms=3_000, network_ms=200)


def group(consumers, events, **more):
    """Return a scenario of a group that has been quiet for an hour."""
    return Scenario((Topic("orders", 5),), consumers, events, "uniform", settled_ms=3_600_000, **more)


SCENARIOS = (
    group(
        (
            Consumer("c0", client="aiokafka", assignors=("sticky",)),
            Consumer("c1", client="librdkafka", assignors=("uniform",)),
        ),
        (
            Grow(0, "orders", 7),
            Join(9_000, Consumer("c2", client="librdkafka", assignors=("cooperative-sticky",))),
            Stall(9_001, "c1", 20),
            Stall(9_301, "c0", 20),
            Join(9_302, Consumer("c3", assignors=("uniform",))),
            SlowPoll(9_602, "c0", 400_000),
            Join(12_102, Consumer("c4", assignors=("uniform",))),
            Join(15_102, Consumer("c5", static=True, client="librdkafka", assignors=("uniform",))),
            Stall(15_102, "c3", 1_000),
        ),
        settings=Settings(max_poll_interval_ms=30_000),
        seed=6,
        costs=Costs(poll_ms=Exponential(9_000), revoke_ms=5_000, assign_ms=7_000, network_ms=5),
    ),
    group(
        (
            Consumer("c0", client="librdkafka", assignors=("broker-range",)),
            Consumer("c1", static=True, client="librdkafka", assignors=("cooperative-sticky",)),
            Consumer("c2", static=True, assignors=("uniform",)),
            Consumer("c3", client="librdkafka", assignors=("cooperative-sticky",)),
        ),
        (
            Restart(2_800, "c1", 0),
            Join(11_800, Consumer("c4", static=True, assignors=("uniform",))),
            Join(11_800, Consumer("c5", assignors=("uniform",))),
            Stall(16_800, "c4", 90_000),
            SlowPoll(63_800, "c3", 25_000),
        ),
        settings=SHORT,
        seed=6,
        costs=SLOW,
    ),
    group(
        (
            Consumer("c0", static=True, assignors=("uniform",)),
            Consumer("c1", static=True, assignors=("uniform",)),
            Consumer("c2", static=True, assignors=("broker-range",)),
            Consumer("c3", static=True, assignors=("sticky",)),
        ),
        (Join(49_000, Consumer("c4", static=True, assignors=("uniform",))),),
        settings=SHORT,
        seed=2,
        costs=Costs(poll_ms=Exponential(30_000), revoke_ms=4_000, network_ms=200),
    ),
    group(
        (Consumer("c0", assignors=("broker-range",)), Consumer("c1", assignors=("cooperative-sticky",))),
        (
            SlowPoll(20, "c0", 400_000),
            Join(38_540, Consumer("c2", assignors=("uniform",))),
            Stall(40_540, "c1", 90_000),
        ),
        settings=Settings(max_poll_interval_ms=30_000),
        seed=4,
        costs=Costs(poll_ms=Exponential(9_000), revoke_ms=5_000, assign_ms=7_000, network_ms=5),
    ),
    group(
        (
            Consumer("c0", client="librdkafka", assignors=("broker-range",)),
            Consumer("c1", static=True, assignors=("cooperative-sticky", "range")),
        ),
        (
            SlowNetwork(5_000, "c0", 20_000, 5_000),
            Join(14_000, Consumer("c2", assignors=("cooperative-sticky", "range"))),
            Join(15_000, Consumer("c3", static=True, assignors=("broker-range",))),
        ),
        settings=SHORT,
        seed=81,
        costs=SLOW,
    ),
    group(
        (Consumer("c1", static=True, assignors=("broker-range",)),),
        (
            Restart(21_800, "c1", 0),
            Join(70_820, Consumer("c2", assignors=("uniform",))),
            Stall(73_321, "c2", 50_000),
        ),
        costs=SLOW,
    ),
    group(
        (Consumer("c0", assignors=("broker-range",)),),
        (Failover(3_000, 40_000), Stall(3_300, "c0", 3_000), Stall(12_300, "c0", 90_000)),
        settings=SHORT,
        costs=Costs(network_ms=5),
    ),
    group(
        (
            Consumer("c0", assignors=("broker-range",)),
            Consumer("c1", static=True, client="librdkafka", assignors=("cooperative-sticky",)),
        ),
        (Stall(300, "c1", 9_000), Stall(31_300, "c1", 50_000)),
        settings=SHORT,
        costs=Costs(revoke_ms=2_000, network_ms=3_000),
    ),
    group(
        (Consumer("c0", client="librdkafka", assignors=("uniform",)),),
        (
            Join(49_000, Consumer("c2", client="librdkafka", assignors=("cooperative-sticky",))),
            Stall(51_500, "c2", 50_000),
        ),
        costs=SLOW,
    ),
    group(
        (Consumer("c0", static=True, assignors=("uniform",)),),
        (
            Failover(300, 5_000),
            Join(3_300, Consumer("c1", assignors=("cooperative-sticky",))),
            Stall(5_300, "c1", 20),
        ),
        costs=Costs(poll_ms=Uniform(0, 3_000), revoke_ms=Uniform(0, 9_000), assign_ms=500, network_ms=40),
    ),
    group(
        (Consumer("c0", client="librdkafka", assignors=("broker-range",)),),
        (Join(1_001, Consumer("c1", static=True, assignors=("range",))), Stall(2_001, "c1", 3_000)),
        costs=SLOW,
    ),
    group(
        (
            Consumer("c0", static=True, assignors=("cooperative-sticky",)),
            Consumer("c1", client="librdkafka", assignors=("uniform",)),
            Consumer("c2", static=True, client="librdkafka", assignors=("uniform",)),
            Consumer("c3", assignors=("broker-range",)),
        ),
        (Restart(11_300, "c1", 3_000), Stall(17_300, "c2", 90_000)),
        costs=Costs(poll_ms=Uniform(0, 3_000), revoke_ms=Uniform(0, 9_000), assign_ms=500, network_ms=40),
    ),
    group(
        (
            Consumer("c0", assignors=("sticky",)),
            Consumer("c1", assignors=("broker-range",)),
            Consumer("c2", client="librdkafka", assignors=("uniform",)),
            Consumer("c3", client="librdkafka", assignors=("broker-range",)),
        ),
        (Restart(300, "c1", 20_000), Failover(49_300, 5_000), SlowPoll(80_320, "c2", 90_000)),
        settings=Settings(max_poll_interval_ms=30_000),
        seed=53,
        costs=Costs(poll_ms=Exponential(30_000), revoke_ms=4_000, network_ms=200),
    ),
    group(
        (
            Consumer("c0", static=True, client="librdkafka", assignors=("cooperative-sticky",)),
            Consumer("c1", client="librdkafka", assignors=("uniform",)),
        ),
        (Restart(16_500, "c1", 0), Stall(20_801, "c0", 1_000)),
        seed=99,
        costs=Costs(poll_ms=Exponential(30_000), revoke_ms=4_000, network_ms=200),
    ),
    group(
        (),
        (Join(31_000, Consumer("c3", assignors=("uniform",))), Stall(36_300, "c3", 20)),
        costs=Costs(revoke_ms=2_000, network_ms=3_000),
    ),
    group(
        (Consumer("c0", client="librdkafka", assignors=("sticky",)),),
        (
            Join(9_000, Consumer("c1", assignors=("broker-range",))),
            Failover(14_020, 40_000),
            Stall(14_320, "c0", 9_000),
        ),
        settings=Settings(max_poll_interval_ms=30_000),
        costs=Costs(poll_ms=Uniform(0, 3_000), revoke_ms=Uniform(0, 9_000), assign_ms=500, network_ms=40),
    ),
    group(
        (Consumer("c0"), Consumer("c1")),
        (Join(1_000, Consumer("c2")), SlowPoll(20_000, "c0", 18_000)),
        settings=Settings(max_poll_interval_ms=20_000),
        costs=Costs(revoke_ms=25_000),
        until_ms=50_000,
    ),
    group(
        (Consumer("c0", static=True, assignors=("cooperative-sticky",)), Consumer("c1")),
        (SlowPoll(10_000, "c0", 400_000), SlowPoll(330_000, "c0", 60_000)),
    ),
    group(
        (Consumer("c0", assignors=("sticky",)), Consumer("c1", assignors=("sticky",)), Consumer("c2")),
        (Join(500, Consumer("c3")), SlowPoll(6_000, "c0", 4_000), SlowPoll(6_000, "c1", 4_000)),
        costs=Costs(revoke_ms=2_000, assign_ms=1_000, network_ms=300),
    ),
)
"""Drawn from random ones until each row was taken, then made smaller as long as they take the same rows."""
BY_CHANCE = "it needs a second request on its way at the moment of the first's answer"
UNREACHED = {
    (ConsumerClientState.JOINING, ClientEvent.FENCED): "it is dropped before it has the answer to its join",
    (ConsumerClientState.JOINING, ClientEvent.OVERDUE): "the answer takes longer than max.poll.interval.ms",
    (ConsumerClientState.STALE, ClientEvent.FENCED): "an answer comes at the very time of the late poll",
    (ClassicClientState.UNJOINED, ClientEvent.FENCED): BY_CHANCE,
    (ClassicClientState.UNJOINED, ClientEvent.UNCHANGED): BY_CHANCE,
    (ClassicClientState.PREPARING_REBALANCE, ClientEvent.UNCHANGED): BY_CHANCE,
    (ClassicClientState.COMPLETING_REBALANCE, ClientEvent.FENCED): BY_CHANCE,
    (ConsumerClientState.JOINING, ClientEvent.BUSY): "a batch begins while a static member joins again",
    **{
        (state, ClientEvent.FENCED_BUSY): "its batch begins between a request and the answer that fences it"
        for state in (
            *(ConsumerClientState.JOINING, ConsumerClientState.RECONCILING),
            *(state for state in ClassicClientState if state is not ClassicClientState.UNJOINED),
        )
    },
    (ConsumerClientState.FENCED, ClientEvent.FENCED_BUSY): BY_CHANCE,
    **dict.fromkeys(
        (
            (ClassicClientState.UNJOINED, event)
            for event in (
                *(ClientEvent.JOINED, ClientEvent.SYNCED, ClientEvent.ASSIGNED),
                *(ClientEvent.UNASSIGNED, ClientEvent.REFUSED),
            )
        ),
        "a static member joins while its coordinator is down for longer than max.poll.interval.ms",
    ),
}
"""The rows that no scenario here takes, each with what would take it."""


@pytest.fixture(scope="module")
def rows_taken():
    """The rows that the scenarios take, and the states that they lead to."""
    rows = set()
    on = Client._on

    def watch(client, event):
        rows.add((client.state, event))
        on(client, event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Client, "_on", watch)
        for scenario in SCENARIOS:
            simulate(scenario)
    return rows


@pytest.mark.heavy
@pytest.mark.parametrize("client", [ConsumerClient, ClassicClient])
def test_each_row_of_a_table_is_taken_by_a_run_or_said_to_be_out_of_reach(client, rows_taken):
    missing = {(state, event) for state, event in client.MOVES if (state, event) not in rows_taken}
    assert missing == {row for row in UNREACHED if row in client.MOVES}


def test_a_row_that_is_out_of_reach_is_one_of_a_table():
    assert UNREACHED.keys() <= ConsumerClient.MOVES.keys() | ClassicClient.MOVES.keys()


@pytest.mark.parametrize(
    ("state", "event", "to"),
    [
        (state.name, event.name, move.to.name)
        for (state, event), move in ConsumerClient.MOVES.items()
        if move.to is not state and event is not ClientEvent.FOUND  # Kafka's client knows no time 0
    ],
)
def test_a_move_is_one_of_kafkas_client(state, event, to):
    before = set(PREVIOUS[to])
    while passed := before & AT_ONCE:
        before = before - passed | set().union(*(PREVIOUS[earlier] for earlier in passed))
    assert state in before


@pytest.mark.parametrize("client", [ConsumerClient, ClassicClient])
def test_every_state_but_the_first_is_led_to_and_every_event_has_a_row(client):
    assert {move.to for move in client.MOVES.values()} | {client.first_state} == set(type(client.first_state))
    assert {event for table in (ConsumerClient, ClassicClient) for _, event in table.MOVES} == set(
        ClientEvent
    )


def test_an_event_that_a_state_has_no_row_for_ends_the_run_with_an_error():
    scenario = group((Consumer("a"),), ())
    [client] = Run(scenario, Decisions(shared=False)).engine._clients.values()
    with pytest.raises(KeyError, match=r"STABLE.*SENT"):
        client._on(ClientEvent.SENT)


def test_members_of_the_classic_protocol_need_a_strategy_in_common_at_the_start():
    strategies = (("uniform",), ("range",), ("sticky",))
    consumers = tuple(Consumer(f"c{number}", assignors=names) for number, names in enumerate(strategies))
    with pytest.raises(ScenarioError, match="no assignor in common"):
        simulate(group(consumers, ()))
