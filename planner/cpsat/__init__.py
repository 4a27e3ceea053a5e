"""The CP-SAT side: the only package that imports ortools."""
