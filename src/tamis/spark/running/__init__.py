"""Around the steps: Java, sessions, files, whole jobs, and what is told of them."""
