"""The neural agent on open grid, corridor and deep sea."""
