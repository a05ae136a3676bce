"""Kernels of the papers' predicate indexes."""
