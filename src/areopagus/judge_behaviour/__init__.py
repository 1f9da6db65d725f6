"""How the judges of a run behave: their own biases, from stored scores and from a few new calls."""
