"""The files of golden vectors are what Kafka's own classes say today, down to the byte."""

import pytest

from golden import vector_files
from golden.record import record


@pytest.mark.oracle
def test_recorded_files_are_what_java_says() -> None:
    recorded = record()

    kept = [vector_files.APIS, *map(vector_files.path, vector_files.message_names())]
    assert sorted(kept) == sorted(recorded)
    for path, text in recorded.items():
        assert path.read_text(encoding="utf-8") == text, path.name
