"""The adaptive engine's kernels: reading texts, building segments, asking them."""
