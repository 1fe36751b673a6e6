"""A case from a seed: the pipeline's file, the records of each run, and what is done to the runs."""
