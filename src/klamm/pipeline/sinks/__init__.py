"""Where a pipeline's rows go. A sink is told the batch's number and writes each batch once, however often it is asked."""
