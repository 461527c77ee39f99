"""Linear programs and the solvers that settle them."""
