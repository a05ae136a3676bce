"""Matching with a database (ToPSS §4): the two strategies, the databases they run on, and the keys they keep."""
