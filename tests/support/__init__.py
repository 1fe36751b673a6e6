"""What tests share that is not a test: fixtures' machinery, foreign tools, running brokers."""
