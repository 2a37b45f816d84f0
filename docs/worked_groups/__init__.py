"""The worked groups of `docs/how-assignors-decide.md`; `python -m docs.worked_groups` makes them again."""
