"""What klamm must survive: power failures at any moment, kill -9 under load, disks that fail. `python -m chaos`.

tests/crash runs a bounded part of all of it; here are the engines, and the long runs behind `make chaos`.
"""
