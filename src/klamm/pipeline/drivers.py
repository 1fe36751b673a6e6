"""Which Java class speaks to which database. Sources and sinks must agree: Spark cannot always find it by itself."""

from __future__ import annotations

_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "sqlite": "org.sqlite.JDBC",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
}


def database_kind(url: str) -> str:
    """`postgresql` of jdbc:postgresql://host/database."""
    return url.removeprefix("jdbc:").partition(":")[0].lower()


def driver_of(url: str) -> str | None:
    """The usual class, or None where the user has to name it."""
    return _DRIVERS.get(database_kind(url))
