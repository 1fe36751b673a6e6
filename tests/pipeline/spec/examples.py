"""Good pipeline files, between them with every section and nearly every key."""

CLICKS = """\
name: page-stats
source:
  topic: clicks
  format: json
  schema: "user string, page string, ms int, at timestamp"
  start: earliest
watermark: {column: at, delay: 10 seconds}
steps:
  - sql: SELECT window(at, '10 seconds') w, page, count(*) n, avg(ms) ms FROM input GROUP BY 1, page
  - python: mypipes.enrich:add_country
expect:
  - {name: sane_latency, check: "ms >= 0", otherwise: dead_letter}
dead_letter: clicks.dlq
sinks:
  - {topic: page-stats, key: page, format: json, delivery: exactly_once}
  - {table: page_stats, format: iceberg}
trigger: {every: 1 second}
"""

ORDERS = """\
name: paid-orders
description: Orders that were paid within an hour.
bootstrap: ${BROKERS:-localhost:9092}
client: {security.protocol: SSL, ssl.key.password: "${KEY_PASSWORD}"}
sources:
  - name: orders
    topics: [orders-eu, orders-us]
    schema: id bigint, customer int, total decimal(10,2), at timestamp
    start: {orders-eu: {0: 42, 1: 7}, orders-us: {0: 0}}
    max_per_batch: 10000
    metadata: true
    headers: true
    malformed: drop
    watermark: {column: _timestamp, delay: 1 hour}
  - name: payments
    pattern: payments-.*
    format: avro
    schema: '{"type": "record", "name": "Payment", "fields": []}'
    start: "@2026-11-15T10:00"
    watermark: {column: paid_at, delay: 90m}
    options: {failOnDataLoss: false}
tables:
  - {name: customers, files: /data/customers/*.csv, format: csv, schema: "id int, name string"}
  - {name: rates, jdbc: "jdbc:postgresql://db/shop", table: public.rates, user: shop, password: "${PGPASSWORD}"}
  - {name: regions, table: lake.regions, format: delta}
functions:
  - {name: country_of, arrow: "geo.lookup:country_of", returns: string}
steps:
  - view: paid
    sql: SELECT o.*, p.amount FROM orders o JOIN payments p ON o.id = p.order_id AND p.paid_at <= o.at + INTERVAL 1 HOUR
    watermark: {column: at, delay: 1 hour}
  - {dedupe: id, view: unique_orders}
  - {arrow: "scoring:score", schema: "id bigint, score double, at timestamp", watermark: {column: at, delay: 1 min}}
  - {state: "alerts:Spending", by: [id], schema: "id bigint, total double", timers: event, ttl: 7 days, output: update}
  - {python: "report:daily", from: paid, view: daily, arguments: {currency: EUR, top: 10}}
expect:
  - {name: has_customer, check: customer IS NOT NULL, on: orders, otherwise: fail}
  - {name: positive, check: amount > 0, on: paid, otherwise: drop}
sinks:
  - {jdbc: "jdbc:postgresql://db/shop", table: paid, mode: upsert, key: [id], from: unique_orders, driver: org.postgresql.Driver}
  - {table: lake.paid, format: delta, mode: upsert, key: id, partition_by: [days(at)], from: paid}
  - {parquet: /data/paid, partition_by: [customer], name: archive, from: paid}
  - {topic: paid-orders, key: id, format: avro, schema: '{"type": "record"}', headers: _headers, output: update}
  - {console: true, rows: 5, from: daily}
trigger: available_now
checkpoint: /var/lib/pipelines/paid
options: {spark.sql.shuffle.partitions: 8}
"""

COPY = """\
name: from-the-shop
source:
  jdbc: jdbc:postgresql://db/shop
  query: SELECT * FROM orders
  incremental: changed_at
  after: "2026-01-01"
  max_per_batch: 5000
  user: ${PGUSER}
  password: ${PGPASSWORD}
sink: {topic: orders, key: id}
trigger: {every: 10 s}
"""

LINES = """\
name: lines
source: {files: /var/log/app, format: text, max_per_batch: 10}
sink: {topic: lines, format: text, delivery: at_least_once}
trigger: once
"""

GOOD = {"clicks": CLICKS, "orders": ORDERS, "copy": COPY, "lines": LINES}
