"""What is inside a failure: the exceptions of its chain, Spark's conditions, disks that are full."""
