"""What differs between databases, as SQL. No Spark and no connection here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from klamm.pipeline.drivers import database_kind
from klamm.pipeline.sinks.trouble import SinkFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A database that can upsert."""

    quote: str = '"'
    create_table: str = "CREATE TABLE"
    # How a table is told that the key is unique, where the table's maker has not said it.
    make_unique: str = "ALTER TABLE {table} ADD PRIMARY KEY ({key})"
    # What follows the INSERT: {key}, and {changes} made of `change`; `nothing` if the key is all there is.
    on_conflict: str = "ON CONFLICT ({key}) DO UPDATE SET {changes}"
    change: str = "{column} = excluded.{column}"
    nothing: str = "ON CONFLICT ({key}) DO NOTHING"

    def quoted(self, name: str) -> str:
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def listed(self, names: Sequence[str]) -> str:
        return ", ".join(self.quoted(name) for name in names)

    def create_staging(self, staging: str, table: str, columns: Sequence[str]) -> str:
        """As the table's columns are: so the database's own types decide, not those that Spark would choose."""
        return f"{self.create_table} {staging} AS SELECT {self.listed(columns)} FROM {table} WHERE 1 = 0"

    def create_like(self, table: str, staging: str, key: Sequence[str]) -> list[str]:
        made = f"CREATE TABLE {table} AS SELECT * FROM {staging} WHERE 1 = 0"
        unique = self.make_unique.format(
            table=table, name=table.replace(".", "_"), key=self.listed(key)
        )
        return [made, unique]

    def upsert(
        self, table: str, staging: str, *, columns: Sequence[str], key: Sequence[str]
    ) -> str:
        """A task of Spark that was repeated leaves its rows twice in the staging table; one of each is taken."""
        names, key_names = self.listed(columns), self.listed(key)
        changes = ", ".join(
            self.change.format(column=self.quoted(name)) for name in columns if name not in key
        )
        ending = self.on_conflict if changes else self.nothing
        one_each = (
            f"SELECT {names}, ROW_NUMBER() OVER (PARTITION BY {key_names} ORDER BY {key_names}) AS klamm_rank "
            f"FROM {staging}"
        )
        return (
            f"INSERT INTO {table} ({names}) SELECT {names} FROM ({one_each}) klamm_rows WHERE klamm_rank = 1 "
            + ending.format(key=key_names, changes=changes, first=self.quoted(key[0]))
        )


_DIALECTS = {
    "postgresql": Dialect(
        # What is dropped a moment later need not be logged.
        create_table="CREATE UNLOGGED TABLE",
    ),
    "sqlite": Dialect(make_unique="CREATE UNIQUE INDEX {name}_key ON {table} ({key})"),
    "mysql": Dialect(
        quote="`",
        on_conflict="ON DUPLICATE KEY UPDATE {changes}",
        change="{column} = VALUES({column})",
        nothing="ON DUPLICATE KEY UPDATE {first} = VALUES({first})",
    ),
}
_DIALECTS["mariadb"] = _DIALECTS["mysql"]


def dialect_of(url: str) -> Dialect:
    name = database_kind(url)
    if name not in _DIALECTS:
        raise SinkFailed(
            f"upsert is not known for {name} databases, only for {', '.join(_DIALECTS)}; use mode: append and let the "
            "database merge"
        )
    return _DIALECTS[name]
