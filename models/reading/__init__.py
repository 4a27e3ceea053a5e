"""Files, folders and plain objects -> a Snapshot, or every problem found in them at once."""
