"""Describe client libraries: the measured behaviour of each as data, and the draws made from it.

The figures are from `benchmarks/rebalances/facts.md`, measured on a broker with librdkafka 2.16, kafka-python
3.0, aiokafka 0.14 and the Java client 4.3.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assignors.interface import RebalanceProtocol
from copartition.simulation.inputs.durations import (
    LARGEST_EXPONENT,
    LATEST_MS,
    Duration,
    Exponential,
    Uniform,
)

POLL_CHECK_MS = 501.0
"""Interval of a client's check for a late poll, in milliseconds.

The client checks twice a second, and is 1 ms late each time, as measured 40 times in six runs.
"""
WAKES_MS = (1_000.0, POLL_CHECK_MS)
"""Intervals in milliseconds at which two timers check whether a heartbeat is due; see `keeps_beating`.

The first timer runs since the client's start, the second one since its last assignment.
"""


class Polls(NamedTuple):
    """The calls of `poll` that a client needs for the steps of a rebalance while it reads other partitions.

    Each call returns records of the other partitions, and the application works on that batch before the next
    call. The numbers are 0 for a client that takes these steps in the background.

    Attributes:
        to_reconcile: calls after the one that finds a new assignment, until its first callback. In the first
            of these calls the Java client commits.
        after_revoking: calls after the revoke callback, until the client goes on with the assignment.
        to_fetch: calls after the assign callback, until the first record of a new partition.
    """

    to_reconcile: int = 0
    after_revoking: int = 0
    to_fetch: int = 0


_IN_BACKGROUND = Polls()


@dataclass(frozen=True, slots=True)
class ClientBehaviour:
    """The behaviour of one client library in a group; times are milliseconds.

    The default of a field holds for most clients. A value that differs was measured or read in the client's
    source.
    """

    # Bounds, in ms, of how late a member's heartbeats are on average; each member's average is drawn between
    # them.
    late_ms: tuple[float, float]
    # The same bounds under the consumer protocol (KIP-848); None: the client does not speak that protocol.
    consumer_late_ms: tuple[float, float] | None = None
    # True: a rebalance does not move the client's heartbeats. Only a heartbeat that is overdue is sent when
    # the assignment comes. False: heartbeats start again when JoinGroup is answered.
    keeps_beating: bool = False
    # Protocols under which the client rejoins without waiting for `poll`. Under the cooperative protocol it
    # rejoins without a callback before.
    joins_in_background: frozenset[RebalanceProtocol] = frozenset()
    # True: `poll` returns records while the client rejoins. Under the cooperative protocol the client reads
    # the partitions that it has.
    reads_while_joining: bool = True
    # True: callbacks run inside `poll`, so the application reads none of its partitions while one runs.
    calls_back_in_poll: bool = True
    # The client fetches the partitions that it keeps again at the next multiple of this interval since the
    # revoke callback began, in ms. 0: it does so when the callback ends.
    resume_every_ms: float = 0
    polls: Polls = _IN_BACKGROUND  # under the classic protocol
    consumer_polls: Polls = _IN_BACKGROUND  # under the consumer protocol
    # Interval, from its last assignment on, of the check whether the application has polled within
    # `max.poll.interval.ms`; 0: it checks all the time.
    poll_check_ms: float = 0
    # If the application did not poll in time: milliseconds from the next heartbeat to LeaveGroup. None: the
    # client leaves without waiting for a heartbeat.
    leaves_after_beat_ms: float | None = None
    # Milliseconds from the time at which a process that stood still wakes up to its next request.
    recheck_ms: float = 0
    anyone_sees_growth: bool = False  # any member rejoins for new partitions, not only the leader
    # The leader rejoins when replicas of its topics move to other racks, if it has a rack (KIP-881).
    notices_racks: bool = False
    asks_before_assigning: bool = False  # its leader fetches the topics' metadata before it assigns
    # The leader refreshes its metadata when it assigns; the next refresh is `metadata.max.age.ms` later.
    refreshes_as_it_assigns: bool = False
    mixes_protocols: bool = True  # its strategies may be both eager and cooperative
    cooperates: bool = True  # whether it speaks the cooperative protocol (KIP-429)
    # The leader keeps lost members' partitions for `scheduled.rebalance.max.delay.ms` (KIP-415, cooperative).
    keeps_lost: bool = False
    commits: bool = True  # it commits offsets in its group, which the coordinator takes as a sign of life
    # Milliseconds from the end of the first commit interval after an assignment to the first commit. None:
    # commit times run from the start of the process, and an assignment does not move them.
    commit_late_ms: float | None = None
    # True: under the consumer protocol the client leaves after `max.poll.interval.ms` without a poll. False:
    # it falls silent.
    leaves_when_late: bool = True

    def in_background(self, *, eager: bool) -> bool:
        """Return whether members with this client rejoin without waiting for their application.

        Such a member answers a rebalance even while its application works on a batch. All others wait for the
        next `poll`.
        """
        protocol = RebalanceProtocol.EAGER if eager else RebalanceProtocol.COOPERATIVE
        return protocol in self.joins_in_background

    def refusal(self, *, eager: Collection[bool]) -> str | None:
        """Return why this client cannot have a list of strategies, each eager or not; None if it can.

        `eager` has one element for each strategy of the list. The text completes a sentence whose subject is
        the client's name.
        """
        if not (all(eager) or self.cooperates):
            return "knows eager rebalances only"
        if all(eager) or not any(eager) or self.mixes_protocols:
            return None
        return "refuses eager and cooperative strategies in one list"


BEHAVIOURS = {
    "java": ClientBehaviour(
        late_ms=(1.3, 2.4),
        consumer_late_ms=(0.3, 0.5),
        polls=Polls(to_fetch=3),
        consumer_polls=Polls(to_reconcile=2, after_revoking=1, to_fetch=5),
        recheck_ms=100,
        notices_racks=True,
        commit_late_ms=3,
    ),
    "librdkafka": ClientBehaviour(
        late_ms=(2.9, 4.0),
        consumer_late_ms=(0.6, 1.0),
        keeps_beating=True,
        joins_in_background=frozenset({RebalanceProtocol.COOPERATIVE}),
        resume_every_ms=1_000,  # the thread of an idle connection looks at its partitions once a second
        poll_check_ms=POLL_CHECK_MS,
        anyone_sees_growth=True,
        notices_racks=True,
        asks_before_assigning=True,
        mixes_protocols=False,
        leaves_when_late=False,
    ),
    "kafka-python": ClientBehaviour(
        late_ms=(1.2, 1.5),
        reads_while_joining=False,  # `_poll_once` returns nothing if its coordinator is not ready
        leaves_after_beat_ms=15,
        recheck_ms=100,
        refreshes_as_it_assigns=True,
        mixes_protocols=False,
        commit_late_ms=25,
    ),
    "aiokafka": ClientBehaviour(
        late_ms=(0.9, 1.2),
        joins_in_background=frozenset(RebalanceProtocol),
        calls_back_in_poll=False,
        cooperates=False,
    ),
    # Connect uses Java's client, without a poll loop.
    "connect": ClientBehaviour(
        late_ms=(1.3, 2.4), recheck_ms=100, calls_back_in_poll=False, keeps_lost=True, commits=False
    ),
}
"""Clients by name, as in `Consumer.client`."""


def resumed_ms(
    now_ms: float, done_ms: NDArray[np.float64] | float, every_ms: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return the times at which clients read their kept partitions again, after revoke callbacks.

    Args:
        now_ms: when the callbacks begin, in milliseconds.
        done_ms: when the callbacks end, in milliseconds: an array for several clients, or one number.
        every_ms: `ClientBehaviour.resume_every_ms` of each client, in the shape of `done_ms`, or one number.

    Returns:
        Milliseconds, in the shape of `done_ms`.

    >>> resumed_ms(5_000, np.array([5_700.0, 6_000.0, 6_000.0]), np.array([1_000.0, 1_000.0, 0.0])).tolist()
    [6000.0, 7000.0, 6000.0]
    """
    passed = (done_ms - now_ms) // np.maximum(every_ms, 1)
    resumed: NDArray[np.float64] = np.where(
        np.asarray(every_ms) > 0, now_ms + (passed + 1) * every_ms, done_ms
    )
    return resumed


def draw_many(duration: Duration, random: Generator, count: int) -> NDArray[np.float64]:
    """Return `count` lengths of this duration, in milliseconds, each drawn alone and at most `LATEST_MS`.

    The result has shape (count,). It draws from the same distributions as `durations.draw`, in one call for
    all elements. A fixed duration draws nothing, so fixed costs do not change the stream of random numbers.
    """
    if isinstance(duration, int | float):
        return np.full(count, float(duration))
    if isinstance(duration, Uniform):
        lengths = random.uniform(duration.low, duration.high, count)
    elif isinstance(duration, Exponential):
        lengths = random.exponential(duration.mean, count)
    else:
        exponents = math.log(duration.median) + random.standard_normal(count) * duration.sigma
        lengths = np.exp(np.minimum(exponents, LARGEST_EXPONENT))
    return np.minimum(lengths, LATEST_MS)


def draw_work(duration: Duration, random: Generator, polls: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return how long each application works on whole batches, in milliseconds; `polls` has their numbers."""
    work_ms = np.zeros(len(polls))
    for number in range(int(polls.max(initial=0))):
        work_ms += np.where(number < polls, draw_many(duration, random, len(polls)), 0.0)
    return work_ms


def draw_batches(
    duration: Duration, random: Generator, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the length of the present batch of `count` applications at a moment, and the rest of it.

    Both are milliseconds, shape (count,), and at most `LATEST_MS`. A moment falls into a long batch more
    often than into a short one, in proportion to the length. So lengths are drawn from the size-biased
    distribution.
    """
    if isinstance(duration, int | float):
        whole = np.full(count, float(duration))
    elif isinstance(duration, Uniform):
        # The density of a size-biased length grows with the length, so its square is uniformly distributed.
        low, high = duration.low**2, duration.high**2
        whole = np.sqrt(low + random.uniform(0, 1, count) * (high - low))
    elif isinstance(duration, Exponential):
        # The size-biased exponential distribution is a gamma distribution of shape 2 with the same scale.
        whole = random.gamma(2, duration.mean, count)
    else:
        # Size bias adds the variance to the logarithm's mean and does not change the spread.
        sigma = duration.sigma
        length = math.log(duration.median) + sigma**2 + random.standard_normal(count) * sigma
        whole = np.exp(np.minimum(length, LARGEST_EXPONENT))
    whole = np.minimum(whole, LATEST_MS)
    # Any moment within the batch is equally likely, so the rest of the batch is uniformly distributed, too.
    return whole, whole * random.uniform(0, 1, count)
