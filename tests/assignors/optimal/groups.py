"""Small groups with owners, and what is best for them, by trying everything."""

from collections import Counter

import numpy as np

from assignors import Group, Member, PartitionList, StickyUserData, Topic

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
            owning(f"m{row}", some[row % len(some)], [each for each, has in owner.items() if has == row])
            for row in range(people)
        ],
        generation=1,
    )


def owning(member, topics, partitions, generation=1, **more):
    """A member that has these partitions, whatever the protocol."""
    had = PartitionList.of(partitions)
    return Member(
        member,
        topics,
        owned=had,
        generation=generation,
        user_data=StickyUserData(had, generation),
        **more,
    )


def best(group):
    """What is best: loads, greatest first, then moves, then the sum of squares of shares of topics."""
    members = range(len(group.members))
    fewest = {(0,) * len(members): (0, 0)}
    for topic in group.topics:
        readers = [row for row in members if topic.name in group.members[row].topics]
        held = [len(had(group.members[row], topic)) for row in members]
        longer = {}
        for loads, (moves, squares) in fewest.items():
            for shares in splits(topic.partitions, len(readers)):
                share = dict(zip(readers, shares, strict=True))
                more = tuple(load + share.get(row, 0) for row, load in enumerate(loads))
                cost = (
                    moves + sum(max(held[row] - share[row], 0) for row in readers),
                    squares + sum(amount**2 for amount in shares),
                )
                longer[more] = min(longer.get(more, cost), cost)
        fewest = longer or fewest
    return min((sorted(loads, reverse=True), *cost) for loads, cost in fewest.items())


def had(member, topic):
    return [each for each in member.owned if each.topic == topic.name and each.partition < topic.partitions]


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


def found(group, assignment):
    """The same of an answer; what is held back counts as given."""
    given = {each: member for member, partitions in assignment.items() for each in partitions}
    given |= assignment.transferring
    reads = {member.id: set(member.topics) for member in group.members}
    names = set().union(*reads.values())
    read = {topic.name: topic.partitions for topic in group.topics if topic.name in names}
    assert sorted(given) == sorted((name, number) for name, count in read.items() for number in range(count))
    assert all(partition.topic in reads[member] for partition, member in given.items())
    loads = Counter(given.values())
    moves = sum(
        each.topic in reads[member.id] and given.get(each) != member.id
        for member in group.members
        for each in member.owned
        if each in given
    )
    squares = sum(
        amount**2 for amount in Counter((each.topic, member) for each, member in given.items()).values()
    )
    return sorted((loads[member.id] for member in group.members), reverse=True), moves, squares


def groups(seed, count, **more):
    """So many random groups."""
    rng = np.random.default_rng(seed)
    return [random_group(rng, **more) for _ in range(count)]
