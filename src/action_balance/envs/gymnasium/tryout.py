"""The test of a Gymnasium environment before an agent is trained in it. What goes wrong is one line."""

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from action_balance.config.registry import describe_error
from action_balance.envs.gymnasium.choices import Choices
from action_balance.envs.gymnasium.masking import IGNORE, MaskReader, MaskSource, find_masks, mask_in
from action_balance.envs.gymnasium.spaces import BadObservation, Layout
from action_balance.envs.masks import BadMask, allowed, sample_allowed
from action_balance.errors import UserError

#: Steps of the test.
STEPS = 10
#: What is wrong with environments of the old interface.
OLD_API = (
    "it has the old Gym interface: reset() must return (observation, info), and step() (observation, reward, "
    "terminated, truncated, info); change them, or wrap it, e.g. with shimmy.GymV21CompatibilityV0"
)


def one_line(error: BaseException) -> str:
    """An exception of an environment in one line, with the place in the user's code."""
    if isinstance(error, BadObservation | BadMask):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    if any("concatenate" in frame.name and "gymnasium" in frame.filename for frame in frames):
        return "an observation differs from its observation_space in shape or type: fix the observation or the space"
    return describe_error(error)


def attempt(what: str, work: Callable[[], Any]) -> Any:
    """What the code of an environment returns; whatever it raises is one line, after what could not be done."""
    try:
        return work()
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit, too
        raise UserError(f"{what}: {one_line(error)}") from None


def try_out(name: str, env: Any, layout: Layout, choices: Choices, masks: bool) -> MaskSource:
    """Play a few steps, and check that their outcomes are as Gymnasium defines them."""
    generator = np.random.default_rng(0)
    try:
        outcome = env.reset(seed=0, options={})
        if not isinstance(outcome, tuple) or len(outcome) != 2:
            raise UserError(f"{name}: {OLD_API}")
        layout.check(outcome[0])
        source = find_masks(env, outcome[1]) if masks else ""
        read = MaskReader(env, source, choices.nvec)

        def action(info: dict[str, Any]) -> Any:
            if not source:
                return env.action_space.sample()
            mask = allowed(read(info)[None], choices.nvec)
            drawn = sample_allowed(generator, mask, choices.nvec)
            zeros = np.zeros((1, len(choices.bounds)), int)  # clipped to their bounds
            return next(choices.each(np.concatenate([drawn.reshape(1, -1), zeros], axis=1)))

        env.action_space.seed(0)
        for _ in range(STEPS):
            outcome = env.step(action(outcome[-1]))
            if not isinstance(outcome, tuple) or len(outcome) != 5:
                raise UserError(f"{name}: {OLD_API}")
            layout.check(outcome[0])
            if masks and not source and mask_in(outcome[-1]) is not None:
                raise BadMask("step() provides an action_mask, but reset() does not: provide it in both")
            if outcome[2] or outcome[3]:
                outcome = env.reset()
                layout.check(outcome[0])
    except BadObservation as error:
        raise UserError(f"{name}: {error}") from None
    except BadMask as error:
        hint = "" if IGNORE in str(error) else f", or {IGNORE}"
        raise UserError(f"{name}: {error}{hint}") from None
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        if isinstance(error, TypeError) and any(f"argument '{one}'" in str(error) for one in ("seed", "options")):
            raise UserError(f"{name}: {one_line(error)}: add the arguments seed and options to reset()") from None
        raise UserError(f"{name} failed when it was tested: {one_line(error)}") from None
    return source
