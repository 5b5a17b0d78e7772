"""The paper's Atari study."""
