"""The neural agent in the open grid, the corridor and the deep sea."""

KIND = "reproduce neural"
