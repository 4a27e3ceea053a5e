"""Where the replacement of an evicted pod may land, and what holds it there."""
