"""The one place for the seconds of a deploy: evidence becomes a scenario, and that what it stops.

`scenario` builds the scenario of a captured group, `stops` runs it and sums the runs up, `assumptions` says
what a run takes for granted, `pace` has the defaults. Every command that says for how long something stops
asks here.
"""
