"""Small groups with weights, and the least peak there is, by trying everything."""

from itertools import pairwise

import numpy as np

from assignors import Group, Member, Topic, get_assignor
from tests.assignors.optimal.groups import owning


def random_case(rng, *, members=4, partitions=7):
    """A group with owners, and settings: weights of many kinds, capacities in every third case."""
    people, names = int(rng.integers(1, members + 1)), ["a", "b", "c"][: rng.integers(1, 4)]
    cuts = np.sort(rng.integers(0, rng.integers(1, partitions + 1) + 1, len(names) - 1)).tolist()
    counts = [after - before for before, after in pairwise([0, *cuts, max([*cuts, 0]) + 2])]
    everything = [
        (name, number) for name, count in zip(names, counts, strict=True) for number in range(count)
    ]
    owner = rng.integers(-1, people, len(everything)).tolist()
    topics = [rng.permutation(names)[: rng.integers(1, len(names) + 1)].tolist() for _ in range(people)]
    alike = rng.random() < 0.5
    group = Group(
        [Topic(name, count) for name, count in zip(names, counts, strict=True)],
        [
            owning(
                f"m{row}",
                names if alike else topics[row],
                [partition for partition, has in zip(everything, owner, strict=True) if has == row],
            )
            for row in range(people)
        ],
        generation=1,
    )
    draw = [rng.random, lambda size: rng.pareto(1.5, size), lambda size: rng.integers(0, 5, size)]
    weights = dict(zip(everything, draw[rng.integers(3)](len(everything)).tolist(), strict=True))
    capacities = {f"m{row}": float(rng.choice([0.5, 1, 3])) for row in range(people)}
    return group, {"weights": weights, "capacities": capacities if rng.random() < 0.3 else None}


def cases(seed, count, **more):
    """So many random cases."""
    rng = np.random.default_rng(seed)
    return [random_case(rng, **more) for _ in range(count)]


def peaks(group, weights, capacities):
    """The least peak there is with so many moves or fewer, in multiples of the mean."""
    reads = [set(member.topics) for member in group.members]
    room = [(capacities or {}).get(member.id, 1.0) for member in group.members]
    had = {partition: row for row, member in enumerate(group.members) for partition in member.owned}
    read = {
        partition: weight
        for partition, weight in weights.items()
        if any(partition[0] in own for own in reads)
    }
    if not any(read.values()):
        read = dict.fromkeys(read, 1.0)
    fewest = {(0.0,) * len(room): 0}
    for partition, weight in read.items():
        longer = {}
        for loads, moves in fewest.items():
            for row, own in enumerate(reads):
                if partition[0] in own:
                    more = (*loads[:row], loads[row] + weight, *loads[row + 1 :])
                    holder = had.get(partition)
                    moved = moves + (holder not in (None, row) and partition[0] in reads[holder])
                    longer[more] = min(longer.get(more, moved), moved)
        fewest = longer
    exists = {topic.name for topic in group.topics if topic.partitions}
    mean = sum(read.values()) / (
        sum(size for size, own in zip(room, reads, strict=True) if own & exists) or 1.0
    )
    least = [np.inf] * (max(fewest.values()) + 1)
    for loads, moves in fewest.items():
        peak = max(load / size for load, size in zip(loads, room, strict=True)) / (mean or 1.0)
        least[moves] = min(least[moves], peak)
    return np.minimum.accumulate(least).tolist()


def owners(assignment):
    """Who has or will get each partition."""
    return {partition: member for member, has in assignment.items() for partition in has} | dict(
        assignment.transferring
    )


def assign(name, group, **settings):
    return get_assignor(name, **settings).assign(group)


def plain(*counts, members=2):
    """A group of members that read topics t0, t1, ... of so many partitions and have nothing."""
    names = [f"t{number}" for number in range(len(counts))]
    return Group(
        [Topic(name, count) for name, count in zip(names, counts, strict=True)],
        [Member(f"m{number}", names) for number in range(members)],
    )
