"""Who may import whom: the contracts in pyproject.toml."""

from importlinter import cli


def test_no_package_imports_from_one_above_it(capsys, monkeypatch):
    # It disables every logger there is, and later tests would hear nothing of theirs.
    monkeypatch.setattr(cli.logging_config, "dictConfig", lambda _: None)
    exit_code = cli.lint_imports(no_cache=True)
    assert exit_code == 0, capsys.readouterr().out
