"""What survives the process: a segment as one file, a folder of them with a log."""
