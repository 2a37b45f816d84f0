"""The bounds by which recorded groups are judged: lower than by default, so that few records are written."""

from copartition.doctor.observing import Limits

LIMITS = Limits(lag=2_000)
