"""Writes the decoder of one class in one version, as Python source.

The decoder is one function without calls for the common case: nested structs and arrays become nested blocks. Fields
of fixed width that follow each other are read by one `Struct`, together with the length that opens the next field of
variable width. Every length is held against the bytes that are left before anything is sliced or allocated.
"""

from __future__ import annotations

from struct import error, unpack_from

from klamm.base.errors import CorruptFrame
from klamm.base.ids import Uuid
from klamm.protocol import wire
from klamm.protocol.declare import Field, WireType, schema_of
from klamm.protocol.layout import fields_in, least_size, memory_cost, tagged_in
from klamm.protocol.source import SHORT, Page, packed, short_structs
from klamm.protocol.wire import MAX_STRING_BYTES


def _uuid(raw: bytes) -> Uuid:
    return bytes.__new__(Uuid, raw)


_NAMES: dict[str, object] = {
    "_new": object.__new__,
    "_uuid": _uuid,
    "_unpack_from": unpack_from,
    "_uvarint_after": wire.uvarint_after,
    "_tag_count": wire.tag_count,
    "_tag_header": wire.tag_header,
    "_skip_tags": wire.skip_tags,
    "_room_after_tags": wire.room_after_tags,
    "_bad_length": wire.bad_length,
    "_too_many": wire.too_many,
    "_unexpected_null": wire.unexpected_null,
    "_wrong_tag_size": wire.wrong_tag_size,
    "_wide_text": wire.wide_text,
    "_error": error,
    "_CorruptFrame": CorruptFrame,
    "_ROOM": wire.OBJECT_ROOM,
}
_VARIABLES = "data at room size view n stop mark fault str len range max min memoryview"


def decode_source(cls: type, version: int) -> Page:
    writer = _Decoder(version, flexible=schema_of(cls).is_flexible(version))
    return writer.write(cls)


class _Decoder:
    def __init__(self, version: int, *, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.page = Page(_NAMES, _VARIABLES)
        self.uses_view = self.uses_room = False
        self.depth = 0  # in how many arrays the field stands that is being written
        self.codes = ""
        self.targets: list[str] = []
        self.after: list[str] = []

    def write(self, cls: type) -> Page:
        page = self.page
        with page.block("def decode(data, at=0, room=_ROOM):"):
            page.line("size = len(data)")
            top = page.mark()
            with page.block("try:"):
                result = self.new_struct(cls, "message")
                self.struct(cls, result, cls.__name__)
                self.flush()
                page.line(f"return {result}, at")
            with page.block("except (_error, IndexError) as fault:"):
                title = f"{cls.__name__} v{self.version}"
                page.line(f'raise _CorruptFrame(f"{title} ends early: {{fault}}") from None')
            with page.block("except UnicodeDecodeError as fault:"):
                page.line(f'raise _CorruptFrame(f"{title}: {{fault}}") from None')
            if self.uses_view:
                page.insert(top, "view = memoryview(data)")
            if self.uses_room:
                own = f"min(size * {wire.OBJECT_BYTES_PER_FRAME_BYTE}, _ROOM)"
                page.insert(top, f"room = max(room, {own})")
        return page

    def new_struct(self, cls: type, wish: str) -> str:
        name = self.page.local(wish)
        self.page.line(f"{name} = _new({self.page.refer(cls.__name__, cls)})")
        return name

    def struct(self, cls: type, owner: str, path: str) -> None:
        tagged = tagged_in(cls, self.version, flexible=self.flexible)
        present = fields_in(cls, self.version)
        for field in schema_of(cls).fields:
            if field not in present:
                self.page.line(f"{owner}.{field.name} = {self.default(field)}")
        for field in present:
            self.field(field, f"{owner}.{field.name}", f"{path}.{field.name}")
        if self.flexible:
            self.tags(tagged, owner, path)

    def default(self, field: Field) -> str:
        if field.factory is not None:
            return f"{self.page.refer(field.factory.__name__, field.factory)}()"
        if field.type.name == "uuid":
            return self.page.refer("_zero_uuid", field.default)
        return repr(field.default)

    def field(self, field: Field, target: str, path: str) -> None:
        nullable = field.is_nullable_in(self.version)
        if field.type.struct is not None:
            null = "mark == 0" if field.tag is not None else "mark < 0"
            self.nested(field.type.struct, target, path, null=null if nullable else None)
            return
        self.value(
            field.type, target, path, nullable=nullable, compact=field.compact and self.flexible
        )

    def value(
        self, wire: WireType, target: str, path: str, *, nullable: bool, compact: bool
    ) -> None:
        if wire.name == "uuid":
            raw = self.page.local("raw")
            self.read(wire.code, raw)
            self.after.append(f"{target} = _uuid({raw})")
        elif wire.code:
            self.read(wire.code, target)
        else:
            self.sized(wire, target, path, nullable=nullable, compact=compact)

    def nested(self, cls: type, target: str, path: str, *, null: str | None) -> None:
        """`null` is the test for a mark that says null: -1, but 0 in a tagged field."""
        if null is None:
            name = self.new_struct(cls, target.rpartition(".")[2])
            self.page.line(f"{target} = {name}")
            self.struct(cls, name, path)
            return
        self.read("b", "mark")
        self.flush()
        with self.page.block(f"if {null}:"):
            self.page.line(f"{target} = None")
        with self.page.block("else:"):
            name = self.new_struct(cls, target.rpartition(".")[2])
            self.page.line(f"{target} = {name}")
            self.struct(cls, name, path)
            self.flush()

    def sized(
        self, wire: WireType, target: str, path: str, *, nullable: bool, compact: bool
    ) -> None:
        """A value that opens with its length. Compact lengths are one too high, so that zero can mean null."""
        page = self.page
        if compact:
            self.read("B", "n")
            self.flush()
            page.line("if n > 127: n, at = _uvarint_after(data, at, n)")
        else:
            self.read("h" if wire.name == "string" else "i", "n")
            self.flush()
        if wire.element is not None:
            self.array(wire.element, target, path, compact=compact)
        else:
            self.sliced(wire, target, path, compact=compact)
        if not compact:
            with page.block("elif n != -1:"):
                page.line(f'_bad_length("{path}", n, at)')
        with page.block("else:"):
            page.line(f"{target} = None" if nullable else f'_unexpected_null("{path}", at)')

    def sliced(self, wire: WireType, target: str, path: str, *, compact: bool) -> None:
        page = self.page
        is_text = wire.name == "string"
        self.uses_view |= not is_text
        with page.block("if n:" if compact else "if n >= 0:"):
            page.line("stop = at + n - 1" if compact else "stop = at + n")
            limit = f" or n > {MAX_STRING_BYTES + 1}" if is_text and compact else ""
            page.line(f'if stop > size{limit}: _bad_length("{path}", n, at)')
            text = 'str(data[at:stop], "utf-8")'
            page.line(f"{target} = {text if is_text else 'view[at:stop]'}")
            if is_text and self.depth:
                page.line(f"if len({target}) != stop - at: room = _wide_text({target}, at, room)")
            page.line("at = stop")

    def array(self, element: WireType, target: str, path: str, *, compact: bool) -> None:
        page = self.page
        self.uses_room = True
        least = max(1, least_size(element, self.version, flexible=self.flexible))
        cost = 8 + memory_cost(element)
        with page.block("if n > 1:" if compact else "if n > 0:"):
            if compact:
                page.line("n -= 1")
            page.line(
                f'if n * {least} > size - at or n * {cost} > room: _too_many("{path}", n, at)'
            )
            page.line(f"room -= n * {cost}")
            if element.code and element.name != "uuid":
                self.numbers(element, target)
            else:
                self.elements(element, target, path)
        with page.block("elif n == 1:" if compact else "elif n == 0:"):
            page.line(f"{target} = []")

    def numbers(self, element: WireType, target: str) -> None:
        page, code = self.page, element.code
        short = f"_unpack_some_{code.replace('?', 'o')}"
        page.names[short] = [layout.unpack_from for layout in short_structs("", code)]
        many = f'_unpack_from(f">{{n}}{code}", data, at)'
        page.line(f"{target} = [*({short}[n](data, at) if n < {SHORT} else {many})]")
        page.line(f"at += n * {element.size}")

    def elements(self, element: WireType, target: str, path: str) -> None:
        page = self.page
        items = page.local(target.rpartition(".")[2])
        page.line(f"{target} = {items} = []")
        self.depth += 1
        with page.block("for _ in range(n):"):
            if element.struct is not None:
                item = self.new_struct(element.struct, f"{items}_item")
                self.struct(element.struct, item, path)
            else:
                item = page.local(f"{items}_item")
                self.value(element, item, path, nullable=False, compact=self.flexible)
            self.flush()
            page.line(f"{items}.append({item})")
        self.depth -= 1

    def tags(self, tagged: list[Field], owner: str, path: str) -> None:
        page = self.page
        self.read("B", "n")
        self.flush()
        if not tagged:
            page.line("if n: at, room = _skip_tags(data, at, n, room)")
            return
        tag, stop = page.local("tag"), page.local("tag_stop")
        with page.block("if n:"):
            page.line("n, at = _tag_count(data, at, n)")
            page.line("room = _room_after_tags(n, at, room)")
            with page.block("for _ in range(n):"):
                page.line(f"{tag}, at, {stop} = _tag_header(data, at)")
                branch = "if"
                for field in tagged:
                    with page.block(f"{branch} {tag} == {field.tag}:"):
                        self.field(field, f"{owner}.{field.name}", f"{path}.{field.name}")
                        self.flush()
                        page.line(
                            f'if at != {stop}: _wrong_tag_size("{path}.{field.name}", at, {stop})'
                        )
                    branch = "elif"
                with page.block("else:"):
                    page.line(f"at = {stop}")

    def read(self, code: str, target: str) -> None:
        """Note a fixed-width value; `flush` reads all that were noted at once."""
        self.codes += code
        self.targets.append(target)

    def flush(self) -> None:
        if not self.codes:
            return
        if self.codes == "B":
            self.page.line(f"{self.targets[0]} = data[at]; at += 1")
        else:
            layout = packed(self.codes)
            name = f"_unpack_{self.codes.replace('?', 'o')}"
            self.page.names[name] = layout.unpack_from
            targets = ", ".join(self.targets) + ("," if len(self.targets) == 1 else "")
            self.page.line(f"{targets} = {name}(data, at); at += {layout.size}")
        for line in self.after:
            self.page.line(line)
        self.codes, self.targets, self.after = "", [], []
