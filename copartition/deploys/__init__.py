"""The one place for the seconds of a deploy: evidence becomes a scenario, and that what it stops.

`pace` has the defaults, `scenario` builds the scenario of a captured group, `stops` runs it and sums the runs
up, `answer` says the result in words and in JSON, and `assumptions` says what a run takes for granted.
Every command that says for how long something stops asks here.
"""
