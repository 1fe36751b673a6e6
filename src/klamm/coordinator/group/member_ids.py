"""Names for members that come without one."""

from __future__ import annotations

from klamm.base.chance import Chance


def new_member_id(prefix: str, chance: Chance) -> str:
    """The client's id (or its instance's) and a random UUID as Java prints it."""
    raw = bytearray(chance.randbytes(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{prefix}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
