"""The method: pure functions that know no environment, no file and no clock."""
