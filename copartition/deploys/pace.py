"""Define how fast a deploy goes, and the settings of its group: one set of defaults for all commands."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from copartition.simulation.inputs.durations import Uniform
from copartition.simulation.inputs.settings import Costs, Settings


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of a deploy, and settings that differ from Kafka's defaults; by default a usual deployment.

    Attributes:
        down_ms: how long a restarted member is away, or a new one takes to start: --down. A `Uniform` is
            drawn for each member, because no two restarts take the same time.
        ready_ms: how long a new member runs until the next one may be replaced: --ready.
        every_ms: time from one restart to the next, and from one kind of change to the next: --every.
        changes: name -> value as text: --set. A name is Kafka's name of a setting, a cost (`revoke_ms`) or a
            field of the load (`load.rate`).
    """

    down_ms: float | Uniform = 10_000
    ready_ms: float = 10_000
    every_ms: float = 60_000
    changes: Mapping[str, str] = field(default_factory=dict)

    @property
    def longest_down_ms(self) -> float:
        """The longest time that a member is away, in milliseconds."""
        return self.down_ms.high if isinstance(self.down_ms, Uniform) else self.down_ms

    @property
    def settings(self) -> Settings:
        """The timeouts of the group; raises ScenarioError if a name or a value of `changes` is impossible."""
        # These are imported here, because a diff that computes no times does not need the simulator.
        from assignors.group import Topic  # noqa: PLC0415
        from copartition.simulation.inputs.file import with_settings  # noqa: PLC0415
        from copartition.simulation.inputs.scenario import Scenario  # noqa: PLC0415

        return with_settings(Scenario((Topic("any", 1),), ()), full_names(self.changes)).settings

    def check(self) -> None:
        """Raise ScenarioError for an impossible setting, before a group is read."""
        _ = self.settings


def full_names(changes: Mapping[str, str]) -> dict[str, str]:
    """Return changes with the paths of a scenario file; the name of a cost is put below `costs`.

    >>> full_names({"revoke_ms": "500", "session.timeout.ms": "8000"})
    {'costs.revoke_ms': '500', 'session.timeout.ms': '8000'}
    """
    costs = {field.name for field in fields(Costs)}
    return {f"costs.{name}" if name in costs else name: value for name, value in changes.items()}
