"""Keys whose order in a Java HashMap or HashSet the golden files hold."""

from __future__ import annotations

import uuid
from itertools import islice, product
from random import Random
from typing import TYPE_CHECKING, Any

from partitioning.java import string_hash
from tools.oracle.assignors.worlds import ODD, Json

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (0, 1, 2, 3, 6, 7, 12, 13, 16, 17, 24, 25, 48, 49, 96, 97, 193, 500, 1000)
BUILDS = ("put", "compute_if_absent", "copy_of_map", "copy_of_list")
# Two texts with one hash that compare one way by UTF-16 code unit and the other way by code point.
ASTRAL = ("\U0010fc00", "\ue000" + chr(24545))


def equal_hashes(parts: int, pair: tuple[str, str] = ("Aa", "BB")) -> list[str]:
    """2 ** parts strings with one hash code."""
    return ["".join(chosen) for chosen in product(pair, repeat=parts)]


def neighbours(count: int, length: int) -> list[str]:
    """Strings with different hash codes that share a bin of a table of this length, and of shorter ones."""
    names = (f"n{number}" for number in range(1 << 20))
    return list(islice((name for name in names if _spread(name) & (length - 1) == 5), count))


def _spread(text: str) -> int:
    unsigned = string_hash(text) & 0xFFFFFFFF
    return unsigned ^ unsigned >> 16


def hash_orders() -> Iterator[Json]:
    """Requests of the oracle's hash_order operation, each with a name."""
    for size in SIZES:
        for build in BUILDS:
            yield _case(f"consumers_{size}_{build}", "string", [f"consumer{i}" for i in range(size)], build)
    yield _case("consumers_5000", "string", [f"consumer{i}" for i in range(5000)], "put")
    yield from _random_strings()
    yield from _collisions()
    yield from _odd_strings()
    yield from _numbers()
    yield from _trees()
    yield from _trees_of_strings()
    yield from _ties()
    yield from _split_trees()


def _case(name: str, kind: str, keys: list[Any], build: str, **more: Any) -> Json:
    return {"name": name, "kind": kind, "keys": keys, "build": build, **more}


def _random_strings() -> Iterator[Json]:
    for number in range(40):
        rng = Random(f"strings/{number}")
        size = rng.choice(SIZES[4:])
        letters = rng.choice(("ab", "abcdefghij-_.0123456789", "aé한😀\uff5e"))
        keys = list({"".join(rng.choices(letters, k=rng.randint(0, 12))): None for _ in range(size)})
        yield _case(f"random_{number}", "string", keys, rng.choice(BUILDS))
        removed = rng.sample(range(len(keys)), k=rng.randint(0, len(keys)))
        yield _case(f"random_{number}_removed", "string", keys, "put", removed=removed)
        yield _case(
            f"random_{number}_sized",
            "string",
            keys,
            "put_sized",
            capacity=rng.choice((0, 1, 3, 16, 17, 100, 2000)),
        )
    for number in range(6):
        rng = Random(f"uuids/{number}")
        ids = [f"member-{uuid.UUID(int=rng.getrandbits(128), version=4)}" for _ in range(200)]
        yield _case(f"member_ids_{number}", "string", ids, BUILDS[number % 4])


def _collisions() -> Iterator[Json]:
    for build in BUILDS:
        for count in (2, 4, 8, 9, 10, 11, 12, 16):
            yield _case(f"{count}_collide_{build}", "string", equal_hashes(4)[:count], build)
        others = [f"other{i}" for i in range(40)]
        for count in (8, 9, 12):
            yield _case(
                f"{count}_collide_among_others_{build}", "string", others + equal_hashes(4)[:count], build
            )
        yield _case(f"8_collide_and_others_follow_{build}", "string", equal_hashes(3) + others, build)
    yield _case(
        "collisions_across_a_resize",
        "string",
        [*equal_hashes(2), *(f"t{i}" for i in range(30)), *equal_hashes(3)],
        "put",
    )
    yield _case("collisions_removed", "string", equal_hashes(3), "put", removed=[0, 3, 7])


def _odd_strings() -> Iterator[Json]:
    for build in BUILDS:
        yield _case(f"odd_names_{build}", "string", ODD, build)
        yield _case(
            f"beyond_the_basic_plane_{build}", "string", [chr(0x1F600 + i) * 3 for i in range(60)], build
        )
    yield _case("the_empty_string", "string", ["", "a", "\0"], "put")
    yield _case("the_lowest_hash", "string", ["polygenelubricants", "a", "b"], "put")
    yield _case("put_twice", "string", ["b", "a", "b", "c", "a"], "put")


def _numbers() -> Iterator[Json]:
    for build in BUILDS:
        for size in (1, 12, 13, 100, 1000):
            yield _case(f"integers_{size}_{build}", "integer", list(range(size)), build)
            yield _case(f"integers_{size}_down_{build}", "integer", list(range(size))[::-1], build)
            pairs = [[f"topic{i % 7}", i // 7] for i in range(size)]
            yield _case(f"topic_partitions_{size}_{build}", "topic_partition", pairs, build)
        yield _case(f"sixteen_before_fourteen_{build}", "integer", [14, 15, 16], build)
        yield _case(f"far_integers_{build}", "integer", [1 << k for k in range(31)] + [-1, -(2**31)], build)
        rng = Random(f"uuids/{build}")
        ids = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(50)]
        yield _case(f"uuids_{build}", "uuid", ids, build)
        halves = [str(uuid.UUID(int=1 << shift)) for shift in (0, 32, 64, 96, 127)]
        yield _case(f"uuids_that_collide_{build}", "uuid", halves, build)


def _trees() -> Iterator[Json]:
    """Numbers and ids that share a bin, with some of them taken out again."""
    for stride in (64, 128, 4096):
        for size in (9, 12, 20, 45):
            rng = Random(f"trees/{stride}/{size}")
            keys = [number * stride for number in range(size)] + list(range(1, 30))
            for order in ("up", "down", "mixed"):
                if order == "down":
                    keys.reverse()
                elif order == "mixed":
                    rng.shuffle(keys)
                name = f"integers_{stride}_apart_{size}_{order}"
                yield _case(f"{name}_put", "integer", list(keys), "put")
                yield _case(f"{name}_copied", "integer", list(keys), "copy_of_list")
                for count in (1, size // 2, size - 2):
                    removed = rng.sample(range(len(keys)), k=count)
                    yield _case(
                        f"{name}_less_{count}", "integer", list(keys), "copy_of_list", removed=removed
                    )
    for size in (9, 14, 30):
        rng = Random(f"trees/uuid/{size}")
        halves = rng.sample(range(1 << 32), size)
        same_hash = [str(uuid.UUID(int=(half << 96) | (half << 64) | half)) for half in halves]
        for build in BUILDS:
            yield _case(f"{size}_uuids_with_one_hash_{build}", "uuid", same_hash, build)


def _trees_of_strings() -> Iterator[Json]:
    """Strings that share a bin: by hash code, by bin, or both, put in different orders among others."""
    crowds = {
        "one_hash": equal_hashes(5),
        "one_hash_astral": equal_hashes(4, ASTRAL),
        "one_bin": neighbours(40, 1024),
        "both": equal_hashes(4) + neighbours(24, 256) + [name + "x" for name in equal_hashes(4)],
        "many": equal_hashes(8),
    }
    others = [f"other{i}" for i in range(60)]
    for name, crowd in crowds.items():
        for order in ("up", "down", "mixed"):
            rng = Random(f"trees/{name}/{order}")
            keys = sorted(crowd, reverse=order == "down")
            if order == "mixed":
                rng.shuffle(keys)
            for build in (*BUILDS, "compute_if_absent_again"):
                yield _case(f"{name}_{order}_{build}", "string", keys, build)
            among = keys + others
            rng.shuffle(among)
            yield _case(f"{name}_{order}_among_others", "string", among, "put")
            yield _case(f"{name}_{order}_before_others", "string", keys + others, "compute_if_absent")
            yield _case(f"{name}_{order}_after_others", "string", others + keys, "copy_of_list")
            for count in (1, len(keys) // 2, len(keys) - 5):
                removed = rng.sample(range(len(keys)), k=count)
                yield _case(f"{name}_{order}_less_{count}", "string", keys, "put", removed=removed)
    for size in range(9, 25):
        rng = Random(f"trees/growing/{size}")
        crowd = rng.sample(neighbours(30, 128), k=size // 2) + rng.sample(equal_hashes(5), k=size - size // 2)
        for build in ("put", "compute_if_absent", "compute_if_absent_again"):
            rng.shuffle(crowd)
            yield _case(f"growing_{size}_{build}", "string", list(crowd), build)


def _ties() -> Iterator[Json]:
    """Partitions, which Java cannot compare, with one hash in one tree: their order may be nobody's."""
    topics = equal_hashes(2)
    for number in range(60):
        rng = Random(f"ties/{number}")
        steps = rng.sample(range(40), k=rng.randint(8, 14))
        pairs = [[rng.choice(topics), 64 * step] for step in steps]
        for topic, partition in rng.sample(pairs, k=rng.choice((1, 1, 1, 2, 3, 8))):
            pairs.append([rng.choice([other for other in topics if other != topic]), partition])
        if number % 3:
            rng.shuffle(pairs)
        else:
            pairs += [["later", step] for step in range(80)]
        yield _case(f"ties_{number}", "topic_partition", pairs, "put_sized", capacity=64)
    alike = [[topic, 0] for topic in equal_hashes(4)]
    yield _case("sixteen_alike", "topic_partition", alike, "put_sized", capacity=64)
    # Topics whose names count on share hash codes: orders-10 has those of orders-00, one partition later.
    orders = [[f"orders-{topic:02d}", partition] for topic in range(100) for partition in range(12)]
    yield _case("a_hundred_topics", "topic_partition", orders, "put_sized", capacity=len(orders))


def _split_trees() -> Iterator[Json]:
    """A tree of ten numbers that is split as its table grows: seven in one bin are a tree, six a list."""
    for low, number in product((6, 7), range(8)):
        keys = [128 * step for step in range(low)] + [64 + 128 * step for step in range(10 - low)]
        Random(f"trees/split/{low}/{number}").shuffle(keys)
        keys += range(1, 40)
        yield _case(f"tree_split_to_{low}_{number}", "integer", keys, "put_sized", capacity=64)
