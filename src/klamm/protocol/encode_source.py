"""Writes the encoder of one class in one version, as Python source.

The encoder is one function that appends to a bytearray. Fields of fixed width that follow each other are packed by
one `Struct`, together with the length of the next field and with the zero that stands for "no tagged fields".
"""

from __future__ import annotations

from struct import error, pack

from klamm.protocol import wire
from klamm.protocol.declare import Field, WireType, schema_of
from klamm.protocol.layout import fields_in, tagged_in
from klamm.protocol.source import SHORT, Page, packed, short_structs
from klamm.protocol.wire import MAX_STRING_BYTES

_NAMES: dict[str, object] = {
    "_pack": pack,
    "_put_uvarint": wire.put_uvarint,
    "_put_tagged_field": wire.put_tagged_field,
    "_too_long": wire.too_long,
    "_error": error,
}
_VARIABLES = "message out n fault len bytearray"


def encode_source(cls: type, version: int) -> Page:
    writer = _Encoder(version, flexible=schema_of(cls).is_flexible(version))
    return writer.write(cls)


class _Encoder:
    def __init__(self, version: int, *, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.page = Page(_NAMES, _VARIABLES)
        self.out = "out"
        self.codes = ""
        self.sources: list[str] = []

    def write(self, cls: type) -> Page:
        page = self.page
        with page.block("def encode(message, out):"):
            with page.block("try:"):
                self.struct(cls, "message", cls.__name__)
                self.flush()
                page.line("return")
            with page.block("except _error as fault:"):
                title = f"{cls.__name__} v{self.version}"
                page.line(f'raise ValueError(f"{title}: {{fault}}") from None')
        return page

    def struct(self, cls: type, owner: str, path: str) -> None:
        for field in fields_in(cls, self.version):
            self.field(field, f"{owner}.{field.name}", f"{path}.{field.name}")
        if self.flexible:
            self.tags(tagged_in(cls, self.version, flexible=True), owner, path)

    def field(self, field: Field, source: str, path: str) -> None:
        nullable = field.is_nullable_in(self.version)
        if field.type.struct is not None:
            null = 0 if field.tag is not None else 255
            self.nested(field.type.struct, source, path, null=null if nullable else None)
            return
        self.value(
            field.type, source, path, nullable=nullable, compact=field.compact and self.flexible
        )

    def value(
        self, wire: WireType, source: str, path: str, *, nullable: bool, compact: bool
    ) -> None:
        if wire.code:
            self.put(wire.code, source)
        else:
            self.sized(wire, source, path, nullable=nullable, compact=compact)

    def nested(self, cls: type, source: str, path: str, *, null: int | None) -> None:
        """`null` is the mark that says null: -1, but 0 in a tagged field."""
        page = self.page
        name = page.local(source.rpartition(".")[2])
        page.line(f"{name} = {source}")
        if null is None:
            self.struct(cls, name, path)
            return
        self.flush()
        with page.block(f"if {name} is None:"):
            page.line(f"{self.out}.append({null})")
        with page.block("else:"):
            page.line(f"{self.out}.append(1)")
            self.struct(cls, name, path)
            self.flush()

    def sized(
        self, wire: WireType, source: str, path: str, *, nullable: bool, compact: bool
    ) -> None:
        page = self.page
        name = page.local(source.rpartition(".")[2])
        page.line(f"{name} = {source}")
        if not nullable:
            self.body(wire, name, path, compact=compact)
            return
        self.flush()
        with page.block(f"if {name} is None:"):
            null = b"\0" if compact else b"\xff" * (2 if wire.name == "string" else 4)
            page.line(f"{self.out} += {null!r}")
        with page.block("else:"):
            self.body(wire, name, path, compact=compact)
            self.flush()

    def body(self, wire: WireType, name: str, path: str, *, compact: bool) -> None:
        """Length, then content. A string is encoded first: its length is counted in bytes."""
        if wire.element is not None and wire.element.code and wire.element.name != "uuid":
            self.numbers(wire.element.code, name, compact=compact)
            return
        page, out = self.page, self.out
        if wire.name == "string":
            page.line(f"{name} = {name}.encode()")
        if compact:
            self.flush()
            page.line(f"n = len({name}) + 1")
            if wire.name == "string":
                page.line(f'if n > {MAX_STRING_BYTES + 1}: _too_long("{path}", n - 1)')
            page.line(f"{out}.append(n) if n < 128 else _put_uvarint({out}, n)")
        else:
            self.put("h" if wire.name == "string" else "i", f"len({name})")
            self.flush()
        if wire.element is None:
            page.line(f"{out} += {name}")
        else:
            self.elements(wire.element, name, path)

    def numbers(self, code: str, name: str, *, compact: bool) -> None:
        self.flush()
        page, out = self.page, self.out
        length, count = ("B", "n + 1") if compact else ("i", "n")
        short = f"_pack_some_{length}{code.replace('?', 'o')}"
        page.names[short] = [layout.pack for layout in short_structs(length, code)]
        page.line(f"n = len({name})")
        page.line(f"if n < {SHORT}: {out} += {short}[n]({count}, *{name})")
        with page.block("else:"):
            page.line(f"_put_uvarint({out}, n + 1)" if compact else f"{out} += {short}[0](n)")
            page.line(f'{out} += _pack(f">{{n}}{code}", *{name})')

    def elements(self, element: WireType, name: str, path: str) -> None:
        item = self.page.local(f"{name}_item")
        with self.page.block(f"for {item} in {name}:"):
            if element.struct is not None:
                self.struct(element.struct, item, path)
            else:
                self.value(element, item, path, nullable=False, compact=self.flexible)
            self.flush()

    def tags(self, tagged: list[Field], owner: str, path: str) -> None:
        if not tagged:
            self.put("x", "")
            return
        self.flush()
        page, out = self.page, self.out
        tests = {field: self.differs(field, f"{owner}.{field.name}") for field in tagged}
        with page.block(f"if {' or '.join(tests.values())}:"):
            count, fields, value = page.local("count"), page.local("fields"), page.local("value")
            page.line(f"{count}, {fields} = 0, bytearray()")
            self.out = value
            for field, test in tests.items():
                with page.block(f"if {test}:"):
                    page.line(f"{value} = bytearray()")
                    self.field(field, f"{owner}.{field.name}", f"{path}.{field.name}")
                    self.flush()
                    page.line(f"_put_tagged_field({fields}, {field.tag}, {value})")
                    page.line(f"{count} += 1")
            self.out = out
            page.line(f"_put_uvarint({out}, {count}); {out} += {fields}")
        with page.block("else:"):
            page.line(f"{out}.append(0)")

    def differs(self, field: Field, source: str) -> str:
        """A test for a field that does not hold its default. Structs are compared field by field, in place."""
        if field.default is None:
            return f"{source} is not None"
        if field.type.struct is not None:
            inner = schema_of(field.type.struct).fields
            test = " or ".join(self.differs(each, f"{source}.{each.name}") for each in inner)
        elif field.type.name == "array":
            test = f"len({source})"
        elif field.type.name == "uuid":
            test = f"{source} != {self.page.refer('_zero_uuid', field.default)}"
        else:
            test = f"{source} != {field.default!r}"
        return f"({source} is None or {test})" if field.type.nullable else test

    def put(self, code: str, source: str) -> None:
        """Note a fixed-width value; `flush` packs all that were noted at once."""
        self.codes += code
        if source:
            self.sources.append(source)

    def flush(self) -> None:
        if not self.codes:
            return
        if self.codes == "x":
            self.page.line(f"{self.out}.append(0)")
        else:
            name = f"_pack_{self.codes.replace('?', 'o')}"
            self.page.names[name] = packed(self.codes).pack
            self.page.line(f"{self.out} += {name}({', '.join(self.sources)})")
        self.codes, self.sources = "", []
