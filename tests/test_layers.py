"""Who may import whom: the contracts in pyproject.toml."""

from importlinter.cli import lint_imports


def test_no_package_imports_from_one_above_it(capsys):
    exit_code = lint_imports(no_cache=True)
    assert exit_code == 0, capsys.readouterr().out
