"""The same Spark jobs on klamm and on a reference broker, in turns: `python -m bench.pipeline`."""
