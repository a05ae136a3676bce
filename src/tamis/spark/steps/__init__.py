"""The pipeline's steps, each DataFrame → DataFrame; what users call."""
