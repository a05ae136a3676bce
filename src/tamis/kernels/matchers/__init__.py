"""Kernels of the papers' matching algorithms."""
