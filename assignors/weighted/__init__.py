"""Assignments of weighted partitions to members of different capacity, each with a certificate.

`weights` reads the weights and capacities, `problem` computes what no assignment can beat, `placing` makes a
first assignment, `improving` lowers its peak, and `assignor` has the strategies.
"""
