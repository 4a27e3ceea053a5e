"""Scripts that write what the documentation shows: schemas, tables of fields, dialogues, the picture."""
