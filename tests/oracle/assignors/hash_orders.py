"""Keys whose order in a Java HashMap or HashSet the golden files hold."""

from __future__ import annotations

import uuid
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

from tests.oracle.assignors.worlds import ODD, Json

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZES = (0, 1, 2, 3, 6, 7, 12, 13, 16, 17, 24, 25, 48, 49, 96, 97, 193, 500, 1000)
BUILDS = ("put", "compute_if_absent", "copy_of_map", "copy_of_list")


def colliding(parts: int) -> list[str]:
    """2 ** parts strings with one hash code."""
    return ["".join(chosen) for chosen in product(("Aa", "BB"), repeat=parts)]


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
            yield _case(f"{count}_collide_{build}", "string", colliding(4)[:count], build)
        others = [f"other{i}" for i in range(40)]
        for count in (8, 9, 12):
            yield _case(
                f"{count}_collide_among_others_{build}", "string", others + colliding(4)[:count], build
            )
        yield _case(f"8_collide_and_others_follow_{build}", "string", colliding(3) + others, build)
    yield _case(
        "collisions_across_a_resize",
        "string",
        [*colliding(2), *(f"t{i}" for i in range(30)), *colliding(3)],
        "put",
    )
    yield _case("collisions_removed", "string", colliding(3), "put", removed=[0, 3, 7])


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
