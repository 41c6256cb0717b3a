"""The body of `programbench eval`: what is to be graded, on which engine, and what becomes of the grades."""
