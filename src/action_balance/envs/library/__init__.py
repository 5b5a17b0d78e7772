"""What the environment libraries written in JAX share: their settings, and automatic resets that hide nothing."""
