"""The sections of a pipeline file, as facts: values, sources, steps, sinks, and the pipeline that holds them."""
