"""Every way in which the official evaluation of a submission has been seen to end, and what we make of it.

`python -m tests.graded_cases` prints the table: reproduced on the engine where that is quick, replayed from records
for the rest. `--replay` replays all of it and needs no engine.
"""
