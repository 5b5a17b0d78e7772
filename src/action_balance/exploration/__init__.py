"""What every algorithm shares: two bonuses, statistics of observations, the shift of Eq. 5, and random actions."""
