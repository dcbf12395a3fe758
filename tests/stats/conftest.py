"""Nothing here depends on how fast the machine is."""

from hypothesis import settings

settings.register_profile("stats", deadline=None)
settings.load_profile("stats")
