"""The paper's Atari study."""

KIND = "reproduce atari"
