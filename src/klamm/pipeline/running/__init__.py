"""From a plan to a running query: steps, batches into sinks, the processed offsets."""
