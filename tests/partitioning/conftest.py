from hypothesis import settings

# A machine that does other things too is no fault of ours.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
