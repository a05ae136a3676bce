"""Events as columns: the one edge, for the engine, for Spark and for the command line."""
