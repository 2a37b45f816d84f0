"""Run the checks of an examined group. Each check is a function that looks for one fault.

To add a check of consumer groups, write a function in `member_checks` or `offset_checks`, a row of `_LOOKS`,
and a table of the same name in `checks.toml`; docs/doctor.md lists the checks. Share and Streams groups
have their own functions and tables, in `share_checks` and `streams_checks`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from copartition.doctor import member_checks, offset_checks
from copartition.doctor.examination import Examination
from copartition.doctor.observing import (
    Advice,
    Check,
    Examined,
    Finding,
    Limits,
    Observation,
    UnknownError,
)
from copartition.doctor.share_checks import SHARE_LOOKS
from copartition.doctor.streams_checks import STREAMS_LOOKS
from partitioning.kit.packages import read_toml


def findings(examination: Examined, limits: Limits) -> list[Finding]:
    """Run every check of the group's kind, and return one finding for each, in the order of the TOML file.

    Args:
        examination: the group, from a cluster or read from a file.
        limits: the bounds of what is still healthy.
    """
    checks = CHECKS_OF.get(examination.state.protocol or "", CHECKS)
    return [_look(check, examination, limits) for check in checks]


def _look(check: Check, examination: Examined, limits: Limits) -> Finding:
    """Run one check; if it cannot tell, return a finding that is "unknown" and names what is missing.

    Args:
        check: a check of the group's kind.
        examination: the group.
        limits: the bounds of what is still healthy.
    """
    try:
        found, text, ground, case = check.look(examination, limits)
    except UnknownError as error:
        return Finding(check, error.missing, error.missing.what)
    # A case names advice for a fault; with "ok" the report shows the usual advice.
    return Finding(check, ground, text, found, case if found else "")


def doctor_exit_code(results: Iterable[Finding]) -> int:
    """Return 1 if something is found, else 2 if a vital check cannot tell, else 0.

    Checks that are not vital may stay unknown: a file never shows all that a cluster does.
    """
    # The findings are put in a list, because they are needed twice and may come from an iterator.
    every = list(results)
    if any(finding.status == "found" for finding in every):
        return 1
    return 2 if any(finding.status == "unknown" and finding.check.vital for finding in every) else 0


_LOOKS: Mapping[str, Callable[[Examination, Limits], Observation]] = {
    "state": member_checks.state_check,
    "clients": member_checks.clients_check,
    "converted": member_checks.converted_check,
    "owners": member_checks.owners_check,
    "idle": member_checks.idle_check,
    "load": member_checks.load_check,
    "spread": member_checks.spread_check,
    "subscriptions": member_checks.subscriptions_check,
    "static": member_checks.static_check,
    "timeouts": member_checks.timeouts_check,
    "limits": member_checks.limits_check,
    "racks": member_checks.racks_check,
    "unread": offset_checks.unread_check,
    "left_over": offset_checks.left_over_check,
    "lag": offset_checks.lag_check,
    "beyond_the_end": offset_checks.beyond_the_end_check,
    "trend": offset_checks.trend_check,
    "deleted": offset_checks.deleted_check,
    "waiting": offset_checks.waiting_check,
    "standstill": offset_checks.standstill_check,
    "hot_partition": offset_checks.hot_partition_check,
    "uncommitted": offset_checks.uncommitted_check,
    "expiring": offset_checks.expiring_check,
    "joined": member_checks.joined_check,
    "coordinator": member_checks.coordinator_check,
}
"""The function of each check, by the name of the check's table in `checks.toml`, whose order counts."""


def _checks(looks: Mapping[str, Callable[[Any, Limits], Observation]], file: str) -> Iterator[Check]:
    """Yield a check for each table of a TOML file; tables inside a check's table are advice for its cases.

    Raises:
        KeyError: a table has no function.
    """
    for name, about in read_toml(__package__, file).items():
        cases = {case: Advice(**advice) for case, advice in about.items() if isinstance(advice, dict)}
        usual = Advice(about["why"], about["action"])
        advice = {"": usual, **cases}
        title, vital = name.replace("_", " "), about.get("vital", False)
        # A table without a function fails here, when the module is imported, and not later in a report.
        yield Check(title, looks[name], about["severity"], advice, vital)


CHECKS = tuple(_checks(_LOOKS, "checks.toml"))
"""All checks of consumer groups, in the order of `checks.toml`: that of reports and of docs/doctor.md."""

CHECKS_OF = {
    "share": tuple(_checks(SHARE_LOOKS, "share_checks.toml")),
    "streams": tuple(_checks(STREAMS_LOOKS, "streams_checks.toml")),
}
"""The checks of other kinds of groups, by the kind."""
