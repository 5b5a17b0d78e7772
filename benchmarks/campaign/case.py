"""A case: one attempt to break something, reproducible from its seed, kind and number."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One attempt."""

    seed: int
    """Seed of the campaign."""
    kind: str
    """Which kind of attempt."""
    number: int
    """Number within its kind."""

    @property
    def name(self) -> str:
        """Its name, which is also that of its folder."""
        return f"{self.kind}-{self.number}"

    def rng(self) -> random.Random:
        """Random numbers of this case alone, always the same ones."""
        return random.Random(f"{self.seed}/{self.kind}/{self.number}")

    def command(self) -> str:
        """The command that tries it again."""
        return f"python benchmarks/chaos.py --seed {self.seed} --only {self.kind} --case {self.number}"


@dataclass(frozen=True)
class Outcome:
    """What came out of a case."""

    case: Case
    problems: tuple[str, ...] = ()
    """A line for everything that is wrong, with the command line."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """How often something happened, such as a command that was refused."""
    waits: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Seconds that something took, such as the answer to a signal."""
    peak: int = 0
    """Memory of its largest process in bytes."""
    skipped: str = ""
    """Why it could not be tried here; empty if it was tried."""
    seconds: float = 0.0
    """Wall-clock time of the case."""
    cpu: float = 0.0
    """CPU seconds of its commands, and of those that prepared what it begins with."""
