"""klamm: Apache Kafka rebuilt in Python.

Three rings, nothing inner knows anything outer (docs/architecture.md):
core (pure state machines and the log), shell (server), apps (cli).
"""

__version__ = "0.1.0"
