"""Every target by name, and its share of the cases: the quick ones get the most."""

from tools.fuzz import (
    clusters,
    commands,
    groups,
    keys,
    logs,
    reshapes,
    scenarios,
    serializing,
    settings,
    sink,
    sources,
    weights,
    wire,
)
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
    | serializing.TARGETS
    | clusters.TARGETS
    | reshapes.TARGETS
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
    "key-types": 8,
    "key-forms": 3,
    "names": 1,
    "ledgers": 5,
    "looks": 2,
    "answers": 8,
    "tools": 3,
    "share-groups": 1,
    "settings-files": 3,
    "reshapes": 1,
}
