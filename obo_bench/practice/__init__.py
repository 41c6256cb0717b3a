"""The embedded default: practice tasks with their images and tests, for a machine with nothing but Python.

No container registry, no data set service and no model is needed; the official evaluator grades the result.
"""
