"""Settings of every test."""

import os

from hypothesis import settings

# The first example of a shape compiles a query plan, so there is no deadline.
# HYPOTHESIS_PROFILE=thorough draws more examples, each with every measure.
settings.register_profile("default", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
