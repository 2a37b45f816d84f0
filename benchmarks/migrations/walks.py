"""The ways that are walked: who has what, what each bounce leads to, and how members are replaced."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

KAFKAS = ("4.3.1", "4.4.0")
REMOTE = ("uniform", "broker-range")
CLASSIC = {
    "librdkafka": ("range", "roundrobin", "cooperative-sticky"),
    "java": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "kafka-python": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
}
"""The strategies of each client's own side."""

SPEAK = ("java", "librdkafka")
"""The clients that speak the consumer protocol."""

MIXTURES = {
    ("java", "librdkafka"): ("range", "roundrobin", "cooperative-sticky"),
    ("librdkafka", "java"): ("range", "roundrobin", "cooperative-sticky"),
}
"""Groups of two clients, the one first whose member joins first and leads, and the strategies of both."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A way to walk.

    Attributes:
        clients: the kinds of clients, which the members take in turn; the first one's leads.
        before: the strategies that all members have, the preferred one first, commas between.
        after: the strategies that they are to have, likewise.
        via: the lists between both, one for each bounce before the last.
        how: how members are replaced: "rolling" (one leaves, then one comes), "surge" (one comes, then one
            leaves), "slow" (one leaves, the others share its partitions, then one comes) or "stop" (all
            leave, then all come).
        generation: 1: all members join at once; 3: one after the other, a generation for each.
        kafka: version of the broker; empty for that of the tests.
    """

    clients: tuple[str, ...]
    before: str
    after: str
    via: tuple[str, ...] = ()
    how: str = "rolling"
    generation: int = 3
    kafka: str = ""

    @property
    def name(self) -> str:
        """Name of the walk, unique, which the group has, too."""
        path = "-".join(text.replace(",", "+") for text in (self.before, *self.via, self.after))
        marks = [str(self.generation), *filter(None, [self.how, self.kafka])]
        return f"{'+'.join(self.clients)}-{path}-{'-'.join(marks)}"

    @property
    def lists(self) -> list[tuple[str, ...]]:
        """The lists of strategies from the first to the last."""
        return [tuple(text.split(",")) for text in (self.before, *self.via, self.after)]


def conversions() -> list[Walk]:
    """Return a bounce between each strategy of a client's side and each of the broker's, both ways.

    A group that speaks the consumer protocol has no generation, so one walk back is enough. So is one walk of
    the clients that do not start with the settings of that protocol: they ask no broker.
    """
    found = []
    for clients, strategies in [*(((name,), own) for name, own in CLASSIC.items()), *MIXTURES.items()]:
        speaks = clients[0] in SPEAK
        kafkas = KAFKAS if speaks and len(clients) == 1 else KAFKAS[-1:]
        generations = (3, 1) if kafkas == KAFKAS else (3,)
        for kafka, classic, remote in product(kafkas, strategies, REMOTE):
            found += [
                Walk(clients, classic, remote, generation=generation, kafka=kafka)
                for generation in generations
            ]
            # Nobody leads a group of the consumer protocol, so the other order of a mixture is the same.
            back = speaks and clients != ("librdkafka", "java")
            found += [Walk(clients, remote, classic, kafka=kafka)] if back else []
    return found


def milder_ways() -> list[Walk]:
    """Return what may work where one rolling bounce is refused, and the stop of the whole group."""
    newest = KAFKAS[-1]
    found = []
    for kafka, remote in product(KAFKAS, REMOTE):
        found += [
            Walk(("librdkafka",), "cooperative-sticky", remote, how="surge", kafka=kafka),
            Walk(("librdkafka",), "cooperative-sticky", remote, how="slow", generation=1, kafka=kafka),
            Walk(("librdkafka",), "cooperative-sticky", remote, how="stop", kafka=kafka),
        ]
    for client, eager in [
        *product(["librdkafka"], CLASSIC["librdkafka"]),
        *product(["kafka-python"], CLASSIC["java"]),
    ]:
        if eager == "cooperative-sticky":
            continue
        for before, after in permutations((eager, "cooperative-sticky")):
            found += [
                Walk((client,), before, after, how=how, kafka=newest) for how in ("rolling", "surge", "stop")
            ]
            found.append(Walk((client,), before, f"{after},{before}", kafka=newest))
    found.append(Walk(("librdkafka",), "range", "cooperative-sticky", via=("uniform",), kafka=newest))
    return found


def classic_ways() -> list[Walk]:
    """Return two bounces between each two strategies of a client's side, and one from Java's default list."""
    oldest, newest = KAFKAS
    found = [
        Walk(("java",), "range,cooperative-sticky", "cooperative-sticky", generation=generation, kafka=newest)
        for generation in (1, 3)
    ]
    for clients in [*((name,) for name in CLASSIC), ("java", "librdkafka"), ("java", "kafka-python")]:
        both = [name for name in CLASSIC[clients[0]] if all(name in CLASSIC[client] for client in clients)]
        # Only Java's client takes eager and cooperative strategies in one list.
        mixes = clients == ("java",)
        found += [
            Walk(clients, before, after, via=(f"{after},{before}",), kafka=oldest)
            for before, after in permutations(both, 2)
            if mixes or "cooperative-sticky" not in {before, after}
        ]
    # Between the broker's two strategies nothing is converted.
    found += [
        Walk(clients, *pair, kafka=oldest)
        for clients in (("java",), ("librdkafka",), ("java", "librdkafka"))
        for pair in permutations(REMOTE)
    ]
    return found


def all_walks() -> list[Walk]:
    """Return every way, those of one client first."""
    ways = [*milder_ways(), *conversions(), *classic_ways()]
    return sorted(ways, key=lambda way: len(way.clients))
