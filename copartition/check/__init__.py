"""Can these topics be joined partition by partition, and what must change where they cannot?"""
