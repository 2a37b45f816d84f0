"""Compute for how long a deploy stops partitions: build a scenario from a captured group, and run it.

`pace` has the defaults, `scenario` builds the scenario of a captured group, `stops` runs it and sums up the
runs, `answer` puts the result into words and JSON, and `assumptions` says what a run assumes. Every command
that says for how long something stops uses this package.
"""
