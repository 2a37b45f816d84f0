"""Find the rebalances of a group in the logs of its clients, and the causes that their lines name.

This is used if no coordinator's log was read. Then each generation that members joined is a rebalance.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from copartition.why.history import Cause, LoggedRebalance, client_name
from copartition.why.statements import Kind, Line, Statement
from partitioning.kit.packages import read_toml

_JOINS = {Kind.MEMBER_JOINED, Kind.MEMBER_EPOCH}
"""Statements with which a client says that it has reached a generation or an epoch."""


def by_clients(statements: Sequence[Statement]) -> Iterator[LoggedRebalance]:
    """Yield a rebalance for each generation that clients joined.

    The window of a generation is the lines after the last join of the generation before, up to its own last
    join. The causes that these lines name are the causes of its rebalance. If the logs name a cause after the
    last generation, one more rebalance is yielded, without a generation.

    Args:
        statements: the statements of clients about one group, in order of time.
    """
    last: dict[int, int] = {}  # generation -> index of the statement of its last join
    reached: set[tuple[str, int]] = set()
    # Only a client's first join of a generation counts: a line that another logger repeats later would move
    # the end of the window, and causes of the next rebalance would fall into this one.
    for place, statement in enumerate(statements):
        if (
            statement.kind in _JOINS
            and statement.generation is not None
            and (_who(statement), statement.generation) not in reached
        ):
            reached.add((_who(statement), statement.generation))
            last[statement.generation] = place
    here: set[str] = set()
    since = 0
    reached_generation: int | None = None
    order = sorted(last.items(), key=lambda item: item[1])
    ends = [until for _, until in order[1:]] + [len(statements)]
    for (generation, until), next_until in zip(order, ends, strict=False):
        # Joins of other generations are left out, because a second logger may repeat a join that is long
        # past.
        window = [
            statement
            for statement in statements[since : until + 1]
            if statement.kind not in _REACHED or statement.generation in {None, generation}
        ]
        # An assignment may arrive after the next rebalance has begun. So it is looked for up to the last join
        # of the next generation.
        synced = [
            statement.line.at
            for statement in statements[since:next_until]
            if statement.kind is Kind.MEMBER_SYNCED
            and statement.generation == generation
            and statement.line.at is not None
        ]
        # A member that leaves and joins again makes two generations, and joins only the second one. So a
        # missing number is a rebalance of its own, whose cause is the leave.
        skipped = 0 if reached_generation is None else generation - reached_generation - 1
        if skipped > 0 and (back := _back_again(window)):
            yield _made_by(window[:back], here, generation - 1 if skipped == 1 else None)
            window = window[back:]
        made = _made_by(window, here, generation)
        yield replace(made, ended=max(synced, default=None))
        since, reached_generation = until + 1, generation
    # The lines after the last generation may be about a rebalance whose end is not in the logs.
    rest = [statement for statement in statements[since:] if statement.kind not in _REACHED]
    made = _made_by(rest, here, None)
    if made.cause is not Cause.UNKNOWN or any(map(_rejoins, rest)):
        yield replace(made, joined=None)


def _made_by(window: Sequence[Statement], here: set[str], generation: int | None) -> LoggedRebalance:
    """Return the rebalance that made a generation.

    Args:
        window: the statements of clients in the generation's window; at least one if `generation` is given.
        here: names of the clients that are in the group; changed by their joins and leaves.
        generation: the generation; None if no line names it.
    """
    cause, first = _first_cause(window, here)
    follows = next(filter(_rejoins, window), None)
    joins = [join for join in window if join.kind in _JOINS and join.generation == generation]
    line = first or follows or next(iter(joins or window), None)
    timed = [statement for statement in window if statement.line.at is not None]
    began = [statement.line.at for statement in timed if statement.kind in _BEGINS]
    joined = [join.line.at for join in joins if join.line.at is not None]
    # The time that members took to join is known only if a line shows the beginning of the rebalance. With
    # the consumer protocol members do not join first, so there is no such time.
    known = began and joined
    reason = first if first is not None and first.kind not in _JOINS else follows if first is None else None
    return LoggedRebalance(
        generation,
        cause,
        None if first is None or cause is Cause.UNKNOWN else first.client or client_name(first.member),
        (reason and reason.text) or cause.value,
        line.line if line else Line("", 0),
        min((at for at in began or joined if at is not None), default=None),
        max(joined) if known else None,
        assignor=next((join.assignor for join in joins if join.assignor), None),
    )


def _back_again(window: Sequence[Statement]) -> int | None:
    """Return the index in a window at which a client that has left joins again; None if no client does."""
    gone: dict[str, float | None] = {}
    for place, statement in enumerate(window):
        who, at = _who(statement), statement.line.at
        if statement.kind in {Kind.POLL, Kind.LEFT}:
            gone.setdefault(who, at)
        elif statement.kind is Kind.REJOINING and who in gone:
            left = gone[who]
            # A client that leaves also logs that it must rejoin, "consumer pro-actively leaving the group".
            # That line comes at once and has a text, so it is not taken for the return.
            if not statement.text or (at is not None and left is not None and at - left > 1.0):
                return place
    return None


_REACHED = {*_JOINS, Kind.MEMBER_SYNCED}
"""Statements with which a client says that it has reached a generation, or has got its assignment."""
_BEGINS = {Kind.REJOINING, Kind.BEHIND, Kind.LEFT, Kind.POLL, Kind.EXPIRED, Kind.METADATA}
"""Statements of a client with which a rebalance may begin."""


def _who(statement: Statement) -> str:
    """Return the name of the client that made a statement; the name of its file if no line names it."""
    return statement.client or statement.line.file


def _first_cause(window: Sequence[Statement], here: set[str]) -> tuple[Cause, Statement | None]:
    """Return the first cause that clients name, and the statement; UNKNOWN and None if they name none.

    Args:
        window: the statements of clients in a generation's window.
        here: names of the clients that are in the group; changed by their joins and leaves.
    """
    first: tuple[Cause, Statement | None] = (Cause.UNKNOWN, None)
    for statement in window:
        cause = client_cause(statement)
        if statement.kind in _JOINS and _who(statement) not in here:
            # A client that no earlier line shows in the group is new to it, and its join is the cause.
            cause = Cause.JOINED
            here.add(_who(statement))
        elif cause in {Cause.LEFT, Cause.POLL, Cause.EXPIRED}:
            here.discard(_who(statement))
        elif cause is Cause.JOINED:
            cause = None  # the line of its join is counted instead
        elif _rejoins(statement) or (statement.kind is Kind.REVOKING and _HAS_SOME.search(statement.text)):
            # Only a member is told that its group rebalances, or has partitions to give back. So this client
            # was in the group already, even if no line shows that it joined.
            here.add(_who(statement))
        if first[1] is None and cause is not None:
            first = (cause, statement)
    return first


_HAS_SOME = re.compile(r"-\d|partition=\d")
"""Pattern of a partition in a list of partitions, as Java and Python clients print it."""
_FOLLOWS = re.compile(r"is (?:already )?rebalancing|rebalance in|another rebalance")
"""Pattern of the words with which a client says that its group rebalances already."""


def _rejoins(statement: Statement) -> bool:
    """Return whether a client says that it joins again because its group rebalances already."""
    return statement.kind is Kind.REJOINING and follows(statement.text)


def follows(reason: str) -> bool:
    """Return whether the words of a client say that another member caused a rebalance."""
    return _FOLLOWS.search(reason) is not None


_BY_KIND = {
    Kind.POLL: Cause.POLL,
    Kind.EXPIRED: Cause.EXPIRED,
    Kind.METADATA: Cause.TOPICS,
    Kind.BEHIND: Cause.BEHIND,
}
_CLIENT_REASONS = [
    (re.compile(row["pattern"]), Cause[row["cause"].upper()])
    for row in read_toml(__package__, "reasons.toml")["client"]
]
"""Patterns of clients' words, tried in order, each with the cause that the words name."""


def client_cause(statement: Statement) -> Cause | None:
    """Return the cause that a client's line names; None if it only follows the group."""
    if statement.kind in _BY_KIND:
        return _BY_KIND[statement.kind]
    if statement.kind not in {Kind.LEFT, Kind.REJOINING}:
        return None
    # A client that leaves causes a rebalance, whatever its reason is. A client that joins again may only
    # follow a rebalance of other members, so it counts as a cause only if its reason names one.
    named = next((cause for pattern, cause in _CLIENT_REASONS if pattern.search(statement.text)), None)
    return named if statement.kind is Kind.REJOINING else named or Cause.LEFT
