"""At most once, at least once, exactly once: what a consumer loses or repeats when it is killed."""
