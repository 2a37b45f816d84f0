"""Checks the rules that every partitioner must keep, built in or not; call `check_partitioner` in a test.

A rule is a function that raises an AssertionError with the key, the layout and both answers. Rules build
their own instances from the factory, so that no rule depends on calls that another rule has made.
"""

import pickle
import random
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import numpy as np

from partitioning.interface import NONE_AVAILABLE, Partitioner, PlacesByKey, TopicLayout, TopicPartitioner
from partitioning.keys import Keys, key_column

Factory = Callable[[], Partitioner]
KeyList = Sequence[bytes | None]


LIMIT_S = 600.0
"""Seconds that a strategy may take to pass all rules."""


def in_time(check: Callable[[], None], limit_s: float) -> None:
    """Call a check in a thread; if it does not end in time, raise an error that shows where it is.

    In that case the thread keeps running.

    Args:
        check: a function that raises an error if the check fails.
        limit_s: the seconds that the check may take.

    Raises:
        AssertionError: the check is still running, or has called `sys.exit`.
        BaseException: any other error that the check raised.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            check()
        except BaseException as error:  # noqa: BLE001 - it is raised below
            raised.append(error)

    # The thread is a daemon: a strategy in an endless loop must not keep the test run from ending.
    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - there is no public name
        where = "".join(traceback.format_stack(frame)[-3:]) if frame else "it has just ended"
        raise AssertionError(f"has not come to an end within {limit_s:g} s; it is here:\n{where}")
    if raised and isinstance(raised[0], SystemExit):
        raise AssertionError(f"ends the process: {raised[0]!r}") from raised[0]
    if raised:
        raise raised[0]


def key_forms(keys: Sequence[bytes | None]) -> Iterator[tuple[str, Keys]]:
    """Yield (name of the form, keys in this form) for every form; Arrow's only if PyArrow is installed."""
    array = np.empty(len(keys), object)
    array[:] = keys
    yield "a tuple", tuple(keys)
    yield "an object array", array
    yield "a KeyColumn", key_column(keys)
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional package
    except ImportError:
        return
    plain = pa.array(keys, pa.binary())
    yield "an Arrow array", plain
    yield "an Arrow array with 64-bit offsets", plain.cast(pa.large_binary())
    if hasattr(pa, "binary_view"):
        yield "an Arrow array of views", pa.array(keys, pa.binary_view())
    yield "a dictionary-encoded Arrow array", plain.dictionary_encode()
    # A slice begins in the middle of its buffers. Code that reads them from 0 would place other keys.
    yield "a slice of an Arrow array", pa.array([b"before", *keys, b"after"], pa.binary())[1:-1]
    # One chunk is empty, and code that concatenates chunks must handle that.
    yield "a chunked Arrow array", pa.chunked_array([plain[:3], plain[3:3], plain[3:]], pa.binary())


LAYOUTS = {
    **{f"{count} partitions": TopicLayout(count) for count in (1, 2, 3, 12, 1_000, 200_000)},
    "12 partitions, 4 of them with a leader": TopicLayout(12, available=[7, 2, 11, 3]),
    "12 partitions, none of them with a leader": TopicLayout(12, available=NONE_AVAILABLE),
    "6 partitions in three racks": TopicLayout(6, racks=["a", "b", "c", "a", None, "b"]),
}
TWELVE = TopicLayout(12)
THREADS = 8
OTHERWISE_ELSEWHERE = "a process with another hash seed answers otherwise"
LONG = 70_000
"""The bytes of the longest key: more than an unsigned 16-bit length can hold."""

# This script runs in another process with another hash seed, in which a strategy that iterates over a set
# gives other answers.
_ELSEWHERE = """
import pickle, sys
factory, keys, layout = pickle.load(sys.stdin.buffer)
topic = factory().for_topic("orders")
sys.stdout.write(",".join(str(topic.partition(key, layout)) for key in keys))
"""


def check_partitioner(factory: Factory, *, keys: KeyList | None = None, limit_s: float = LIMIT_S) -> None:
    """Raise an AssertionError that names the first rule this partitioner breaks.

    The rules are:

    - It is a `Partitioner`.
    - `partition` returns an int, which is a partition that exists, for any layout and for a topic that grows
      or shrinks.
    - `partition_batch` returns int32, equal to that many calls of `partition`, for a column of any form, and
      does not change the column.
    - Two new instances give equal answers, even in a process with another hash seed.
    - Two instances, two topics of one instance, and eight threads with a topic each do not affect each other.
    - If it has `place_keys`, `partition` agrees with every answer of that method other than -1, in each topic
      and layout, before and after any other record.

    Args:
        factory: makes a new instance, always with the same settings. A random strategy must have a seeded
            source, because otherwise its answers cannot be compared. The check in another process is made
            only if the factory can be pickled, as a class or function of a module can.
        keys: the keys to place, for a strategy that accepts only some, such as text; by default any bytes and
            None.
        limit_s: the seconds after which the partitioner counts as hanging.
    """
    in_time(lambda: _check(factory, keys), limit_s)


def _check(factory: Factory, keys: KeyList | None) -> None:
    """Check all rules; the first one that is broken raises.

    Args:
        factory: makes a new instance.
        keys: the keys to place; None stands for those of `_keys`.
    """
    _is_a_partitioner(factory())
    keys = _keys() if keys is None else keys
    for what, layout in LAYOUTS.items():
        scalar = _answers(factory().for_topic("orders"), keys, layout, what)
        again = _answers(factory().for_topic("orders"), keys, layout, what)
        _same(scalar, again, keys, "two new instances disagree")
        columnar = _column(factory().for_topic("orders"), list(keys), layout, len(keys))
        _same(scalar, columnar, keys, f"partition_batch disagrees with partition ({what})")
    _takes_every_form(factory, keys)
    _follows_its_topic(factory, keys)
    _places_by_key(factory, keys)
    _keeps_topics_apart(factory, keys)
    _keeps_threads_apart(factory, keys)
    _answers_alike_elsewhere(factory, keys)


def _keys() -> list[bytes | None]:
    """Return about 150 keys that cover typical faults of partitioners.

    The keys are: null and empty; a zero byte; text that is not ASCII; keys of every length up to 40 bytes,
    and thus of every length modulo the width of a word; twenty nulls in a row, in which a sticky strategy may
    change partitions; and one key that is longer than a 16-bit length can hold. They are the same in every
    run.
    """
    source = random.Random(0)  # noqa: S311 - test data
    keys: list[bytes | None] = [None, b"", b"\x00", b"key", "größe".encode(), None]
    keys += [source.randbytes(length) for length in range(41) for _ in range(3)]
    keys += [None] * 20
    keys.append(source.randbytes(LONG))
    return keys


def _is_a_partitioner(partitioner: object) -> None:
    """Check that the factory makes a `Partitioner` with a name, whose topics are `TopicPartitioner`s."""
    # A class has the attributes of its instances, so it would pass the next check and fail at the first call.
    assert not isinstance(partitioner, type), f"{partitioner!r} is a class; give a factory of instances"
    assert isinstance(partitioner, Partitioner), f"{partitioner!r} lacks `name` or `for_topic`"
    assert isinstance(partitioner.name, str), (
        f"{partitioner!r} has the name {partitioner.name!r}, which is no text"
    )
    assert partitioner.name, f"{partitioner!r} has no name"
    topic = partitioner.for_topic("orders")
    assert isinstance(topic, TopicPartitioner), f"{topic!r} lacks `partition` or `partition_batch`"


def _answers(topic: TopicPartitioner, keys: KeyList, layout: TopicLayout, what: str = "") -> list[int]:
    """Place the keys one by one, and return their partitions; check that they are ints and exist.

    Args:
        topic: the topic partitioner that places the keys.
        keys: the keys in order; a strategy with state may place them differently in another order.
        layout: the layout of the topic, the same for all keys.
        what: the name of the layout in error messages.
    """
    answers = []
    for key in keys:
        shown = repr(key if key is None else key[:40])
        try:
            answer = topic.partition(key, layout)
        except (Exception, SystemExit) as error:
            raise AssertionError(f"partition raises {error!r} for {shown} ({what})") from error
        answers.append(answer)
        kind = type(answer).__name__
        # NumPy's integers and True would pass a comparison, but the client's C code refuses them.
        assert type(answer) is int, f"partition returned {answer!r}, of type {kind} and not int, for {shown}"
        exists = 0 <= answer < layout.partitions
        assert exists, f"key {shown} went to partition {answer} of {layout.partitions} ({what})"
    return answers


def _column(topic: TopicPartitioner, keys: Keys, layout: TopicLayout, count: int) -> list[int]:
    """Place the keys as a column, and return their partitions; check the type and shape of the answers.

    The answer for an empty column is checked, too.

    Args:
        topic: the topic partitioner that places the keys.
        keys: keys in any form.
        layout: the layout of the topic.
        count: how many keys there are; not every form of keys has a length.
    """
    answers = topic.partition_batch(keys, layout)
    assert isinstance(answers, np.ndarray), f"partition_batch returned a {type(answers).__name__}"
    assert answers.dtype == np.int32, f"partition_batch returned {answers.dtype}, not int32"
    assert answers.shape == (count,), f"partition_batch returned shape {answers.shape} for {count} keys"
    empty = topic.partition_batch([], layout)
    assert empty.shape == (0,), f"partition_batch returned shape {empty.shape} for no keys"
    return [int(answer) for answer in answers]


def _same(one: Sequence[int], other: Sequence[int], keys: KeyList, fault: str) -> None:
    """Check that two lists of partitions agree; the message names the first key for which they do not."""
    for row, (left, right) in enumerate(zip(one, other, strict=True)):
        assert left == right, f"{fault}: key {keys[row]!r:.60} in row {row} goes to {left} and to {right}"


def _takes_every_form(factory: Factory, keys: KeyList) -> None:
    """Check that all forms of a column get the same partitions, and that a list of keys is not changed."""
    expected = _answers(factory().for_topic("orders"), keys, TWELVE)
    as_list = list(keys)
    _column(factory().for_topic("orders"), as_list, TWELVE, len(keys))
    assert as_list == list(keys), "partition_batch changes the list of keys that it is given"
    for form, column in key_forms(keys):
        topic = factory().for_topic("orders")
        try:
            answers = _column(topic, column, TWELVE, len(keys))
        except (Exception, SystemExit) as error:
            raise AssertionError(f"partition_batch cannot take {form}: {error!r}") from error
        _same(expected, answers, keys, f"partition_batch answers otherwise for {form}")


def _follows_its_topic(factory: Factory, keys: KeyList) -> None:
    """Check one instance while its topic grows, shrinks (by being created again) and loses leaders."""
    layouts = [TopicLayout(3), TWELVE, TopicLayout(1), TopicLayout(12, available=[11]), TopicLayout(5)]
    one, other = factory().for_topic("orders"), factory().for_topic("orders")
    for layout in layouts:
        what = f"a topic that had another number of partitions before, and has {layout.partitions} now"
        scalar = _answers(one, keys, layout, what)
        columnar = _column(other, keys, layout, len(keys))
        _same(scalar, columnar, keys, f"partition_batch disagrees with partition for {what}")


def _places_by_key(factory: Factory, keys: KeyList) -> None:
    """If the strategy has `place_keys`, check that `partition` agrees for every key that it places."""
    partitioner = factory()
    if not isinstance(partitioner, PlacesByKey):
        return
    column = key_column(keys)
    for what, layout in LAYOUTS.items():
        placed = partitioner.place_keys(column, layout.partitions)
        assert isinstance(placed, np.ndarray), f"place_keys returned a {type(placed).__name__}"
        assert placed.dtype == np.int32, f"place_keys returned {placed.dtype}, not int32"
        assert placed.shape == (len(keys),), f"place_keys returned shape {placed.shape} for {len(keys)} keys"
        # All keys are placed twice, because earlier records must not change the partition of a key.
        for topic in ("orders", "payments"):
            answers = _answers(partitioner.for_topic(topic), [*keys, *keys], layout, what)
            decided = placed.tolist() * 2
            expected = [
                answer if by_key == -1 else by_key for answer, by_key in zip(answers, decided, strict=True)
            ]
            _same(expected, answers, [*keys, *keys], f"partition disagrees with place_keys ({what})")


def _keeps_topics_apart(factory: Factory, keys: KeyList) -> None:
    """Check that neither another topic of one instance nor another instance changes an answer."""
    alone = _answers(factory().for_topic("orders"), keys, TWELVE)
    busy, another = factory(), factory().for_topic("orders")
    orders, payments = busy.for_topic("orders"), busy.for_topic("payments")
    among_others = []
    for key in keys:
        among_others.append(orders.partition(key, TWELVE))
        payments.partition(key, TWELVE)
        another.partition(key, TWELVE)
    _same(alone, among_others, keys, "another topic or instance changes the answer")


def _keeps_threads_apart(factory: Factory, keys: KeyList) -> None:
    """Check that topics of one instance can be used in different threads, each topic in one thread."""
    topics = [f"topic-{number}" for number in range(THREADS)]
    alone = [_answers(factory().for_topic(topic), keys, TWELVE) for topic in topics]
    shared = factory()
    interval = sys.getswitchinterval()
    # Threads switch as often as possible, so that a counter that two topics share soon gives a wrong answer.
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            together = list(pool.map(lambda topic: _answers(shared.for_topic(topic), keys, TWELVE), topics))
    finally:
        sys.setswitchinterval(interval)
    for one, other in zip(alone, together, strict=True):
        _same(one, other, keys, "another thread with another topic changes the answer")


def _answers_alike_elsewhere(factory: Factory, keys: KeyList) -> None:
    """Check that other processes give the same answers, whatever their hash seed."""
    try:
        question = pickle.dumps((factory, list(keys), TWELVE))
    # A lambda or a local class cannot be pickled, which is no fault of the partitioner.
    except (pickle.PicklingError, AttributeError, TypeError):
        return
    here = _answers(factory().for_topic("orders"), keys, TWELVE)
    for written in written_elsewhere(_ELSEWHERE, question):
        there = [int(answer) for answer in written.decode().split(",")]
        _same(here, there, keys, OTHERWISE_ELSEWHERE)


def written_elsewhere(program: str, question: bytes) -> Iterator[bytes]:
    """Yield the bytes that a Python program writes in each of two processes with different hash seeds.

    A strategy that depends on the order of a set, or on `hash` of a text, gives different answers in
    different processes, such as two members of a group. Within one process its answers do not differ.

    Args:
        program: the text of the program; it finds modules in the same places as this process.
        question: the bytes of its standard input.

    Raises:
        AssertionError: the program fails; the message has the end of its error output.
    """
    for seed in ("1", "2"):
        process = subprocess.run(  # noqa: S603 - this interpreter
            [sys.executable, "-c", program],
            input=question,
            capture_output=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=False,
        )
        assert not process.returncode, f"another process cannot ask it: {process.stderr.decode()[-500:]}"
        yield process.stdout
