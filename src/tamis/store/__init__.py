"""What survives the process."""
