"""Read a topic into a DataFrame with nothing but pip packages.

The driver reads the options (`options`), asks the cluster for offsets (`cluster`), and plans which ranges of
offsets tasks read (`source`), without offsets that the query's filters exclude (`pushdown`). Tasks read the
ranges (`records`), on machines that may not have this package.
"""
