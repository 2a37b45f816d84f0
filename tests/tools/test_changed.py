"""The classes in `followed.toml` have files of ours; what only looks different is no difference."""

from collections import Counter
from pathlib import Path

import pytest

from tools.oracle import changed

ROOT = Path(__file__).parents[2]

PRINTED = """public final class org.apache.kafka.common.utils.Sizes {
  public static int half(int);
    Code:
       0: iload_0
       1: iconst_2
       2: idiv
       3: invokestatic  #13                 // Method org/apache/kafka/common/utils/Other.lambda$of$3:()V
       4: ireturn
}
"""


@pytest.mark.parametrize("ours", sorted({ours for jar in changed.table().values() for ours in jar.values()}))
def test_each_class_is_followed_by_a_file_of_ours(ours: str) -> None:
    assert (ROOT / ours).exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [("#13 ", "#7 "), ("lambda$of$3", "lambda$of$12"), ("kafka/common/utils/Other", "kafka/internals/Other")],
)
def test_places_numbers_and_packages_are_no_difference(old: str, new: str) -> None:
    assert changed._code(PRINTED) == changed._code(PRINTED.replace(old, new))


def test_another_instruction_is_a_difference_of_its_method(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {"1": changed._code(PRINTED), "2": changed._code(PRINTED.replace("iconst_2", "iconst_3"))}
    monkeypatch.setattr(changed, "code_of", lambda version, _: {"Sizes": codes[version]})
    assert list(changed.differences("1", "2", {"Sizes": "sizes.py"})) == [
        ("Sizes", "changed: half", "sizes.py")
    ]


def test_a_class_that_a_version_has_not_is_named_with_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {"1": changed._code(PRINTED), "2": Counter[tuple[str, str]]()}
    monkeypatch.setattr(changed, "code_of", lambda version, _: {"Sizes": codes[version]})
    assert [difference.how for difference in changed.differences("1", "2", {"Sizes": ""})] == ["not in 2"]
