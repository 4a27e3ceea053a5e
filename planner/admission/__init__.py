"""What the API server decides about pods that are to be created, and what shows that it decides otherwise."""
