"""`benchmarks/share_groups.md`: what real share groups did beside what the model says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from benchmarks.measured import versions
from benchmarks.rebalances.comparing import NEAR
from benchmarks.share_groups.cells import CELLS, POLL, SESSION_MS
from copartition.models.share_groups.run import ShareResult, lock_that_suffices, simulate_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.share_groups.running import Run


class ComparedGroup(NamedTuple):
    """A group as it was predicted and as it was."""

    predicted: ShareResult
    run: Run

    @property
    def per_second(self) -> float:
        """Records that were accepted a second."""
        return float(self.run["accepted"] / self.run["seconds"])

    @property
    def misses(self) -> list[str]:
        """What is not within 20 %."""
        pairs = {
            "records/s": (self.predicted.per_second, self.per_second),
            "redeliveries": (self.predicted.redeliveries, self.run["redeliveries"]),
        }
        for record in self.predicted.special:
            pairs[f"deliveries of {record.offset}"] = (
                record.deliveries,
                len(self.run["special"][str(record.offset)]),
            )
        return [name for name, (said, was) in pairs.items() if abs(said - was) > NEAR * was]


def compare_runs(runs: Sequence[Run]) -> list[ComparedGroup]:
    """Every group that was measured."""
    return [ComparedGroup(simulate_share(CELLS[run["cell"]]), run) for run in runs]


def page(runs: Sequence[Run]) -> str:
    """The page."""
    pairs = compare_runs(runs)
    lines = [
        HEAD.format(
            right=sum(not pair.misses for pair in pairs),
            groups=len(pairs),
            kafka=versions(runs, "kafka"),
            librdkafka=versions(runs, "librdkafka"),
        )
    ]
    for pair in pairs:
        group, run = pair.predicted.group, pair.run
        special = ", ".join(
            f"{kind:g} ms" if isinstance(kind, int | float) else kind for kind in group.special.values()
        )
        suffices = lock_that_suffices(group) / 1_000
        lines.append(
            f"| {run['cell']} | {group.members} | {group.process_ms:g} ms | {group.lock_ms / 1_000:g} s "
            f"| {suffices:.1f} s | {special} | {pair.predicted.per_second:.1f} | {pair.per_second:.1f} "
            f"| {pair.predicted.redeliveries} | {run['redeliveries']} | {', '.join(pair.misses)} |"
        )
    return "\n".join([*lines, SHOWN])


HEAD = f"""\
# Share groups: throughput and redeliveries beside their predictions

Made by `python -m benchmarks.share_groups` in three minutes; `--compare` writes the page from
`share_groups/measured.json`. Members are processes with confluent-kafka's `ShareConsumer`
(librdkafka {{librdkafka}}) on a broker of Kafka {{kafka}}, with one partition, {POLL} records in a batch and
in a poll (50 in `four-members-100-locks`), 5 deliveries, and a session of {SESSION_MS / 1_000:g} s.

Predicted is what `copartition model share` says, a model of the broker's `SharePartition` and of members,
with 5 ms from a request to its answer; nothing in it comes from these measurements. A group counts as right
if records a second, redeliveries and the deliveries of its special record are within 20 %: {{right}} of
{{groups}} are.

*Suffices* is the lock that has to be exceeded so that it ends for no healthy record. A member that crashed is
started again after 3 s; that it has to join, which takes another second, is not modelled.

| group | members | a record | lock | suffices | special | records/s | real | redelivered | real | differs |
|---|--:|--:|--:|--:|---|--:|--:|--:|--:|---|"""

SHOWN = """
What they show:

- A poll that takes longer than the lock is processed in vain: the acknowledgement is refused as a whole, and
  all of it comes again. With 5 deliveries it succeeds with the fourth, since the broker delivers half as many
  records from the third delivery on. A group in that state is four times as slow, and loses nothing.
- In flight is the end offset less the start offset: with 100 locks and polls of 50, two of four members help,
  and one record that takes 10 s holds up the partition after 100 others.
- The process of a member that is killed gives its records back at once, as its connection closes; one that is
  stopped gives them back when the lock ends.
- A record that is released goes to the poll after the next one, and is delivered alone in the end: it costs
  four redeliveries. One that outlasts its lock, or crashes its member, takes the others of its batch with it:
  35 redeliveries, of which four are its own.
"""
