"""klamm's table of APIs against the one in Kafka's schemas."""

from golden.vector_files import APIS as KAFKAS_TABLE
from klamm.protocol.apis import APIS, Api


def as_line(api: Api) -> str:
    flexible = "none" if api.flexible_since is None else f"{api.flexible_since}+"
    versions = f"{api.lowest}-{api.highest_stable}"
    return f"{api.key} {api.title} {versions} {flexible} {','.join(sorted(api.listeners))}"


def test_table_of_apis_is_kafkas() -> None:
    assert sorted(map(as_line, APIS.values())) == sorted(KAFKAS_TABLE.read_text().splitlines())


def test_unstable_versions_are_declared_but_not_among_the_stable_ones() -> None:
    for api in APIS.values():
        assert api.request.SCHEMA.versions == (api.lowest, api.highest)
        assert api.response.SCHEMA.versions == (api.lowest, api.highest)
