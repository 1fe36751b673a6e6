"""Mistakes between keys that are right by themselves, one by one: each is told where it can be put right."""

import pytest

from pipeline.spec.examples import CLICKS, COPY, LINES, ORDERS
from pipeline.spec.mistakes import Mistake, problems_of

MISTAKES = [
    Mistake(
        "a topic and a pattern",
        CLICKS,
        "  topic: clicks",
        "  topic: clicks\n  pattern: c.*",
        [
            "4:12: source.pattern: expected either topics or a pattern, found both",
            '14:14: dead_letter: expected a topic that the source input does not read: it would feed itself, found "clicks.dlq"',
        ],
    ),
    Mistake(
        "no topic at all",
        CLICKS,
        "  topic: clicks",
        "  topics: []",
        ["3:11: source.topics: expected a topic, topics or a pattern, found none"],
    ),
    Mistake(
        "a topic twice",
        ORDERS,
        "[orders-eu, orders-us]",
        "[orders-eu, orders-us, orders-eu]",
        ["7:13: sources[0].topics: expected each topic once, found one of them twice"],
    ),
    Mistake(
        "a pattern that is none",
        ORDERS,
        "payments-.*",
        "payments-(",
        ['16:14: sources[1].pattern: expected a regular expression, found "payments-("'],
    ),
    Mistake(
        "a login for one source alone",
        CLICKS,
        "  topic: clicks",
        "  topic: clicks\n  options: {kafka.sasl.mechanism: PLAIN}",
        [
            "4:12: source.options: expected sasl.mechanism under client, for every connection to the cluster, "
            "found kafka.sasl.mechanism for this one"
        ],
    ),
    Mistake(
        "json without a schema",
        CLICKS,
        '  schema: "user string, page string, ms int, at timestamp"\n',
        "",
        [
            "3:3: source.schema: expected a schema, which json, csv and avro need, found format json without one"
        ],
    ),
    Mistake(
        "text with a schema",
        LINES,
        "format: text, max",
        "format: text, schema: a int, max",
        ["2:53: source.schema: expected no schema: text gives the one column value, found one"],
    ),
    Mistake(
        "a column without a type",
        CLICKS,
        "page string",
        "page",
        [
            '5:11: source.schema: expected columns such as "user string, at timestamp": page has no type, found "user string, page, ms int, at timestamp"'
        ],
    ),
    Mistake(
        "a type that is misspelt",
        CLICKS,
        "page string",
        "page strng",
        [
            '5:11: source.schema: expected columns such as "user string, at timestamp": strng is no type of Spark SQL; did you mean string?, found "user string, page strng, ms int, at timestamp"'
        ],
    ),
    Mistake(
        "a column twice",
        CLICKS,
        "page string",
        "USER string",
        [
            '5:11: source.schema: expected columns such as "user string, at timestamp": USER stands there twice, found "user string, USER string, ms int, at timestamp"'
        ],
    ),
    Mistake(
        "a column of a reserved name",
        CLICKS,
        "page string",
        "_source string",
        [
            '5:11: source.schema: expected other names than _corrupt, _headers, _key, _offset, _partition, _rescued, _source, _timestamp, _topic, found "_source"'
        ],
    ),
    Mistake(
        "a bracket that is not closed",
        CLICKS,
        "page string",
        "page array<string",
        [
            '5:11: source.schema: expected columns such as "user string, at timestamp": a > is missing at the end, found "user string, page array<string, ms int, at timestamp"'
        ],
    ),
    Mistake(
        "an Avro schema that is no JSON",
        ORDERS,
        '\'{"type": "record", "name": "Payment", "fields": []}\'',
        "id int",
        ['18:13: sources[1].schema: expected an Avro schema, a JSON object, found "id int"'],
    ),
    Mistake(
        "a table and a query",
        COPY,
        "  query:",
        "  table: orders\n  query:",
        ["4:10: source.table: expected either table or query, found both"],
    ),
    Mistake(
        "a value to start after, without a column that grows",
        COPY,
        "  incremental: changed_at\n",
        "",
        [
            "5:10: source.after: expected incremental to go with it, found after alone",
            "6:18: source.max_per_batch: expected incremental to go with it, found max_per_batch alone",
        ],
    ),
    Mistake(
        "a table that is a stream",
        ORDERS,
        "files: /data/customers/*.csv",
        "max_per_batch: 5, files: /data/customers/*.csv",
        [
            "23:38: tables[0].max_per_batch: expected such a key only under source, found a table with max_per_batch"
        ],
    ),
    Mistake(
        "malformed records to a dead letter that is not there",
        ORDERS,
        "malformed: drop",
        "malformed: dead_letter",
        [
            "13:16: sources[0].malformed: expected a topic under dead_letter at the top of the file to go with it, found dead_letter without one"
        ],
    ),
    Mistake(
        "fields without names",
        CLICKS,
        "  format: json\n  schema",
        "  format: csv\n  unknown_fields: rescue\n  schema",
        [
            "5:19: source.unknown_fields: expected such a key only with format json, whose fields have names, found format csv"
        ],
    ),
    Mistake(
        "a watermark on a column that is not there",
        CLICKS,
        "{column: at,",
        "{column: att,",
        [
            '7:21: watermark.column: expected a column of the schema (user, page, ms, at), found "att" (did you mean at?)'
        ],
    ),
    Mistake(
        "a watermark on a column that is no time",
        CLICKS,
        "{column: at,",
        "{column: ms,",
        ['7:21: watermark.column: expected a column of type timestamp, found "ms" of type int'],
    ),
    Mistake(
        "a watermark on a column that an arrow step does not return",
        ORDERS,
        "watermark: {column: at, delay: 1 min}",
        "watermark: {column: when, delay: 1 min}",
        [
            '33:99: steps[2].watermark.column: expected a column of the schema (id, score, at), found "when"'
        ],
    ),
    Mistake(
        "one watermark for several sources",
        ORDERS,
        "tables:\n",
        "watermark: {column: at, delay: 1 s}\ntables:\n",
        [
            "22:12: watermark: expected a watermark under each source, because there are several, found one for all"
        ],
    ),
    Mistake(
        "two watermarks for one source",
        CLICKS,
        "  start: earliest",
        "  watermark: {column: at, delay: 1 s}",
        ["7:12: watermark: expected one watermark: here or under the source, found both"],
    ),
    Mistake(
        "two views of one name",
        ORDERS,
        "view: unique_orders",
        "view: Paid",
        [
            '32:24: steps[1].view: expected a name that no other source, table or step has, found "Paid"'
        ],
    ),
    Mistake(
        "a view called previous",
        ORDERS,
        "view: daily",
        "view: previous",
        [
            '35:48: steps[4].view: expected another name: previous is the step before, found "previous"'
        ],
    ),
    Mistake(
        "a view that is misspelt",
        ORDERS,
        "from: unique_orders",
        "from: unique_order",
        [
            '40:85: sinks[0].from: expected a view that is there by then (orders, payments, customers, rates, regions, paid, unique_orders, step3, step4, daily), found "unique_order" (did you mean unique_orders?)'
        ],
    ),
    Mistake(
        "a view of a later step",
        ORDERS,
        "dedupe: id, view",
        "dedupe: id, from: daily, view",
        [
            '32:24: steps[1].from: expected a view that is there by then (orders, payments, customers, rates, regions, paid), found "daily"'
        ],
    ),
    Mistake(
        "sql over a view that is misspelt",
        CLICKS,
        "FROM input GROUP",
        "FROM inputt GROUP",
        [
            "9:10: steps[0].sql: expected views that are there by then (input), or a table with its catalog, found FROM inputt (did you mean input?)"
        ],
    ),
    Mistake(
        "sql over a view that comes later",
        ORDERS,
        "JOIN payments p",
        "JOIN daily p",
        [
            "30:10: steps[0].sql: expected views that are there by then (orders, payments, customers, rates, regions), or a table with its catalog, found FROM daily"
        ],
    ),
    Mistake(
        "no view to read with several sources",
        ORDERS,
        "  - view: paid\n    sql: SELECT o.*, p.amount FROM orders o JOIN payments p ON o.id = p.order_id AND p.paid_at <= o.at + INTERVAL 1 HOUR\n    watermark: {column: at, delay: 1 hour}\n",
        '  - {python: "a:b", view: paid}\n',
        [
            "29:5: steps[0].from: expected the view to read (orders, payments, customers, rates, regions), because there are several sources, found none"
        ],
    ),
    Mistake(
        "two functions of one name",
        ORDERS,
        "functions:\n",
        'functions:\n  - {name: COUNTRY_OF, arrow: "a:b", returns: int}\n',
        [
            '28:12: functions[1].name: expected a name that no other function has, found "country_of"'
        ],
    ),
    Mistake(
        "deduplication without a watermark",
        LINES,
        "sink:",
        "steps:\n  - dedupe: value\nsink:",
        [
            "4:13: steps[0].dedupe: expected a watermark somewhere before it, or forever: true, found neither"
        ],
    ),
    Mistake(
        "deduplication by a column that is not there",
        CLICKS,
        "python: mypipes.enrich:add_country",
        "{dedupe: usr, from: input}",
        [
            '10:14: steps[1].dedupe: expected columns of input (user, page, ms, at), found "usr" (did you mean user?)'
        ],
    ),
    Mistake(
        "deduplication by nothing",
        ORDERS,
        "dedupe: id",
        "dedupe: []",
        ["32:14: steps[1].dedupe: expected at least one column, found an empty list"],
    ),
    Mistake(
        "timers of events without a watermark",
        LINES,
        "sink:",
        "steps:\n  - {state: 'a:B', by: value, schema: n int, timers: event}\nsink:",
        [
            "4:54: steps[0].timers: expected a watermark somewhere before it, which timers of events follow, found none"
        ],
    ),
    Mistake(
        "dead_letter without a topic",
        CLICKS,
        "dead_letter: clicks.dlq\n",
        "",
        [
            "12:55: expect[0].otherwise: expected a topic under dead_letter at the top of the file to go with it, found dead_letter without one"
        ],
    ),
    Mistake(
        "dead_letter after a step",
        CLICKS,
        "otherwise: dead_letter}",
        "otherwise: dead_letter, on: step1}",
        [
            "12:55: expect[0].otherwise: expected drop or fail: after a step the raw bytes and the position are no longer known, found dead_letter"
        ],
    ),
    Mistake(
        "an expectation on a view that is not there",
        ORDERS,
        "on: orders,",
        "on: order,",
        [
            '37:59: expect[0].on: expected a source or step (orders, payments, paid, unique_orders, step3, step4, daily), found "order" (did you mean orders?)'
        ],
    ),
    Mistake(
        "an expectation on nothing, with several sources",
        ORDERS,
        "on: orders, ",
        "",
        [
            "37:5: expect[0].on: expected the source or step to check (orders, payments, paid, unique_orders, step3, step4, daily), found none, with several sources"
        ],
    ),
    Mistake(
        "two expectations of one name",
        ORDERS,
        "name: positive",
        "name: has_customer",
        [
            '38:12: expect[1].name: expected a name that no other expectation has, found "has_customer"'
        ],
    ),
    Mistake(
        "two sinks of one name",
        ORDERS,
        "name: archive",
        "name: topic.paid-orders",
        ['43:5: sinks[3].name: expected a name that no other sink has, found "topic.paid-orders"'],
    ),
    Mistake(
        "two sinks into one topic",
        CLICKS,
        "  - {table: page_stats, format: iceberg}",
        "  - {topic: page-stats, from: input}",
        ['16:5: sinks[1].name: expected a name that no other sink has, found "topic.page-stats"'],
    ),
    Mistake(
        "exactly_once on the console",
        ORDERS,
        "rows: 5,",
        "rows: 5, delivery: exactly_once,",
        [
            "44:40: sinks[4].delivery: expected at_least_once, which is all that this sink can give, found exactly_once"
        ],
    ),
    Mistake(
        "exactly_once into a database that appends",
        ORDERS,
        "table: paid, mode: upsert, key: [id],",
        "table: paid, delivery: exactly_once,",
        [
            "40:64: sinks[0].delivery: expected at_least_once, which is all that this sink can give (a database: with mode upsert), found exactly_once"
        ],
    ),
    Mistake(
        "upsert without a key",
        ORDERS,
        "mode: upsert, key: id,",
        "mode: upsert,",
        ["41:5: sinks[1].key: expected the columns of the key, which upsert needs, found none"],
    ),
    Mistake(
        "a key without upsert",
        ORDERS,
        "mode: upsert, key: id,",
        "key: id,",
        ["41:44: sinks[1].key: expected mode: upsert to go with it, found a key with mode append"],
    ),
    Mistake(
        "avro without a schema",
        ORDERS,
        'schema: \'{"type": "record"}\', ',
        "",
        ["43:5: sinks[3].schema: expected an Avro schema, which avro needs, found none"],
    ),
    Mistake(
        "a schema that is not needed",
        CLICKS,
        "format: json, delivery",
        "format: json, schema: '{}', delivery",
        ["15:58: sinks[0].schema: expected no schema: json needs none, found one"],
    ),
    Mistake(
        "a console that is not one",
        ORDERS,
        "console: true",
        "console: false",
        ["44:15: sinks[4].console: expected true, or no such sink, found false"],
    ),
    Mistake(
        "a sink into the topic that is read",
        CLICKS,
        "{topic: page-stats,",
        "{topic: clicks,",
        [
            '15:13: sinks[0].topic: expected a topic that the source input does not read: it would feed itself, found "clicks"'
        ],
    ),
    Mistake(
        "a sink into a topic that the pattern takes",
        ORDERS,
        "{topic: paid-orders,",
        "{topic: payments-done,",
        [
            '43:13: sinks[3].topic: expected a topic that the source payments does not read: it would feed itself, found "payments-done"'
        ],
    ),
    Mistake(
        "dead letters into the topic that is read",
        CLICKS,
        "dead_letter: clicks.dlq",
        "dead_letter: clicks",
        [
            '13:14: dead_letter: expected a topic that the source input does not read: it would feed itself, found "clicks"'
        ],
    ),
    Mistake(
        "dead letters into the topic of a sink",
        CLICKS,
        "dead_letter: clicks.dlq",
        "dead_letter: page-stats",
        ["13:14: dead_letter: expected a topic of its own, found the topic of a sink"],
    ),
    Mistake(
        "exactly_once with a continuous trigger",
        LINES,
        "source: {files: /var/log/app, format: text, max_per_batch: 10}\nsink: {topic: lines, format: text, delivery: at_least_once}\ntrigger: once",
        "source: {topic: logs, format: text}\nsink: {topic: lines, format: text, delivery: exactly_once}\ntrigger: {continuous: 1 second}",
        [
            "3:46: sink.delivery: expected at_least_once, because the trigger is continuous, found exactly_once"
        ],
    ),
    Mistake(
        "files with a continuous trigger",
        LINES,
        "trigger: once",
        "trigger: {continuous: 1 second}",
        [
            "4:10: trigger: expected {every: ...}, or with continuous only topics as sources, found continuous with another source"
        ],
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_it_is_told_where_and_how_to_put_it_right(mistake: Mistake) -> None:
    assert problems_of(mistake.text) == mistake.problems
