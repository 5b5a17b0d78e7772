"""The paper's grid study."""
