"""The devices that a run uses."""

import os
from dataclasses import replace
from typing import Literal

import jax

from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.machine import cores

#: The setting of JAX that divides a CPU into devices.
CPU_DEVICES = "JAX_NUM_CPU_DEVICES"


def use_all_cores() -> None:
    """Make every CPU core a device, so that seeds can be distributed; without effect once JAX has started."""
    if CPU_DEVICES in os.environ:
        return  # the user has decided
    try:
        jax.config.update("jax_num_cpu_devices", cores())
    except RuntimeError:
        return


def choose_devices(config: TrainConfig) -> list[jax.Device]:
    """The devices of a run whose settings say how many."""
    there = jax.devices()
    if config.devices is None:
        # At least two cores, even for one seed: a program for a single device is rounded differently.
        return there[: max(2, config.seeds)] if there[0].platform == "cpu" else there[:1]
    wanted = len(there) if config.devices == "all" else config.devices
    if wanted > len(there):
        raise UserError(f"--devices {wanted} is more than the {_how_many(len(there))} of this machine: {_more(wanted)}")
    if wanted > config.seeds and config.agent.envs % wanted:
        raise UserError(
            f"{config.agent.envs} environments cannot be split over {wanted} devices: use --envs "
            f"{-(-config.agent.envs // wanted) * wanted}, or another number of --devices"
        )
    return there[:wanted]


def splits_environments(config: TrainConfig, devices: list[jax.Device]) -> bool:
    """Whether the devices share the environments of every seed, because there are fewer seeds than devices."""
    return config.devices is not None and len(devices) > config.seeds


def for_resume(config: TrainConfig, devices: int | Literal["all"] | None) -> tuple[TrainConfig, list[str]]:
    """The settings of a run that is resumed, possibly on another number of devices."""
    if devices is not None:
        return replace(config, devices=devices), []
    there, envs = len(jax.devices()), config.agent.envs
    if not isinstance(config.devices, int) or config.devices <= there:
        return config, []
    most = max(count for count in range(1, there + 1) if count <= config.seeds or envs % count == 0)
    note = f"the run used {config.devices} devices, and this machine has {_how_many(there)}: it continues on {most}"
    return replace(config, devices=most), [note]


def _how_many(count: int) -> str:
    return "one device" if count == 1 else f"{count} devices"


def _more(wanted: int) -> str:
    if jax.devices()[0].platform == "cpu":
        return f"use --devices all, or set {CPU_DEVICES}={wanted} to divide the CPU into more devices"
    return "use --devices all"
