"""Every request decoder, and the request header.

Of the versions the oldest, the last before compact lengths, and the newest; tests/protocol goes through all of them.
"""

from collections.abc import Sequence
from functools import cache

from fuzz.samples import encoded_samples
from fuzz.target import Target
from klamm.base.errors import CorruptFrame
from klamm.protocol.apis import APIS, Api
from klamm.protocol.compile import decoder, encode
from klamm.protocol.declare import schema_of
from klamm.protocol.messages.headers import RequestHeader
from klamm.server.dispatch import read_client_id


@cache
def _versions() -> list[tuple[Api, int]]:
    found = []
    for api in APIS.values():
        flexible = schema_of(api.request).flexible_since
        telling = {api.lowest, api.highest} | ({flexible - 1} if flexible else set())
        found += [(api, version) for version in sorted(telling) if version >= api.lowest]
    return found


def _decode(data: bytes) -> None:
    """The first two bytes choose the decoder, the others are the request."""
    if len(data) < 2:
        return
    versions = _versions()
    api, version = versions[int.from_bytes(data[:2], "big") % len(versions)]
    decode = decoder(api.request, version)
    try:
        message, end = decode(data[2:])
    except CorruptFrame:
        return
    # What was understood can be said again.
    again, _ = decode(encode(message, version))
    assert again == message
    assert end <= len(data) - 2


def _decode_header(data: bytes) -> None:
    if len(data) < 10:
        return
    try:
        read_client_id(memoryview(data), int.from_bytes(data[8:10], "big", signed=True), True)
    except CorruptFrame:
        return


def _seeds() -> Sequence[bytes]:
    return [
        number.to_bytes(2, "big") + sample
        for number, (api, version) in enumerate(_versions())
        for sample in encoded_samples(api.request, version)
    ]


def _header_seeds() -> Sequence[bytes]:
    return [sample + b"\x02\x01\x00\x05\x02ab" for sample in encoded_samples(RequestHeader, 2)]


REQUESTS = Target("requests", _decode, _seeds)
HEADERS = Target("headers", _decode_header, _header_seeds)
