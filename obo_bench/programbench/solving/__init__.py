"""From an instance to its row: what is left to do, the cleanroom, the task, its watch, and the schedule of them all."""
