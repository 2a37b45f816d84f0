"""The names that the package has for everybody; `check_topics`, which needs a cluster, is in `checking`."""

from partitioning.co_partitioning.by_settings import judge_writers
from partitioning.co_partitioning.judging import judge
from partitioning.co_partitioning.planning import GrowthPlan, MustGrow, PlannedJoin, plan_growth
from partitioning.co_partitioning.proof import KeyComparison, KeyPairs
from partitioning.co_partitioning.verdict import JoinVerdict, KeyApart, KeyProof, Reason, Remedy
from partitioning.co_partitioning.writers import ClientWriter, parse_writer

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
