"""Register and memory values of the past: what the executed instructions and the halted core say about them."""
