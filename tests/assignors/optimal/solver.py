"""What exact flows are held to: brute force on tiny groups, HiGHS on others."""

import numpy as np
import scipy  # loads its parts when they are used

from tests.assignors.optimal.groups import is_far


def brute_most_kept(topic, holder, subscriptions, low, high):
    """The best of all assignments, by the loads of their members."""
    best = {(0,) * len(subscriptions): 0}
    for of, has in zip(topic.tolist(), holder.tolist(), strict=True):
        readers = [member for member, topics in enumerate(subscriptions) if of in topics]
        if not readers:
            continue
        longer = {}
        for loads, kept in best.items():
            for member in readers:
                more = (*loads[:member], loads[member] + 1, *loads[member + 1 :])
                longer[more] = max(longer.get(more, 0), kept + (member == has))
        best = longer
    fitting = [kept for loads, kept in best.items() if all(low <= load <= high for load in loads)]
    return max(fitting, default=None)


def solved_most_kept(topic, holder, subscriptions, low, high):
    """The same by a linear program over what each member keeps and gets of each topic."""
    pairs = [(member, of) for member, topics in enumerate(subscriptions) for of in sorted(topics)]
    held = np.array([np.count_nonzero((topic == of) & (holder == member)) for member, of in pairs])
    read = sorted({of for _, of in pairs})
    rows = np.arange(len(pairs))
    both = np.concatenate([rows, rows + len(pairs)])  # kept ones, then others

    def sums(of_pair, size):
        return scipy.sparse.coo_array((np.ones(len(both)), (np.tile(of_pair, 2), both)), (size, len(both)))

    loads = sums([member for member, _ in pairs], len(subscriptions)).tocsr()
    totals = sums([read.index(of) for _, of in pairs], len(read))
    solved = scipy.optimize.linprog(
        np.repeat([-1, 0], len(pairs)),
        A_ub=scipy.sparse.coo_array(np.vstack([loads.toarray(), -loads.toarray()])),
        b_ub=np.repeat([high, -low], len(subscriptions)),
        A_eq=totals,
        b_eq=[np.count_nonzero(topic == of) for of in read],
        bounds=[(0, most) for most in held.tolist()] + [(0, None)] * len(pairs),
    )
    return round(-solved.fun) if solved.status == 0 else None


def solved_best(group, *, spread_first=False):
    """The least sum of squares of loads, then moves and squares of shares in one order or the other.

    By a linear program: a load or share is cut into units that cost 1, 3, 5 and so on, so that a sum of them
    costs its square. The least sum of squares of loads is that of the loads of which the greatest is least,
    then the second, ...
    """
    pairs = [
        (row, number)
        for number, topic in enumerate(group.topics)
        for row, member in enumerate(group.members)
        if topic.name in member.topics
    ]
    counts = [topic.partitions for topic in group.topics]
    read = sorted({topic for _, topic in pairs})
    total = sum(counts[topic] for topic in read)
    held = [
        sum(partition.topic == group.topics[topic].name for partition in group.members[row].owned)
        for row, topic in pairs
    ]
    per_move, per_share = (1, total + 1) if spread_first else (total**2 + 1, 1)
    per_load = (total + 1) * (total**2 + 1)
    costs, rows, columns, values = [], [], [], []

    def variable(cost, entries):
        for row, value in entries:
            rows.append(row), columns.append(len(costs)), values.append(value)
        costs.append(cost)

    members = len(group.members)
    for number, (row, topic) in enumerate(pairs):
        for unit in range(counts[topic]):
            saved = per_move if unit < held[number] else 0
            variable(per_share * (2 * unit + 1) - saved, [(row, 1), (members + read.index(topic), 1)])
    for row in range(members):
        for unit in range(total):
            variable(per_load * (2 * unit + 1), [(row, -1)])
    if not costs:
        return 0, 0, 0
    solved = scipy.optimize.linprog(
        costs,
        A_eq=scipy.sparse.coo_array((values, (rows, columns)), (members + len(read), len(costs))),
        b_eq=[0] * members + [counts[topic] for topic in read],
        bounds=(0, 1),
        method="highs-ds",
    )
    loads, rest = divmod(round(solved.fun) + per_move * sum(held), per_load)
    first, second = divmod(rest, max(per_move, per_share))
    return (loads, second, first) if spread_first else (loads, first, second)


def solved_near(group, *, near_first):
    """The least sum of squares of loads, then moves and far partitions in one order or the other."""
    placed = [
        (row, (topic.name, number), member, topic)
        for topic in group.topics
        for number in range(topic.partitions)
        for row, member in enumerate(group.members)
        if topic.name in member.topics
    ]
    partitions = {
        partition: place for place, partition in enumerate(dict.fromkeys(option[1] for option in placed))
    }
    readers = {(option[1], option[0]) for option in placed}
    holder = {
        tuple(partition): row
        for row, member in enumerate(group.members)
        for partition in member.owned
        if (tuple(partition), row) in readers
    }
    total, members = len(partitions), len(group.members)
    unit = total + 1
    move, far = (1, unit) if near_first else (unit, 1)
    costs = [
        move * (holder.get(partition, row) != row) + far * is_far(topic, partition[1], member)
        for row, partition, member, topic in placed
    ]
    entries = [(row, place, 1) for place, (row, *_) in enumerate(placed)]
    entries += [(members + partitions[option[1]], place, 1) for place, option in enumerate(placed)]
    for row in range(members):
        for number in range(total):
            entries.append((row, len(costs), -1))
            costs.append(unit**2 * (2 * number + 1))
    if not costs:
        return 0, 0, 0
    rows, columns, values = zip(*entries, strict=True)
    solved = scipy.optimize.linprog(
        costs,
        A_eq=scipy.sparse.coo_array((values, (rows, columns)), (members + total, len(costs))),
        b_eq=[0] * members + [1] * total,
        bounds=(0, 1),
        method="highs-ds",
    )
    loads, rest = divmod(round(solved.fun), unit**2)
    first, second = divmod(rest, unit)
    return (loads, second, first) if near_first else (loads, first, second)


def random_group(rng, *, members, topics, partitions, equal, fewest=0):
    """Topics, holders (none for every fifth partition) and subscriptions to `fewest` topics or more."""
    members, topics = rng.integers(1, members + 1), rng.integers(max(fewest, 1), topics + 1)
    some = [
        frozenset(rng.choice(topics, rng.integers(fewest, topics + 1), replace=False).tolist())
        for _ in range(1 if equal else members)
    ]
    subscriptions = some * members if equal else some
    topic = rng.integers(0, topics, rng.integers(0, partitions + 1))
    crowd = rng.integers(1, members + 1)
    holder = np.where(rng.random(len(topic)) < 0.2, -1, rng.integers(0, crowd, len(topic)))
    return topic, holder, subscriptions
