"""A pipeline in code: the same model, put together call by call, checked by the same rules as a file.

flow = PipelineBuilder("page-stats", dead_letter="clicks.dlq")
flow.read(TopicSource(topics=("clicks",), schema="page string, ms int, at timestamp"))
flow.watermark("at", "10 seconds")
flow.sql("SELECT page, avg(ms) ms FROM input GROUP BY page")
flow.write(TopicSink(topic="page-stats", key="page"))
pipeline = flow.build()
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from klamm.pipeline.spec.model.pipeline import Pipeline
from klamm.pipeline.spec.model.sinks import Sink
from klamm.pipeline.spec.model.sources import Otherwise, Source, Table, Watermark
from klamm.pipeline.spec.model.steps import Expectation, Function, PythonStep, SqlStep, Step
from klamm.pipeline.spec.model.values import Duration, Trigger
from klamm.pipeline.spec.reading import checked

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])


class PipelineBuilder:
    """Collects the parts of a pipeline. Each call gives the builder back; `build` checks the whole."""

    def __init__(
        self,
        name: str,
        *,
        description: str | None = None,
        bootstrap: str | None = None,
        client: Mapping[str, str] | None = None,
        dead_letter: str | None = None,
        trigger: Trigger | None = None,
        checkpoint: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self._pipeline = Pipeline(
            name=name,
            description=description,
            bootstrap=bootstrap,
            client=_pairs(client),
            sources=(),
            sinks=(),
            dead_letter=dead_letter,
            trigger=trigger or Trigger(),
            checkpoint=checkpoint,
            options=_pairs(options),
        )

    def read(self, source: Source) -> "PipelineBuilder":
        """Read a source; SQL knows it by its name."""
        return self._with(sources=(*self._pipeline.sources, source))

    def table(self, table: Table) -> "PipelineBuilder":
        """Have a fixed table to join with."""
        return self._with(tables=(*self._pipeline.tables, table))

    def watermark(self, column: str, delay: str | Duration) -> "PipelineBuilder":
        """Say how late the records of the one source may come."""
        return self._with(watermark=watermark(column, delay))

    def sql(
        self, text: str, *, view: str | None = None, watermark: Watermark | None = None
    ) -> "PipelineBuilder":
        """Add a SELECT over the views so far."""
        return self.step(SqlStep(sql=text, view=view, watermark=watermark))

    def step(self, step: Step) -> "PipelineBuilder":
        """Add any step."""
        return self._with(steps=(*self._pipeline.steps, step))

    def python(self, function: FunctionT) -> FunctionT:
        """Add a function from DataFrame to DataFrame as a step. A decorator: the function stays what it is."""
        self.step(PythonStep(python=reference_to(function)))
        return function

    def function(
        self, returns: str, *, name: str | None = None
    ) -> Callable[[FunctionT], FunctionT]:
        """Let SQL call a function over Arrow arrays. A decorator, with the type that the function returns."""

        def register(function: FunctionT) -> FunctionT:
            reference = reference_to(function)
            called = name or reference.rpartition(":")[2]
            added = Function(name=called, arrow=reference, returns=returns)
            self._with(functions=(*self._pipeline.functions, added))
            return function

        return register

    def expect(
        self,
        name: str,
        check: str,
        *,
        otherwise: Otherwise = Otherwise.FAIL,
        on: str | None = None,
    ) -> "PipelineBuilder":
        """Say what must be true of every record."""
        added = Expectation(name=name, check=check, otherwise=otherwise, on=on)
        return self._with(expect=(*self._pipeline.expect, added))

    def write(self, sink: Sink) -> "PipelineBuilder":
        """Write the last step's result, or the view that the sink names."""
        return self._with(sinks=(*self._pipeline.sinks, sink))

    def build(self) -> Pipeline:
        """The pipeline. Raises BadPipeline with every problem in it."""
        return checked(self._pipeline)

    def _with(self, **parts: object) -> "PipelineBuilder":
        self._pipeline = replace(self._pipeline, **parts)  # type: ignore[arg-type]
        return self


def watermark(column: str, delay: str | Duration) -> Watermark:
    """A watermark with its delay in words. Raises ValueError if they name no duration."""
    return Watermark(column=column, delay=Duration.of(delay) if isinstance(delay, str) else delay)


def reference_to(function: Callable[..., object]) -> str:
    """`module:function`. Lambdas and functions inside functions have none that others could import."""
    return f"{function.__module__}:{getattr(function, '__qualname__', type(function).__name__)}"


def _pairs(options: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((options or {}).items()))
