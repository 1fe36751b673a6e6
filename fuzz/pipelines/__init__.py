"""Random pipelines, held against plain Python: `python -m fuzz.pipelines --count 100`.

From a seed: a pipeline and its records (drawing/), what must be in every sink afterwards, computed record by record
without Spark (oracle.py), the runs with what is done to them in between (running.py, faults.py, killing.py), and the
comparison (checking.py). The same seed makes the same case.
"""
