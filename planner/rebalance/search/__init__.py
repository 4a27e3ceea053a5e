"""The search for the fewest moves: neighbourhoods, the models of the solver, the order of single moves."""
