"""Streams: a version pinned to each micro-batch, outputs that a repeated batch replaces, and the `tamis` source."""
