"""Progress as a real Spark 4.1.1 reported it, one JSON per line.

The query topic.page-stats counts clicks in windows and reads two topics of two partitions; of it batches 0, 1, 3 and 4,
the last without input. table.clicks writes the same records as they are: batches 0 and 3, then a moment of waiting.
console reads files.
"""

from pathlib import Path

LINES = Path(__file__).with_name("progress.jsonl").read_text().splitlines()
WINDOWS, PLAIN, FILES = LINES[0:4], LINES[4:7], LINES[7:8]
FIRST_OF_WINDOWS, SECOND_OF_WINDOWS = WINDOWS[:2]
WAITING = PLAIN[2]
