"""`klamm pipeline`: write, check, run and watch pipelines. Spark is imported when a pipeline runs, never before."""
