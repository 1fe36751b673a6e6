"""klamm's codecs against the bytes of Kafka's own Java classes: every message, every version, both ways."""

import pytest

from golden import vector_files
from golden.kafka_json import from_json, message_classes
from klamm.base.errors import CorruptFrame
from klamm.protocol.compile import decode, decoder, encode
from klamm.protocol.declare import schema_of

every_message = pytest.mark.parametrize("name", vector_files.message_names())


def test_klamm_declares_exactly_the_messages_that_have_vectors() -> None:
    assert sorted(message_classes()) == vector_files.message_names()


@every_message
def test_versions_and_api_key_are_kafkas(name: str) -> None:
    file = vector_files.load(name)
    schema = schema_of(message_classes()[name])
    low, high = schema.versions

    assert sorted({vector.version for vector in file.vectors}) == list(range(low, high + 1))
    assert schema.api_key == file.api_key


@every_message
def test_value_becomes_javas_bytes(name: str) -> None:
    cls = message_classes()[name]
    for vector in vector_files.load(name).vectors:
        if vector.sample != "unknown-tags":  # klamm does not carry what it does not know
            assert encode(from_json(cls, vector.value), vector.version) == vector.data, vector


@every_message
def test_javas_bytes_become_the_value(name: str) -> None:
    cls = message_classes()[name]
    for vector in vector_files.load(name).vectors:
        message, end = decoder(cls, vector.version)(vector.data)

        assert message == from_json(cls, vector.value), vector
        assert end == len(vector.data), vector


@every_message
def test_decoded_message_becomes_the_same_bytes(name: str) -> None:
    cls = message_classes()[name]
    for vector in vector_files.load(name).vectors:
        if vector.sample != "unknown-tags":
            message = decode(cls, vector.version, memoryview(vector.data))

            assert encode(message, vector.version) == vector.data, vector


@every_message
def test_default_message_is_javas_default_message(name: str) -> None:
    cls = message_classes()[name]
    for vector in vector_files.load(name).vectors:
        if vector.sample == "minimal":
            assert encode(cls(), vector.version) == vector.data, vector


@every_message
def test_bytes_around_a_message_are_left_alone(name: str) -> None:
    cls = message_classes()[name]
    for vector in vector_files.load(name).vectors:
        surrounded = b"\xff" + vector.data + b"\xff"

        message, end = decoder(cls, vector.version)(surrounded, 1)

        assert message == from_json(cls, vector.value), vector
        assert end == len(surrounded) - 1, vector


@every_message
def test_every_prefix_is_corrupt(name: str) -> None:
    cls = message_classes()[name]
    for vector in vector_files.load(name).vectors:
        for size in range(len(vector.data)):
            with pytest.raises(CorruptFrame):
                decode(cls, vector.version, vector.data[:size])
