"""Pipeline files for these tests."""

from pathlib import Path

COPY = """\
name: {name}
source: {{topic: {topic}, format: text}}
sink: {{topic: {topic}-out, format: text}}
"""

JOIN = """\
name: paid-orders
sources:
  - {name: orders, topic: orders, schema: "id string, at timestamp", watermark: {column: at, delay: 1 minute}}
  - {name: payments, topics: [cards, cash], schema: "id string, paid timestamp", start: latest}
tables:
  - {name: customers, files: /data/customers, format: csv, schema: "id string, country string"}
steps:
  - {view: paid, sql: "SELECT o.id, c.country FROM orders o JOIN payments p ON o.id = p.id JOIN customers c ON c.id = o.id"}
expect:
  - {name: has_id, check: id IS NOT NULL, otherwise: dead_letter, on: orders}
dead_letter: bad-orders
sinks:
  - {topic: paid, key: id}
  - {table: paid, mode: upsert, key: id}
  - {parquet: /data/orders, from: orders}
trigger: {every: 5 seconds}
"""


def write(folder: Path, text: str, name: str = "pipe.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)
