"""What may be called proved, on what grounds, and how much work may go into finding out."""
