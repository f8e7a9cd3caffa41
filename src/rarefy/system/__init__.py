"""What the operating system is asked for: atomic writes, deferred signals, memory."""
