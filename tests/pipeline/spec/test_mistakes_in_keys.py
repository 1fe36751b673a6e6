"""Mistakes in single keys and values, one by one: each is told once, with its place, and nothing else is."""

import pytest

from pipeline.spec.examples import CLICKS, COPY, LINES, ORDERS
from pipeline.spec.mistakes import Mistake, problems_of

MISTAKES = [
    Mistake(
        "a key that is misspelt",
        CLICKS,
        "  topic: clicks",
        "  topik: clicks",
        [
            '3:3: source.topik: expected one of the keys name, topic, topics, pattern, format, schema, start, max_per_batch, metadata, headers, malformed, unknown_fields, watermark, options, found the key "topik" (did you mean topic?)'
        ],
    ),
    Mistake(
        "a key at the top that is misspelt",
        CLICKS,
        "dead_letter: clicks.dlq",
        "dead_leter: clicks.dlq",
        [
            '13:1: dead_leter: expected one of the keys name, description, bootstrap, client, source, sources, tables, functions, watermark, steps, expect, dead_letter, sink, sinks, trigger, checkpoint, options, found the key "dead_leter" (did you mean dead_letter?)'
        ],
    ),
    Mistake(
        "a key in another section",
        LINES,
        "format: text, max",
        "format: text, delivery: exactly_once, max",
        [
            '2:45: source.delivery: expected one of the keys name, files, format, schema, max_per_batch, malformed, unknown_fields, watermark, options, found the key "delivery"'
        ],
    ),
    Mistake(
        "a key twice",
        CLICKS,
        "name: page-stats\n",
        "name: page-stats\nname: other\n",
        ['2:1: name: expected each key once, found "name" a second time'],
    ),
    Mistake(
        "the single and the plural key together",
        CLICKS,
        "sinks:\n",
        "sink: {console: true}\nsinks:\n",
        ["15:1: sinks: expected either sink or sinks, found both"],
    ),
    Mistake(
        "a word that is misspelt",
        CLICKS,
        "exactly_once",
        "exactly_onse",
        [
            '15:60: sinks[0].delivery: expected at_least_once or exactly_once, found "exactly_onse" (did you mean exactly_once?)'
        ],
    ),
    Mistake(
        "a word where a mapping belongs",
        CLICKS,
        "watermark: {column: at, delay: 10 seconds}",
        "watermark: at",
        ['7:12: watermark: expected a mapping such as {column: at, delay: 10 seconds}, found "at"'],
    ),
    Mistake(
        "a mapping where a list belongs",
        CLICKS,
        "expect:\n  - {name",
        "expect:\n  {name",
        [
            "12:3: expect: expected a list, each item an expectation ({name, check, otherwise}), found a mapping"
        ],
    ),
    Mistake(
        "a list where a word belongs",
        CLICKS,
        "dead_letter: clicks.dlq",
        "dead_letter: [clicks.dlq]",
        [
            "13:14: dead_letter: expected a topic's name (letters, digits, dots, dashes, underscores; at most 249), found a list"
        ],
    ),
    Mistake(
        "nothing where a word belongs",
        CLICKS,
        "dead_letter: clicks.dlq",
        "dead_letter:",
        [
            "13:13: dead_letter: expected a topic's name (letters, digits, dots, dashes, underscores; at most 249), found nothing"
        ],
    ),
    Mistake(
        "a required key that is missing",
        CLICKS,
        ", delay: 10 seconds",
        "",
        [
            "7:12: watermark: expected the key delay (a duration such as 10 seconds or 5 minutes), found no such key"
        ],
    ),
    Mistake(
        "no name",
        CLICKS,
        "name: page-stats\n",
        "",
        [
            "1:1: expected the key name (a name of letters, digits, dots, dashes and underscores), found no such key"
        ],
    ),
    Mistake(
        "no sinks",
        LINES,
        "sink: {topic: lines, format: text, delivery: at_least_once}\n",
        "",
        ["1:1: expected the key sink or sinks (a list, each item a sink), found no such key"],
    ),
    Mistake(
        "an empty list of sinks",
        LINES,
        "sink: {topic: lines, format: text, delivery: at_least_once}\n",
        "sinks: []\n",
        ["3:8: sinks: expected at least one sink, found an empty list"],
    ),
    Mistake(
        "a section without its leading key",
        LINES,
        "sink: {topic: lines, format: text, delivery: at_least_once}",
        "sink: {format: text}",
        [
            '3:7: sink: expected a sink with the key jdbc, topic, table, parquet or console, found the keys "format"'
        ],
    ),
    Mistake(
        "an unknown kind of step",
        CLICKS,
        "python: mypipes.enrich:add_country",
        "explode: tags",
        [
            '10:5: steps[1]: expected a step with the key sql, python, arrow, dedupe or state, found the keys "explode"'
        ],
    ),
    Mistake(
        "a join as a step of its own",
        CLICKS,
        "python: mypipes.enrich:add_country",
        "join: {left: a, right: b}",
        [
            '10:5: steps[1].join: expected a join in SQL (sql: SELECT ... FROM orders JOIN payments ON ...), found the key "join"'
        ],
    ),
    Mistake(
        "a window as a step of its own",
        CLICKS,
        "python: mypipes.enrich:add_country",
        "window: 10 seconds",
        [
            "10:5: steps[1].window: expected a window in SQL (sql: SELECT window(at, '10 seconds') w, ... GROUP BY 1), found the key \"window\""
        ],
    ),
    Mistake(
        "a number that is too small",
        LINES,
        "max_per_batch: 10",
        "max_per_batch: 0",
        ["2:60: source.max_per_batch: expected a whole number of at least 1, found 0"],
    ),
    Mistake(
        "text where a number belongs",
        LINES,
        "max_per_batch: 10",
        "max_per_batch: many",
        ['2:60: source.max_per_batch: expected a whole number of at least 1, found "many"'],
    ),
    Mistake(
        "text where true or false belongs",
        ORDERS,
        "metadata: true",
        "metadata: yes",
        ['11:15: sources[0].metadata: expected true or false, found "yes"'],
    ),
    Mistake(
        "a unit that is misspelt",
        CLICKS,
        "delay: 10 seconds",
        "delay: 10 secnds",
        [
            '7:32: watermark.delay: expected a duration such as 10 seconds or 5 minutes, found "10 secnds" (did you mean seconds?)'
        ],
    ),
    Mistake(
        "a duration without a unit",
        CLICKS,
        "delay: 10 seconds",
        "delay: 10",
        ["7:32: watermark.delay: expected a duration such as 10 seconds or 5 minutes, found 10"],
    ),
    Mistake(
        "a topic's name with a space",
        CLICKS,
        "dead_letter: clicks.dlq",
        "dead_letter: clicks dlq",
        [
            '13:14: dead_letter: expected a topic\'s name (letters, digits, dots, dashes, underscores; at most 249), found "clicks dlq"'
        ],
    ),
    Mistake(
        "a function without a module",
        CLICKS,
        "mypipes.enrich:add_country",
        "add_country",
        ['10:13: steps[1].python: expected module:function, found "add_country"'],
    ),
    Mistake(
        "an option that is a list",
        ORDERS,
        "{failOnDataLoss: false}",
        "{failOnDataLoss: [false]}",
        [
            "21:31: sources[1].options.failOnDataLoss: expected text, a number, true or false, found a list"
        ],
    ),
    Mistake(
        "a database without jdbc",
        COPY,
        "jdbc: jdbc:postgresql://db/shop",
        "jdbc: postgresql://db/shop",
        [
            '3:9: source.jdbc: expected a JDBC address such as jdbc:postgresql://host/database, found "postgresql://db/shop"'
        ],
    ),
    Mistake(
        "a start that is misspelt",
        CLICKS,
        "start: earliest",
        "start: earliset",
        [
            '6:10: source.start: expected earliest, latest, "@2026-11-15T10:00" or {partition: offset}, found "earliset" (did you mean earliest?)'
        ],
    ),
    Mistake(
        "a start that is no time",
        CLICKS,
        "start: earliest",
        "start: '@yesterday'",
        [
            '6:10: source.start: expected a time such as @2026-11-15T10:00 or @2026-11-15T10:00Z, found "@yesterday"'
        ],
    ),
    Mistake(
        "an offset below zero",
        CLICKS,
        "start: earliest",
        "start: {0: -5}",
        ["6:14: source.start.0: expected an offset: a whole number of at least 0, found -5"],
    ),
    Mistake(
        "a partition that is no number",
        CLICKS,
        "start: earliest",
        "start: {first: 5}",
        ['6:11: source.start.first: expected the number of a partition, found "first"'],
    ),
    Mistake(
        "offsets without a topic where several are read",
        ORDERS,
        "{orders-eu: {0: 42, 1: 7}, orders-us: {0: 0}}",
        "{0: 42}",
        [
            "9:12: sources[0].start: expected {topic: {partition: offset}}, because several topics are read, found partitions without a topic"
        ],
    ),
    Mistake(
        "offsets of a topic that is not read",
        ORDERS,
        "{orders-eu: {0: 42, 1: 7}, orders-us: {0: 0}}",
        "{orders-en: {0: 42}}",
        [
            '9:12: sources[0].start: expected topics that are read (orders-eu, orders-us), found "orders-en" (did you mean orders-eu?)'
        ],
    ),
    Mistake(
        "a trigger that is misspelt",
        CLICKS,
        "trigger: {every: 1 second}",
        "trigger: {evry: 1 second}",
        [
            '17:11: trigger: expected {every: 1 second}, once, available_now or {continuous: 1 second}, found "evry" (did you mean every?)'
        ],
    ),
    Mistake(
        "a trigger in one word that is misspelt",
        ORDERS,
        "available_now",
        "availabel-now",
        [
            '45:10: trigger: expected {every: 1 second}, once, available_now or {continuous: 1 second}, found "availabel-now" (did you mean available_now?)'
        ],
    ),
    Mistake(
        "a bracket that YAML misses",
        CLICKS,
        "delay: 10 seconds}",
        "delay: 10 seconds",
        [
            "8:6: expected YAML, found while parsing a flow mapping, expected ',' or '}', but got ':'"
        ],
    ),
    Mistake(
        "a time without quotes",
        CLICKS,
        "start: earliest",
        "start: @2026-11-15T10:00",
        ["6:10: expected quotes around a value that begins with @, found none"],
    ),
    Mistake(
        "a tab that YAML does not take",
        CLICKS,
        "  topic: clicks",
        "\ttopic: clicks",
        [
            "3:1: expected YAML, found while scanning for the next token, found character '\\t' that cannot start any token"
        ],
    ),
    Mistake(
        "a Python object",
        CLICKS,
        "dead_letter: clicks.dlq",
        "dead_letter: !!python/object:os.system clicks",
        [
            '13:14: expected a value without a tag, found "tag:yaml.org,2002:python/object:os.system"'
        ],
    ),
    Mistake(
        "an alias that contains itself",
        CLICKS,
        "expect:\n",
        "options: &a {b: *a}\nexpect:\n",
        ["11:10: expected values nested a few levels deep, found far more"],
    ),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_it_is_told_where_and_how_to_put_it_right(mistake: Mistake) -> None:
    assert problems_of(mistake.text) == mistake.problems
