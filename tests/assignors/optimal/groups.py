"""Small groups with owners, and what is best for them, by trying everything."""

from collections import Counter
from dataclasses import replace

import numpy as np

from assignors import Group, Member, PartitionList, StickyUserData, Topic
from tests.support.tiers import examples

NAMES = ("optimal", "cooperative-optimal")


def random_group(rng, *, members=4, topics=4, least=0, most=3):
    """A group of which every third one has equal subscriptions; partitions may have owners that left."""
    people, counts = rng.integers(1, members + 1), rng.integers(least, most + 1, rng.integers(1, topics + 1))
    names = [f"t{number}" for number in range(len(counts))]
    some = [
        tuple(rng.permutation(names)[: rng.integers(0, len(names) + 1)].tolist())
        for _ in range(people if rng.random() < 0.7 else 1)
    ]
    owner = {
        (name, number): int(rng.integers(-1, people))
        for name, count in zip(names, counts.tolist(), strict=True)
        for number in range(count)
    }
    return Group(
        [Topic(name, count) for name, count in zip(names, counts.tolist(), strict=True)],
        [
            owning(
                f"m{row}",
                some[row % len(some)],
                [partition for partition, has in owner.items() if has == row],
            )
            for row in range(people)
        ],
        generation=1,
    )


def with_racks(group, rng, racks=3):
    """The same group in so many racks; some members and partitions are in none that is known."""
    names = [f"r{number}" for number in range(racks)]

    def replicas():
        return tuple(rng.permutation(names)[: rng.integers(0, racks)].tolist())

    return replace(
        group,
        topics=[
            replace(topic, racks=[replicas() for _ in range(topic.partitions)]) for topic in group.topics
        ],
        members=[
            replace(member, rack=names[rng.integers(racks)] if rng.random() < 0.85 else None)
            for member in group.members
        ],
    )


def owning(member, topics, partitions, generation=1, **more):
    """A member that has these partitions, whatever the protocol."""
    had = PartitionList.of(partitions)
    return Member(
        member, topics, owned=had, generation=generation, user_data=StickyUserData(had, generation), **more
    )


def best(group, *, spread_first=False):
    """What is best: loads, greatest first, then moves, then the sum of squares of shares, or these before."""
    members = range(len(group.members))
    fewest = {(0,) * len(members): (0, 0)}
    for topic in group.topics:
        readers = [row for row in members if topic.name in group.members[row].topics]
        held = [len(had(group.members[row], topic)) for row in members]
        longer = {}
        for loads, (first, second) in fewest.items():
            for shares in splits(topic.partitions, len(readers)):
                share = dict(zip(readers, shares, strict=True))
                more = tuple(load + share.get(row, 0) for row, load in enumerate(loads))
                costs = (
                    sum(max(held[row] - share[row], 0) for row in readers),
                    sum(amount**2 for amount in shares),
                )
                if spread_first:
                    costs = costs[::-1]
                cost = first + costs[0], second + costs[1]
                longer[more] = min(longer.get(more, cost), cost)
        fewest = longer or fewest
    loads, costs = min((sorted(loads, reverse=True), costs) for loads, costs in fewest.items())
    return loads, *(costs[::-1] if spread_first else costs)


def best_near(group, *, near_first):
    """What is best with racks: loads, greatest first, then moves, then far partitions, or these before."""
    members = group.members
    cheapest = {(0,) * len(members): (0, 0)}
    for topic in group.topics:
        readers = [row for row, member in enumerate(members) if topic.name in member.topics]
        for number in range(topic.partitions if readers else 0):
            holder = [row for row in readers if (topic.name, number) in members[row].owned]
            longer = {}
            for loads, (first, second) in cheapest.items():
                for row in readers:
                    costs = (bool(holder) and row not in holder), is_far(topic, number, members[row])
                    if near_first:
                        costs = costs[::-1]
                    more = (*loads[:row], loads[row] + 1, *loads[row + 1 :])
                    cost = first + costs[0], second + costs[1]
                    longer[more] = min(longer.get(more, cost), cost)
            cheapest = longer
    loads, costs = min((sorted(loads, reverse=True), costs) for loads, costs in cheapest.items())
    return loads, *(costs[::-1] if near_first else costs)


def is_far(topic, number, member):
    return bool(topic.racks[number] and member.rack) and member.rack not in topic.racks[number]


def found_near(group, assignment):
    """The same of an answer; what is held back counts as given."""
    given = {partition: member for member, partitions in assignment.items() for partition in partitions}
    topics = {topic.name: topic for topic in group.topics}
    members = {member.id: member for member in group.members}
    far = sum(
        is_far(topics[name], number, members[member])
        for (name, number), member in (given | assignment.transferring).items()
    )
    return *figures(group, assignment)[:2], far


def had(member, topic):
    return [
        partition
        for partition in member.owned
        if partition.topic == topic.name and partition.partition < topic.partitions
    ]


def splits(total, shares):
    """All ways to split a number into so many."""
    if not shares:
        return
    if shares == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for others in splits(total - first, shares - 1):
            yield (first, *others)


def figures(group, assignment):
    """The same of an answer; what is held back counts as given."""
    given = {partition: member for member, partitions in assignment.items() for partition in partitions}
    given |= assignment.transferring
    reads = {member.id: set(member.topics) for member in group.members}
    names = set().union(*reads.values())
    read = {topic.name: topic.partitions for topic in group.topics if topic.name in names}
    assert sorted(given) == sorted((name, number) for name, count in read.items() for number in range(count))
    assert all(partition.topic in reads[member] for partition, member in given.items())
    loads = Counter(given.values())
    moves = sum(
        partition.topic in reads[member.id] and given.get(partition) != member.id
        for member in group.members
        for partition in member.owned
        if partition in given
    )
    squares = sum(
        amount**2
        for amount in Counter((partition.topic, member) for partition, member in given.items()).values()
    )
    return sorted((loads[member.id] for member in group.members), reverse=True), moves, squares


def groups(seed, count, **more):
    """Random groups: `count` of them in CI, fewer in the other tiers."""
    rng = np.random.default_rng(seed)
    return [random_group(rng, **more) for _ in range(examples(count))]
