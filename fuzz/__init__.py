"""Fuzzing of everything that reads bytes of a stranger: `python -m fuzz --seconds 60`.

targets/ says what is fuzzed and what counts as a finding; mutation.py is a small seeded fuzzer of our own, guided.py
drives atheris, which looks at coverage, where it is installed. pipelines/ is another kind: it draws whole pipelines.
"""
