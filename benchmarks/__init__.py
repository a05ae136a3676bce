"""Did we get slower? And against peers, side by side in one run."""
