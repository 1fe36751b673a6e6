"""What a source could not do, in one sentence each, for the user."""

from __future__ import annotations


class SourceFailed(Exception):
    """Another try would end the same way."""


class SourceUnreachable(SourceFailed):
    """Nothing is wrong with the pipeline; the cluster or the database did not answer, and another try may pass."""
