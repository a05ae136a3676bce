"""WHICH predicates does a value satisfy? One file per structure of the papers, one line each in `INDEXES`."""
