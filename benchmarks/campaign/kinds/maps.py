"""Maps: right, nearly right and wild ones, given to ``explore``."""

from campaign import hostile
from campaign.context import CaseContext
from campaign.fixtures import TINY_GRID


def run(context: CaseContext) -> None:
    """Explore a map."""
    content = hostile.map_text(context.rng)
    (context.folder / "map.txt").write_bytes(content)
    out = ("--out", "out") if context.rng.random() < 0.3 else ()
    context.command("explore", "map.txt", *TINY_GRID, *out, about=f"map {content[:80]!r}")
