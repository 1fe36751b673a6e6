"""XXH3 with 64 bits and without a seed: the hash that Kafka takes of what a group's topics look like.

Some hundred bytes are hashed when a topic changes, which is not worth a library. Follows xxHash's specification
(XXH3_64bits, version 0.8); the inputs' lengths decide between four ways of reading them.
"""

from __future__ import annotations

from struct import Struct, unpack_from

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK = 0xFFFF_FFFF_FFFF_FFFF
_PRIME32_1, _PRIME32_2, _PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME64_1, _PRIME64_2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
_PRIME64_3, _PRIME64_4 = 0x165667B19E3779F9, 0x85EBCA77C2B2AE63
_PRIME64_5 = 0x27D4EB2F165667C5
_PRIME_MX1, _PRIME_MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25

_STRIPE_BYTES = 64
_STRIPES_PER_BLOCK = 16
_BLOCK_BYTES = _STRIPE_BYTES * _STRIPES_PER_BLOCK
# Where in the secret the last stripe, the scrambling and the merging begin.
_LAST_STRIPE_SECRET = len(_SECRET) - _STRIPE_BYTES - 7
_SCRAMBLE_SECRET = len(_SECRET) - _STRIPE_BYTES
_MERGE_SECRET = 11

_LONG = Struct("<Q")
_STRIPE = Struct("<8Q")


def xxh3_64(data: bytes) -> int:
    """The hash as an unsigned number."""
    size = len(data)
    if size <= 16:
        return _short(data, size)
    if size <= 128:
        return _to_128(data, size)
    if size <= 240:
        return _to_240(data, size)
    return _long(data, size)


def _short(data: bytes, size: int) -> int:
    if size > 8:
        low = _word(data, 0) ^ _secret(24) ^ _secret(32)
        high = _word(data, size - 8) ^ _secret(40) ^ _secret(48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _fold(low, high))
    if size >= 4:
        (first,) = unpack_from("<I", data)
        (last,) = unpack_from("<I", data, size - 4)
        return _mix_short(last + (first << 32) ^ _secret(8) ^ _secret(16), size)
    if size > 0:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
        low, high = unpack_from("<2I", _SECRET)
        return _old_avalanche(combined ^ low ^ high)
    return _old_avalanche(_secret(56) ^ _secret(64))


def _to_128(data: bytes, size: int) -> int:
    total = size * _PRIME64_1
    # From both ends towards the middle.
    for step in reversed(range((size - 1) // 32 + 1)):
        total += _mix16(data, 16 * step, 32 * step)
        total += _mix16(data, size - 16 * (step + 1), 32 * step + 16)
    return _avalanche(total)


def _to_240(data: bytes, size: int) -> int:
    total = size * _PRIME64_1
    for step in range(8):
        total += _mix16(data, 16 * step, 16 * step)
    total = _avalanche(total)
    for step in range(8, size // 16):
        total += _mix16(data, 16 * step, 16 * (step - 8) + 3)
    return _avalanche(total + _mix16(data, size - 16, 136 - 17))


def _long(data: bytes, size: int) -> int:
    lanes = [
        *(_PRIME32_3, _PRIME64_1, _PRIME64_2, _PRIME64_3),
        *(_PRIME64_4, _PRIME32_2, _PRIME64_5, _PRIME32_1),
    ]
    for number in range((size - 1) // _STRIPE_BYTES):
        place = number % _STRIPES_PER_BLOCK
        _accumulate(lanes, data, number * _STRIPE_BYTES, 8 * place)
        if place == _STRIPES_PER_BLOCK - 1:
            _scramble(lanes)
    _accumulate(lanes, data, size - _STRIPE_BYTES, _LAST_STRIPE_SECRET)
    total = size * _PRIME64_1
    for pair in range(4):
        total += _fold(
            lanes[2 * pair] ^ _secret(_MERGE_SECRET + 16 * pair),
            lanes[2 * pair + 1] ^ _secret(_MERGE_SECRET + 16 * pair + 8),
        )
    return _avalanche(total)


def _accumulate(lanes: list[int], data: bytes, at: int, secret_at: int) -> None:
    words = _STRIPE.unpack_from(data, at)
    keys = _STRIPE.unpack_from(_SECRET, secret_at)
    for lane, (word, key) in enumerate(zip(words, keys, strict=True)):
        mixed = word ^ key
        lanes[lane ^ 1] = (lanes[lane ^ 1] + word) & _MASK
        lanes[lane] = (lanes[lane] + (mixed & 0xFFFF_FFFF) * (mixed >> 32)) & _MASK


def _scramble(lanes: list[int]) -> None:
    for lane, key in enumerate(_STRIPE.unpack_from(_SECRET, _SCRAMBLE_SECRET)):
        value = lanes[lane]
        lanes[lane] = (value ^ value >> 47 ^ key) * _PRIME32_1 & _MASK


def _word(data: bytes, at: int) -> int:
    (value,) = _LONG.unpack_from(data, at)
    return int(value)


def _secret(at: int) -> int:
    return _word(_SECRET, at)


def _fold(left: int, right: int) -> int:
    product = left * right
    return product & _MASK ^ product >> 64


def _mix16(data: bytes, at: int, secret_at: int) -> int:
    return _fold(_word(data, at) ^ _secret(secret_at), _word(data, at + 8) ^ _secret(secret_at + 8))


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _mix_short(value: int, size: int) -> int:
    value ^= _rotate(value, 49) ^ _rotate(value, 24)
    value = value * _PRIME_MX2 & _MASK
    value ^= (value >> 35) + size
    value = value * _PRIME_MX2 & _MASK
    return value ^ value >> 28


def _avalanche(value: int) -> int:
    value &= _MASK
    value ^= value >> 37
    value = value * _PRIME_MX1 & _MASK
    return value ^ value >> 32


def _old_avalanche(value: int) -> int:
    """The one of the older XXH64, which the shortest inputs still end with."""
    value ^= value >> 33
    value = value * _PRIME64_2 & _MASK
    value ^= value >> 29
    value = value * _PRIME64_3 & _MASK
    return value ^ value >> 32
