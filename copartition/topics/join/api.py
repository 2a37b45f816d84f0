"""The names that the package has for everybody; `check_topics`, which needs a cluster, is in `checking`."""

from copartition.topics.join.by_settings import judge_writers
from copartition.topics.join.growth import GrowthPlan, MustGrow, PlannedJoin, plan_growth
from copartition.topics.join.judge import judge
from copartition.topics.join.proof import KeyComparison, KeyPairs
from copartition.topics.join.verdict import JoinVerdict, KeyApart, KeyProof, Reason, Remedy
from copartition.topics.join.writers import ClientWriter, parse_writer

__all__ = [
    "ClientWriter",
    "GrowthPlan",
    "JoinVerdict",
    "KeyApart",
    "KeyComparison",
    "KeyPairs",
    "KeyProof",
    "MustGrow",
    "PlannedJoin",
    "Reason",
    "Remedy",
    "judge",
    "judge_writers",
    "parse_writer",
    "plan_growth",
]
