"""Reading a topic into a DataFrame with nothing but pip packages.

The driver asks the cluster for offsets (`cluster`) and plans ranges of them (`source`); tasks read the ranges
(`records`), on machines that may lack this package. `options` is what both go by.
"""
