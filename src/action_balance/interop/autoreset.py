"""The observations that steps have reached, whatever a vector environment does at the end of an episode.

Axes: N environments.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from action_balance.errors import UserError
from action_balance.interop.tensors import like, mapped, to_numpy

#: Gymnasium's ways to begin an episode after another, by the value of ``AutoresetMode``.
_SAME_STEP, _NEXT_STEP, _DISABLED = "SameStep", "NextStep", "Disabled"
#: Entries of ``infos`` with the last observation of an episode, in Gymnasium 1 and before.
_FINAL = ("final_obs", "final_observation")


class Reached:
    """The observation that each step has reached, and whether it was a step of the task; for `RND` and `ActionBalance`.

    Where an episode ends, vector environments begin the next one, in one of three ways:

    - ``SAME_STEP``: the step returns the first observation of the next episode, and the last one of this episode is in
      ``infos["final_obs"]``. `Reached` restores it, and does the same with ``terminal_observation`` of
      Stable-Baselines3.
    - ``NEXT_STEP``: the step returns the last observation; the step after it ignores its action, and returns the first
      observation of the next episode. That is not a step of the task: pass ``valid`` to `learn` and to `RND.reward`.
    - ``DISABLED``: your loop resets the environment, and the step returns the last observation.
    """

    def __init__(self, envs: Any) -> None:
        """Read the mode of a vector environment.

        Args:
            envs: A vector environment of Gymnasium or Stable-Baselines3, or the name of the mode, e.g. ``SameStep``.
        """
        if isinstance(envs, str):
            mode: Any = envs
        elif hasattr(envs, "step_wait") and not hasattr(envs, "single_observation_space"):
            mode = _SAME_STEP  # Stable-Baselines3
        else:
            mode = (getattr(envs, "metadata", None) or {}).get("autoreset_mode")
        self._mode = getattr(mode, "value", mode)
        if self._mode not in (_SAME_STEP, _NEXT_STEP, _DISABLED):
            raise UserError(
                "the vector environment does not report its autoreset mode: "
                f"pass the name of the mode instead, {_SAME_STEP}, {_NEXT_STEP} or {_DISABLED}"
            )
        self.reset()

    def reset(self) -> None:
        """Forget which episodes have ended; call it when the loop resets all environments."""
        self._ended: np.ndarray | None = None

    def __call__(self, next_obs: Any, ended: Any, infos: Any) -> tuple[Any, np.ndarray]:
        """Process one step of all environments.

        Args:
            next_obs: What the step returned, (N, *shape), or a dictionary or tuple of such arrays.
            ended: Whether the episode of each environment has ended, (N,): ``terminated | truncated``.
            infos: What the step returned.

        Returns:
            The observations that were reached, as ``next_obs`` or a changed copy of it, and whether each environment
            took a step, (N,) bool.
        """
        over = np.asarray(to_numpy(ended)).astype(bool)
        valid = np.ones(over.shape, bool) if self._ended is None else ~self._ended
        self._ended = over & valid if self._mode == _NEXT_STEP else None
        if self._mode != _SAME_STEP or not over.any():
            return next_obs, valid
        places = np.flatnonzero(over).tolist()
        finals = [_final(infos, place) for place in places]
        return mapped(lambda part, *others: _placed(part, places, others), next_obs, *finals), valid


def _final(infos: Any, place: int) -> Any:
    """The last observation of the episode that one environment has ended."""
    if isinstance(infos, (list, tuple)):
        found = infos[place].get("terminal_observation")
    else:
        found = next((infos[name][place] for name in _FINAL if name in infos), None)
    if found is None:
        raise UserError(
            f"the episode of environment {place} has ended, but infos has no final_obs: create the vector environment "
            f"with autoreset_mode=AutoresetMode.SAME_STEP, or pass the mode from its metadata"
        )
    return found


def _placed(obs: Any, places: list[int], finals: Sequence[Any]) -> Any:
    """A copy of an array of observations with others at some places."""
    changed = np.array(to_numpy(obs))
    changed[places] = [to_numpy(final) for final in finals]
    return like(changed, obs)
