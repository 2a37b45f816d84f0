"""Write the first line of a diff: one sentence of at most `LONGEST` characters.

The sentence is made of clauses. A clause begins with a small letter and has no full stop. The most
urgent clause comes first, so that the line contains the worst even if nothing else fits.
"""

from collections.abc import Iterator, Sequence

from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.needed import is_even
from copartition.groups.planned_members import COUNTS_GUESSED
from copartition.kit.evidence import Missing
from copartition.kit.words import count, duration, number

LONGEST = 160
"""The most characters of the headline, unless its first clause alone is longer."""


def headline(diff: AssignmentDiff) -> str:
    """Return the answer in one sentence: stops first, then partitions without a reader, then moves."""
    return _sentences(diff)[0]


def left_out(diff: AssignmentDiff) -> list[str]:
    """Return the clauses that did not fit into the headline, each as a sentence."""
    return _sentences(diff)[1:]


def _sentences(diff: AssignmentDiff) -> list[str]:
    """Return the clauses as sentences: the headline, then one for each clause that did not fit into it.

    Returns:
        Sentences with a capital letter and a full stop. The first has at most `LONGEST` characters, unless
        its first clause alone is longer.
    """
    # There is at least one clause, because both functions yield a clause for every diff.
    first, *rest = _of_one_state(diff) if diff.alone else _of_two(diff)
    others = []
    for clause in rest:
        longer = f"{first}; {clause}"
        # The full stop is one more character, therefore "<".
        if len(longer) < LONGEST:
            first = longer
        else:
            others.append(clause)
    return [f"{sentence[0].upper()}{sentence[1:]}." for sentence in (first, *others)]


def _of_one_state(diff: AssignmentDiff) -> Iterator[str]:
    """Yield the clauses about a single state: what nobody reads, whether it is balanced, and who is idle.

    Args:
        diff: the diff, with `alone` set, of which only the side after is judged.
    """
    even, partitions = diff.balance, count(diff.summary.partitions, "partition")
    if even is None:
        if diff.conflicts:
            yield f"{count(len(diff.conflicts), 'partition')} {_has(len(diff.conflicts))} two owners"
        else:
            yield "not balanced: partitions have an owner that does not subscribe to their topic"
        return
    if not even.loads:
        yield f"nobody reads: the group has {partitions} and no member"
        if records := _waiting(diff):
            yield f"{records} there{_if_whole(diff)}"
        return
    idle = sum(not load for load in even.loads)
    without = f"{idle:,} of {count(len(even.loads), 'member')} {_has(idle)} none" if idle else ""
    unread = unread_clause(diff)
    if unread:
        yield unread
    if is_even(even) and idle:
        yield f"balanced, but {without}: no assignment gives every member a partition"
    elif is_even(even):
        more = "" if even.loads[0] == even.loads[-1] else ", and no assignment is more even"
        yield f"balanced: {_loads(even.loads)}{more}"
    else:
        # Partitions without a reader make some loads smaller, and have a clause already. So a difference of 1
        # between loads gets no clause beside that.
        if not unread or max(even.loads) - min(even.loads) > 1:
            yield f"not balanced: {_loads(even.loads)}, and {_from_to(even.best_loads)} are possible"
        if idle:
            yield without


def unread_clause(diff: AssignmentDiff) -> str | None:
    """Return how many partitions have no reader, and how many records wait there; None if all have one."""
    numbers = diff.summary
    if not numbers.unowned:
        return None
    of = f"{numbers.unowned:,} of {count(numbers.partitions, 'partition')} {_has(numbers.unowned)} no reader"
    return (f"{of}, where {records}" if (records := _waiting(diff)) else of) + _if_whole(diff)


def _if_whole(diff: AssignmentDiff) -> str:
    """Return ", if the capture is whole" if partitions may lack a row; else "".

    The clause on partitions without a reader then holds only if no row is missing. Kafka's tool prints no row
    for a partition that has neither a reader nor a commit, and users may also have left out rows.
    """
    rowless = diff.alone and not diff.summary.lag_unowned_exact and COUNTS_GUESSED in diff.assumed
    return ", if the capture is whole" if rowless else ""


def _waiting(diff: AssignmentDiff) -> str | None:
    """Return how many records wait without a reader; None if no record waits, or if that is unknown."""
    numbers = diff.summary
    least = "" if numbers.lag_unowned_exact else "at least "
    if not numbers.lag_unowned:
        return None
    return f"{least}{count(numbers.lag_unowned, 'record')} {'waits' if numbers.lag_unowned == 1 else 'wait'}"


def _has(number: int) -> str:
    """Return "has" for 1, else "have"."""
    return "has" if number == 1 else "have"


def _loads(loads: Sequence[int]) -> str:
    """Return a clause about the loads of all members, in partitions; there must be at least one member."""
    if min(loads) == max(loads):
        return f"every member has {count(loads[0], 'partition')}"
    return f"members have {_from_to(loads)} partitions"


def _from_to(loads: Sequence[int]) -> str:
    """Return the smallest and the largest load as text, such as "2 to 5"; one number if they are equal."""
    most, least = max(loads, default=0), min(loads, default=0)
    return f"{least:,}" if most == least else f"{least:,} to {most:,}"


def _of_two(diff: AssignmentDiff) -> Iterator[str]:
    """Yield the clauses about two states, the most urgent first.

    The clauses are about partitions with two owners, what stops, a new strategy, partitions without a reader,
    moves, and members that came or went. For a diff without changes the last clause says so.
    """
    if diff.conflicts:
        yield f"{count(len(diff.conflicts), 'partition')} {_has(len(diff.conflicts))} two owners on one side"
    planned, stops = diff.after.status == "planned", [*_stops(diff)]
    yield from stops
    if diff.new_strategy:
        yield f"every member has to restart to go from {diff.before.strategy} to {diff.after.strategy}"
    unread = unread_clause(diff)
    if unread:
        yield unread
    # The plan was made with some ids. With other ids it may move partitions, although this one moves none.
    if diff.same and not diff.summary.moved_most:
        yield _sameness(diff, nothing_else=not (stops or diff.new_strategy))
        return
    yield _fates(diff, planned=planned)
    for members, verb in ((diff.summary.members_joined, "joined"), (diff.summary.members_left, "left")):
        if members and not planned:
            yield f"{count(members, 'member')} {verb}"


def _sameness(diff: AssignmentDiff, *, nothing_else: bool) -> str:
    """Return the clause of a diff without changes.

    Args:
        diff: the diff.
        nothing_else: True if nothing stops on the way and the strategy stays.
    """
    kept = count(diff.summary.kept, "partition")
    if diff.before.status == "planned" and diff.after.status == "planned":
        return f"both plans are the same: {kept}"
    if diff.before.status == "planned":
        return f"the group is as the plan says: {kept} {_has(diff.summary.kept)} the planned owners"
    if diff.after.status == "planned":
        return (
            "no partition has another owner in the end"
            if not nothing_else
            else f"nothing would change: {kept} kept"
        )
    return f"nothing changed: {kept} kept"


def _fates(diff: AssignmentDiff, *, planned: bool) -> str:
    """Return the clause about partitions: moved, gained, lost, new, removed.

    Args:
        diff: the diff.
        planned: True if the side after is a plan, so that the clause says what would happen.
    """
    numbers = diff.summary
    least, most = numbers.moved_least, numbers.moved_most
    # If a plan depends on unknown ids, the number of moves is a range.
    moved = f"{least:,} to {most:,}" if least < most else f"{most:,}"
    of = f"{moved} of {count(numbers.partitions, 'partition')}" if most else "no partition"
    # A plan says what would happen, in the present tense.
    verb = "moved" if not planned else "move" if most > 1 else "moves"
    others = [
        f"{number(value)} {words[planned]}"
        for value, words in (
            (numbers.assigned, ("got an owner", "would get an owner")),
            (numbers.unassigned, ("lost the owner", "would lose the owner")),
            (numbers.added, ("new", "new")),
            (numbers.removed, ("removed", "removed")),
        )
        if value
    ]
    return ", ".join([f"{of} {verb}", *others])


def _stops(diff: AssignmentDiff) -> Iterator[str]:
    """Yield the clauses about what is not read for a while on the way to a plan.

    There is no clause if the side after is not a plan. If it is unknown what stops, there is a clause only if
    the user asked for that, by a deploy or another strategy.
    """
    if diff.after.status != "planned":
        return
    if isinstance(diff.stops, Missing):
        if diff.after.deploy or diff.new_strategy:
            yield "unknown: what stops on the way"
        return
    # Only the change as it is planned; what a crash would stop is among the details.
    for stops in diff.stops[:1]:
        if stops.new_partitions:
            new = count(stops.new_partitions, "new partition")
            yield (
                f"{new} {_is_or_are(stops.new_partitions)} first read after "
                f"{stops.new_ms.time}, and auto.offset.reset=latest skips all records before"
            )
        if not stops.stopped:
            return
        seconds = f"{stops.partition_seconds.digits} partition-seconds"
        longest = f"for up to {duration(stops.longest_pause_ms.most)}"
        times = {1: "once", 2: "twice"}.get(int(stops.all_stopped.most), f"{stops.all_stopped.whole} times")
        if stops.rebalances.most == 0:
            whose = count(stops.static_restarts, "static member")
            had = f"what {whose} {_has(stops.static_restarts)}"
            yield f"without a rebalance, {had} waits while each one restarts: {seconds}"
        elif stops.all_stopped.least:
            yield f"the whole group stops reading {times}, {longest}: {seconds}"
        else:
            at_once = f"{stops.stopped_at_once.most:,.0f} of {count(stops.partitions, 'partition')}"
            rebalances = count(int(stops.rebalances.most), "rebalance")
            yield f"up to {at_once} stop at once, {longest}, in {rebalances}: {seconds}"


def _is_or_are(number: int) -> str:
    """Return "is" for 1, else "are"."""
    return "is" if number == 1 else "are"
