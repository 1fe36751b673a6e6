"""Where checks put what they find. A key that could not be read is not judged again: one mistake, one problem."""

from dataclasses import dataclass

from klamm.pipeline.spec.kinds import Reading
from klamm.pipeline.spec.model.pipeline import Pipeline
from klamm.pipeline.spec.problems import Path
from klamm.pipeline.spec.sections import keys_of


@dataclass(frozen=True, slots=True)
class Report:
    """A pipeline under examination."""

    pipeline: Pipeline
    reading: Reading

    def say(
        self,
        section: object,
        key: str,
        *,
        expected: str,
        found: str,
        near: str | None = None,
        involves: tuple[str, ...] = (),
    ) -> None:
        """Note a problem at a key, unless it or another that the judgement rests on could not be read."""
        if any(self.is_bad(section, each) for each in (key, *involves)):
            return
        path = self._written(section, key)
        mark = self.reading.marks.get(path, self.reading.marks.get(path[:-1]))
        self.reading.note(path, mark, expected=expected, found=found, near=near)

    def is_bad(self, section: object, *keys: str) -> bool:
        """Whether any of the section's keys could not be read."""
        path = self.reading.path_of(section)
        return any(
            self.reading.is_bad((*path, name)) for key in keys for name in _spellings(section, key)
        )

    def are_bad(self, *keys: str) -> bool:
        """Whether something at or below any of the pipeline's own keys could not be read."""
        return self.is_bad(self.pipeline, *keys)

    def lost_any(self, key: str) -> bool:
        """Whether a section of a list under the pipeline's key is missing because it could not be read."""
        names = _spellings(self.pipeline, key)
        return any(
            bad[0] in names and (len(bad) == 1 or (len(bad) == 2 and isinstance(bad[1], int)))
            for bad in self.reading.bad_paths
            if bad
        )

    def _written(self, section: object, key: str) -> Path:
        """The path under the name that the file uses."""
        path = self.reading.path_of(section)
        for name in _spellings(section, key):
            if (*path, name) in self.reading.marks:
                return (*path, name)
        return (*path, key)


def _spellings(section: object, key: str) -> tuple[str, ...]:
    return next((each.names for each in keys_of(type(section)) if each.name == key), (key,))
