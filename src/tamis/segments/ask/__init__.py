"""A segment and events → rows: a batch of them by the column, or one on its own."""
