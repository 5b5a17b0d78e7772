"""The family of XLand-MiniGrid."""
