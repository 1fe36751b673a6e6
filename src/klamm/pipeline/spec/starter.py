"""The file that a new pipeline starts from: small, commented, and valid as it stands."""

import re

from klamm.pipeline.spec.model.values import NAME
from klamm.pipeline.spec.nodes import quoted
from klamm.pipeline.spec.problems import BadPipeline, Problem

_STARTER = """\
# A pipeline: records are read from a topic, SQL computes, results are written.
# Check it with `klamm pipeline validate FILE`, run it with `klamm pipeline run FILE`.
name: "{name}"

source:
  topic: clicks                  # or topics: [a, b], pattern: "logs-.*", files: a folder, jdbc: a database
  format: json                   # json | avro | csv | text | bytes
  schema: user string, page string, ms int, at timestamp
  start: earliest                # earliest | latest | "@2026-11-15T10:00" | {{0: 42}}
  # metadata: true               # adds _key, _topic, _partition, _offset, _timestamp
  # max_per_batch: 100000

# How late events may come before a window is closed.
watermark: {{column: at, delay: 10 seconds}}

# Each step is a view for the steps after it; `input` is the source, `previous` the step before.
steps:
  - view: stats
    sql: |
      SELECT window(at, '10 seconds') AS w, page, count(*) AS n, avg(ms) AS ms
      FROM input
      GROUP BY 1, page
  # - python: mymodule:my_function   # DataFrame in, DataFrame out

# What must be true of every record of the source.
expect:
  - name: sane_latency
    check: ms >= 0
    otherwise: dead_letter       # drop | dead_letter | fail

# Records that cannot be decoded or do not pass: with the reason, the position and the raw bytes.
dead_letter: "{name}.dead"

sinks:
  - topic: "{name}.out"
    key: page
    format: json
    delivery: exactly_once       # or at_least_once
  - console: true
  # - table: {table}             # an Iceberg table (or format: delta)
  #   mode: upsert               # append | upsert
  #   key: [w, page]
  # - jdbc: jdbc:postgresql://localhost/shop
  #   table: {table}
  #   user: shop
  #   password: ${{PGPASSWORD}}    # taken from the environment

trigger: {{every: 1 second}}       # or once, available_now, {{continuous: 1 second}}
"""


def starter(name: str) -> str:
    """A commented pipeline file of that name. Raises BadPipeline if it cannot be a pipeline's name."""
    if not re.fullmatch(NAME.form or "", name):
        problem = Problem(path="name", expected=NAME.words, found=quoted(name))
        raise BadPipeline("pipeline", [problem])
    table = re.sub("[^A-Za-z0-9_]", "_", name)
    return _STARTER.format(name=name, table=table if table[0].isalpha() else f"t_{table}")
