"""Ids, texts, receipts and explanations around an algorithm: what stands between the engine and a `Matcher`."""
