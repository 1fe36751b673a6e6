"""Records the golden vectors anew: `python tests/golden/record.py`.

Asks Kafka's own Java classes (tests/java/RecordVectors.java) for the bytes of sample values of
every message in every version. Needed only when the samples change or Kafka has a new version;
a test sees to it that the files are what this would write.
"""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))  # as pytest does it by the setting `pythonpath`

from golden import vector_files  # noqa: E402
from golden.samples import samples  # noqa: E402
from golden.schemas import Schema, read_schemas  # noqa: E402
from golden.vector_files import Vector, VectorFile, compact, dump  # noqa: E402
from support import kafka_jars  # noqa: E402


def record() -> dict[Path, str]:
    """What the files have to say."""
    schemas = read_schemas(Path(kafka_jars.classpath()).parent)
    files = {vector_files.path(name): dump(file) for name, file in _vectors(schemas).items()}
    apis = sorted((s for s in schemas if s.listeners), key=lambda schema: schema.api_key or 0)
    return files | {vector_files.APIS: "".join(map(_api_line, apis))}


def _vectors(schemas: list[Schema]) -> dict[str, VectorFile]:
    asked = [
        (schema, version, sample, value)
        for schema in schemas
        for version in schema.versions
        for sample, value in samples(schema, version).items()
    ]
    answers = kafka_jars.run_source(
        TESTS / "java" / "RecordVectors.java",
        stdin="".join(
            f"{schema.java_class} {version} {sample} {compact(value)}\n"
            for schema, version, sample, value in asked
        ),
    ).splitlines()
    files = {schema.name: VectorFile(schema.api_key, []) for schema in schemas}
    for (schema, version, sample, value), answer in zip(asked, answers, strict=True):
        vector = Vector(version, sample, value, bytes.fromhex(answer))
        files[schema.name].vectors.append(vector)
    return files


def _api_line(schema: Schema) -> str:
    name = schema.name.removesuffix("Request")
    stable = schema.versions[-1] - schema.has_unstable_version
    flexible = f"{schema.flexible.start}+" if schema.flexible else "none"
    listeners = ",".join(sorted(schema.listeners))
    return f"{schema.api_key} {name} {schema.versions[0]}-{stable} {flexible} {listeners}\n"


def main() -> None:
    vector_files.FOLDER.mkdir(exist_ok=True)
    files = record()
    for path in vector_files.FOLDER.glob("*.txt"):
        if path not in files:
            path.unlink()
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
