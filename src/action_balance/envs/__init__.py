"""What is stepped."""
