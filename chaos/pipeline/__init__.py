"""Pipelines under kill -9: of the driver, of a Spark worker's executor, of the broker. `python -m chaos.pipeline`.

tests/pipeline/proof runs each once; here are the engines, and the long runs behind `make chaos-pipeline`.
"""
