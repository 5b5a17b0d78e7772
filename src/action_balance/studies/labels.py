"""Names of environments and curves: what distinguishes training runs, without what they have in common."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.env import EnvConfig
from action_balance.config.methods import METHODS
from action_balance.config.train import TrainConfig
from action_balance.printable import printable
from action_balance.studies.settings_text import flat

Settings = Mapping[str, Any]

#: Place of each method among curves; those of users come last.
METHOD_ORDER = {method: place for place, method in enumerate(METHODS)}


class Names(NamedTuple):
    """Names of a run; runs that differ only in their seeds have the same."""

    environment: str
    curve: str
    order: tuple[Any, ...]  # of environments, and of the curves of one

    def titled(self, env: EnvConfig) -> str:
        """The name of the environment with its title, for headings."""
        return self.environment.replace(env.short_name, env.title, 1)


def name_runs(configs: Sequence[TrainConfig]) -> list[Names]:
    """Name runs by environment and method, and by the settings that differ."""
    environments = [config.env.comparable() for config in configs]
    agents = [_as_it_learns(config.agent) for config in configs]
    alike: dict[Any, list[Settings]] = defaultdict(list)
    for environment, agent in zip(environments, agents, strict=True):
        alike[environment, agent.label].append(flat(asdict(agent)))
    differing: dict[str, list[str]] = defaultdict(list)  # the same in all environments, so that labels agree
    for (_, label), several in alike.items():
        differing[label] = list(dict.fromkeys([*differing[label], *_differing(several)]))
    names = []
    for environment, agent in zip(environments, agents, strict=True):
        others = [flat(asdict(other)) for other in environments if other.short_name == environment.short_name]
        settings, named = flat(asdict(agent)), differing[agent.label]
        place = tuple(_sortable(settings.get(name)) for name in named)
        names.append(
            Names(
                _label(environment.short_name, flat(asdict(environment)), _differing(others)),
                _label(agent.label, settings, named),
                (environment.sort_key, METHOD_ORDER.get(agent.label, len(METHODS)), agent.label, place),
            )
        )
    return names


def _as_it_learns(agent: AgentConfig) -> AgentConfig:
    """The config without the name of its preset and what only changes the speed: groups and threads of environments."""
    return replace(agent, preset=None, host=HostConfig(lag=agent.host.lag))


def _differing(settings: Sequence[Settings]) -> list[str]:
    names = dict.fromkeys(name for one in settings for name in one)
    return [name for name in names if len({one.get(name) for one in settings}) > 1]


def _sortable(value: object) -> tuple[bool, float, str]:
    return (False, value, "") if isinstance(value, (int, float)) else (True, 0.0, str(value))


def _label(name: str, settings: Settings, named: Sequence[str]) -> str:
    values = {one: settings.get(one, "none") for one in named}
    texts = [f"{one} {value:.12g}" if isinstance(value, float) else f"{one} {value}" for one, value in values.items()]
    return printable(", ".join([name, *texts]))
