"""Where a pipeline's rows come from."""
