"""What a version of an index consists of, where it lies, and which segments an event can meet."""
