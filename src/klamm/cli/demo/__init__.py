"""What `klamm demo` shows beside the broker: sample clicks, and a pipeline over them."""
