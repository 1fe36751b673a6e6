"""As much of JSON Schema as the pipeline's own schema uses, written from the standard and not from the model."""

import re
from typing import Any

Schema = dict[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KNOWN = {
    *("type", "enum", "const", "pattern", "minLength", "minimum", "maximum", "items"),
    *("properties", "patternProperties", "additionalProperties", "required", "minProperties"),
    *("anyOf", "allOf", "$ref", "$defs", "$schema", "title", "description", "default"),
}


def is_valid(value: object, schema: Schema) -> bool:
    return _Validator(schema).takes(value, schema)


class _Validator:
    def __init__(self, root: Schema) -> None:
        self.defs = root["$defs"]

    def takes(self, value: object, schema: object) -> bool:
        assert isinstance(schema, dict), schema
        assert set(schema) <= _KNOWN, set(schema) - _KNOWN
        if "$ref" in schema and not self.takes(value, self.defs[schema["$ref"].split("/")[-1]]):
            return False
        if "type" in schema and not _has_type(value, schema["type"]):
            return False
        if value not in schema.get("enum", [value]) or schema.get("const", value) != value:
            return False
        if isinstance(value, str) and not _takes_text(value, schema):
            return False
        if isinstance(value, int | float) and not (
            schema.get("minimum", value) <= value <= schema.get("maximum", value)
        ):
            return False
        if isinstance(value, list) and not self.takes_items(value, schema):
            return False
        if isinstance(value, dict) and not self.takes_mapping(value, schema):
            return False
        if "anyOf" in schema and not any(self.takes(value, each) for each in schema["anyOf"]):
            return False
        return all(self.takes(value, each) for each in schema.get("allOf", []))

    def takes_items(self, value: list[object], schema: Schema) -> bool:
        return "items" not in schema or all(self.takes(each, schema["items"]) for each in value)

    def takes_mapping(self, value: Schema, schema: Schema) -> bool:
        if not set(schema.get("required", [])) <= set(value):
            return False
        if len(value) < schema.get("minProperties", 0):
            return False
        properties = schema.get("properties", {})
        patterns = schema.get("patternProperties", {})
        for name, inner in value.items():
            matching = [each for pattern, each in patterns.items() if re.search(pattern, name)]
            if name in properties:
                matching.append(properties[name])
            if not all(self.takes(inner, each) for each in matching):
                return False
            rest = schema.get("additionalProperties", True)
            if not matching and (
                rest is False or (rest is not True and not self.takes(inner, rest))
            ):
                return False
        return True


def _has_type(value: object, types: str | list[str]) -> bool:
    names = [types] if isinstance(types, str) else types
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)


def _takes_text(value: str, schema: Schema) -> bool:
    if len(value) < schema.get("minLength", 0):
        return False
    return "pattern" not in schema or re.search(schema["pattern"], value) is not None
