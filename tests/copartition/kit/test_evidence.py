"""No answer can be built from nothing."""

import pytest

from copartition.kit.evidence import Evidence, Missing


@pytest.mark.parametrize(
    ("sources", "assumed"),
    [((), ()), (("",), ()), (("a capture",), ("",))],
    ids=["none", "empty", "empty-assumed"],
)
def test_evidence_names_its_sources(sources: tuple[str, ...], assumed: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="at least one source"):
        Evidence(sources, assumed)


@pytest.mark.parametrize(("what", "remedy"), [("", "ask the cluster"), ("no lag is shown", "")])
def test_what_is_missing_comes_with_its_remedy(what: str, remedy: str) -> None:
    with pytest.raises(ValueError, match="both named"):
        Missing(what, remedy)
