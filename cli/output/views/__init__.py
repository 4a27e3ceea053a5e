"""Documents as a person likes to read them: one module for each."""
