"""Every target by name, and its share of the cases: the quick ones get the most."""

from tools.fuzz import commands, groups, keys, logs, scenarios, settings, sink, sources, weights, wire
from tools.fuzz.runner import Target

TARGETS: dict[str, Target] = (
    sources.TARGETS
    | scenarios.TARGETS
    | wire.TARGETS
    | keys.TARGETS
    | sink.TARGETS
    | groups.TARGETS
    | settings.TARGETS
    | weights.TARGETS
    | commands.TARGETS
    | logs.TARGETS
)
SHARES = {
    "captures": 8,
    "snapshots": 12,
    "scenarios": 8,
    "subscriptions": 13,
    "assignments": 12,
    "user-data": 13,
    "keys": 10,
    "lying-keys": 5,
    "sink-options": 4,
    "sink-columns": 3,
    "sink-rows": 3,
    "groups": 7,
    "commands": 2,
    "recordings": 1,
    "loop-settings": 6,
    "read-options": 5,
    "writers": 5,
    "deliveries": 1,
    "weights-files": 2,
    "rates": 3,
    "logs": 1,
}
