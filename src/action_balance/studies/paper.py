"""Numbers of the paper that ours are compared with: "Exploring Unknown States with Action Balance" (2020)."""

#: Table I: mean steps until the goal (x, y) is first reached.
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

#: Section IV-A: how many more cells than rnd action-balance-rnd covers in the end ("about").
MORE_CELLS = 15

#: Section IV-A: the same as a difference of the relative increases over random ("about 3 percent").
MORE_INCREASE = 0.03

#: The settings of Sections IV-A and IV-B.
SIZE, EPISODE_STEPS, EPISODES = 40, 200, 100
GOALS = tuple(TABLE_1["random"])

#: Table II, "Final episodic return". The paper does not say over which episodes it averages.
TABLE_2: dict[str, dict[str, float]] = {
    "montezuma_revenge": {"rnd": 3812, "action-balance-rnd": 3762, "action-balance-rnd-channel": 4864},
    "gravitar": {"rnd": 1349, "action-balance-rnd": 1177, "action-balance-rnd-channel": 1434},
    "pitfall": {"rnd": 0, "action-balance-rnd": 0, "action-balance-rnd-channel": -1},
    "private_eye": {"rnd": 59, "action-balance-rnd": 30, "action-balance-rnd-channel": 57},
    "solaris": {"rnd": 1122, "action-balance-rnd": 1051, "action-balance-rnd-channel": 1150},
    "venture": {"rnd": 1506, "action-balance-rnd": 1564, "action-balance-rnd-channel": 1491},
}

#: Runs behind each cell of Table II ("averaged by 5 runs").
TABLE_2_RUNS = 5
