"""The inside of `benchmark_run`: a launcher's run, recorded by itself or reported to the `exec` around it."""
