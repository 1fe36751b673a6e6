"""The kit as test frameworks take it: pytest, unittest, and suites that were written for testcontainers."""
