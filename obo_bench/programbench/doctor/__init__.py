"""`obo-bench doctor`: every precondition of a run, each with its finding and what to do about it."""
