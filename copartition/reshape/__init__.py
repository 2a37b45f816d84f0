"""A room: may a topic get another count of partitions, rule or key without a key out of order, and how?"""
