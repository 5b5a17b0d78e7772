"""Figures of the paper that ours are set beside: "Exploring Unknown States with Action Balance" (2020)."""

#: Table I: mean steps until the goal (x, y) is first reached, 100 runs each.
TABLE_1: dict[str, dict[tuple[int, int], float]] = {
    "random": {(0, 20): 10583.86, (20, 0): 11142.43, (10, 20): 12772.29, (16, 16): 18755.5, (20, 10): 13464.31},
    "rnd": {(0, 20): 10304.23, (20, 0): 11062.97, (10, 20): 13434.67, (16, 16): 12339.32, (20, 10): 11197.49},
    "action-balance-rnd": {
        (0, 20): 8118.19,
        (20, 0): 8360.99,
        (10, 20): 9248.96,
        (16, 16): 11364.08,
        (20, 10): 10384.51,
    },
}

#: Runs behind each cell of Table I.
TABLE_1_RUNS = 100

#: Section IV-B: mean steps of rnd over those of action-balance-rnd.
GOALS_RATIO = 1.23

#: Section IV-A: how many times sooner than rnd action-balance-rnd overtakes random for good ("about").
CROSSING_RATIO = 2.5

#: Section IV-A: cells that action-balance-rnd covers more than rnd in the end ("about").
MORE_CELLS = 15

#: Section IV-A: the same as a difference of the relative increases over random ("about 3 percent").
MORE_INCREASE = 0.03

#: The settings of Sections IV-A and IV-B.
SIZE, EPISODE_STEPS, EPISODES = 40, 200, 100
GOALS = tuple(TABLE_1["random"])
