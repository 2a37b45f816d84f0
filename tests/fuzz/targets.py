"""Every target by name, and how many of a hundred cases it gets: the quick ones get the most."""

from tests.fuzz import commands, groups, keys, scenarios, sources, wire
from tests.fuzz.runner import Target

TARGETS: dict[str, Target] = (
    sources.TARGETS | scenarios.TARGETS | wire.TARGETS | keys.TARGETS | groups.TARGETS | commands.TARGETS
)
SHARES = {
    "captures": 8,
    "snapshots": 12,
    "scenarios": 8,
    "subscriptions": 16,
    "assignments": 16,
    "user-data": 16,
    "keys": 10,
    "lying-keys": 5,
    "groups": 7,
    "commands": 2,
}
