"""Where the replacement of an evicted pod may land, and what restricts it to these nodes."""
