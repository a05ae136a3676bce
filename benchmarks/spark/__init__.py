"""The pipeline on Spark against what a Spark or DuckDB user would write without us."""
