"""Helpers that all packages share; none of them works on a key, a group or a broker.

- `columns` sorts, groups and joins integer columns.
- `limits` bounds input, `formats` reads YAML, TOML and JSON within these bounds, and `near` suggests names.
- `packages` loads names at first use, and says what to install if an optional package is missing.
"""
