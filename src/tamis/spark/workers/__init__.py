"""What runs in executors: Arrow batches in, Arrow batches out."""
