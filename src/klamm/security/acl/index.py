"""AclIndex: finds the rules that speak of a resource, among very many, without looking at the others.

A rule is removed by its id and takes no other with it, whatever else they have in common (CVE-2024-27309).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from klamm.base.acl import WILDCARD, PatternType
from klamm.base.ids import Uuid
from klamm.metadata.image import AclImage

_Bucket = dict[Uuid, AclImage]
_LITERAL, _PREFIXED = int(PatternType.LITERAL), int(PatternType.PREFIXED)


class AclIndex:
    __slots__ = ("_all", "_lengths", "_literal", "_prefixed")

    def __init__(self) -> None:
        self._all: _Bucket = {}
        # By type and name.
        self._literal: dict[tuple[int, str], _Bucket] = {}
        self._prefixed: dict[tuple[int, str], _Bucket] = {}
        # For each type how many prefixes there are of each length: only those lengths are tried.
        self._lengths: dict[int, dict[int, int]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[AclImage]:
        return iter(self._all.values())

    def follow(self, acls: Mapping[Uuid, AclImage]) -> bool:
        """Hold these and no others; says whether that is news."""
        known = self._all
        gone = [each for each, acl in known.items() if acls.get(each) != acl]
        for each in gone:
            self.remove(each)
        new = [each for each in acls if each not in known]
        for each in new:
            self.add(each, acls[each])
        return bool(gone or new)

    def add(self, acl_id: Uuid, acl: AclImage) -> None:
        self.remove(acl_id)
        self._all[acl_id] = acl
        key = (acl.resource_type, acl.resource_name)
        if acl.pattern_type == _LITERAL:
            self._literal.setdefault(key, {})[acl_id] = acl
        elif acl.pattern_type == _PREFIXED:
            bucket = self._prefixed.setdefault(key, {})
            if not bucket:
                self._count_prefix(acl, 1)
            bucket[acl_id] = acl

    def remove(self, acl_id: Uuid) -> None:
        acl = self._all.pop(acl_id, None)
        if acl is None:
            return
        key = (acl.resource_type, acl.resource_name)
        buckets = self._literal if acl.pattern_type == _LITERAL else self._prefixed
        bucket = buckets.get(key)
        if bucket is None:
            return
        bucket.pop(acl_id, None)
        if not bucket:
            del buckets[key]
            if acl.pattern_type == _PREFIXED:
                self._count_prefix(acl, -1)

    def about(self, resource_type: int, name: str) -> Iterator[AclImage]:
        """All rules whose pattern covers the resource."""
        literal = self._literal
        if bucket := literal.get((resource_type, name)):
            yield from bucket.values()
        if name != WILDCARD and (bucket := literal.get((resource_type, WILDCARD))):
            yield from bucket.values()
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name) and (
                bucket := self._prefixed.get((resource_type, name[:length]))
            ):
                yield from bucket.values()

    def of_type(self, resource_type: int) -> Iterator[AclImage]:
        return (acl for acl in self._all.values() if acl.resource_type == resource_type)

    def _count_prefix(self, acl: AclImage, change: int) -> None:
        lengths = self._lengths.setdefault(acl.resource_type, {})
        length = len(acl.resource_name)
        count = lengths.get(length, 0) + change
        if count:
            lengths[length] = count
        else:
            del lengths[length]
