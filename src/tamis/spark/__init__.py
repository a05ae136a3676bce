"""The data pipeline: integrate, validate, index, match, notify; each step DataFrame -> DataFrame."""
