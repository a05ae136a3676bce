"""Texts → a segment: read, code, choose homes, lay out blocks and clusters."""
