"""Environments of gymnax that agents can act in, for suggestions and completion."""

#: With discrete actions, and without a download; tested with gymnax 0.0.9.
NAMES = (
    *("CartPole-v1", "Acrobot-v1", "MountainCar-v0"),
    *("Asterix-MinAtar", "Breakout-MinAtar", "Freeway-MinAtar", "SpaceInvaders-MinAtar"),
    *("Catch-bsuite", "DeepSea-bsuite", "MemoryChain-bsuite", "UmbrellaChain-bsuite", "DiscountingChain-bsuite"),
    *("FourRooms-misc", "MetaMaze-misc", "BernoulliBandit-misc", "GaussianBandit-misc", "Pong-misc"),
)

#: The environment that downloads its data when it is made.
DOWNLOADS = "MNISTBandit-bsuite"
