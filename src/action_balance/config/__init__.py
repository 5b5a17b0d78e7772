"""Settings and their JSON form; nothing here imports JAX."""
