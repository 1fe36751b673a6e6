"""What went wrong, in one sentence: the exceptions of its chain, Spark's conditions."""
