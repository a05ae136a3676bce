"""Compiled parts of `batches`: events as text or as bytes of Python's own → tokens, tokens → columns."""
