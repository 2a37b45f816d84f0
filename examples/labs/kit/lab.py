"""A lab's own record: what the model predicted, what happened, and whether they agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from examples.labs.kit.cluster import Cluster
    from examples.labs.kit.picture import Picture


@dataclass(frozen=True, slots=True)
class Between:
    """A prediction that is a range of figures, both ends included."""

    low: float
    high: float = inf
    unit: str = ""

    def holds(self, seen: Any) -> bool:
        """Whether what was seen lies in the range."""
        return isinstance(seen, int | float) and self.low <= seen <= self.high

    def __str__(self) -> str:
        if self.high == inf:
            return f"at least {self.low:,g}{self.unit}"
        return f"{self.low:,g} to {self.high:,g}{self.unit}"


@dataclass(slots=True)
class Lab:
    """One run of a lab.

    Attributes:
        cluster: where it runs.
        short: whether it is the form that the tests run, with shorter waits and fewer records.
        console: where it prints.
        picture: of this run, drawn by the lab.
    """

    cluster: Cluster
    short: bool = False
    console: Console = field(default_factory=lambda: Console(width=110, highlight=False, record=True))
    picture: Picture | None = None
    _predicted: dict[str, Any] = field(default_factory=dict)
    _seen: dict[str, Any] = field(default_factory=dict)
    _figures: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def servers(self) -> dict[str, str]:
        """The setting with which confluent-kafka's clients find the cluster."""
        return {"bootstrap.servers": self.cluster.kafka.bootstrap_servers}

    def topic(self, partitions: int = 1) -> str:
        """The name of a new topic, which is removed at the end."""
        return self.cluster.kafka.create_topic(partitions)

    def say(self, text: str) -> None:
        """Tell what happens, in a sentence."""
        self.console.print(text, markup=False)

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print a table."""
        table = Table(title=title, title_justify="left", title_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*map(_text, row))
        self.console.print(table)

    def predict(self, facts: Mapping[str, Any]) -> None:
        """Say what the model expects, before it happens; `saw` is due for each fact."""
        self._predicted |= facts
        self.console.print("\nThe model predicts:")
        for what, value in facts.items():
            self.say(f"  {what}: {_text(value)}")
        self.say("")

    def saw(self, what: str, value: Any) -> None:
        """What became of a fact that was predicted.

        Raises:
            KeyError: nothing was predicted of it.
        """
        if what not in self._predicted:
            raise KeyError(f"nothing was predicted of {what!r}; call predict first")
        self._seen[what] = value

    def figure(self, what: str, predicted: object, seen: object) -> None:
        """A figure that depends on the machine: it stands in the table, but nothing is made of it."""
        self._figures.append((what, _text(predicted), _text(seen)))

    def rows(self) -> list[tuple[str, str, str, bool]]:
        """Each fact: what, predicted, seen, whether they agree."""
        return [
            (what, _text(value), _text(self._seen.get(what, "nothing")), _agree(value, self._seen.get(what)))
            for what, value in self._predicted.items()
        ]

    @property
    def agrees(self) -> bool:
        """Whether every prediction came true; a lab that predicted nothing does not."""
        rows = self.rows()
        return bool(rows) and all(row[3] for row in rows)

    def conclude(self) -> None:
        """Print the table of predicted and seen."""
        rows = [(*row[:3], "yes" if row[3] else "NO") for row in self.rows()]
        rows += [(*row, "a figure") for row in self._figures]
        self.table("Predicted and seen", ("what", "predicted", "seen", "agree"), rows)
        self.say("All agree." if self.agrees else "NOT all agree: the model or the lab is wrong here.")


def _agree(predicted: Any, seen: Any) -> bool:
    return predicted.holds(seen) if isinstance(predicted, Between) else bool(predicted == seen)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return " ".join(map(_text, value)) or "none"
    return str(value)
