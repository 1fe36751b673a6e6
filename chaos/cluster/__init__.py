"""A cluster of real processes under faults: who writes and reads writes down all of it, and a checker looks for anomalies.

`python -m chaos.cluster`. It runs klamm's own nodes, or any others that can be killed and started by commands.
"""
