"""Maps: right, nearly right and wild ones, given to ``explore``."""

from campaign import hostile
from campaign.scene import TINY_GRID
from campaign.stage import Stage


def run(stage: Stage) -> None:
    """Explore a map."""
    content = hostile.map_text(stage.rng)
    (stage.folder / "map.txt").write_bytes(content)
    out = ("--out", "out") if stage.rng.random() < 0.3 else ()
    stage.command("explore", "map.txt", *TINY_GRID, *out, about=f"map {content[:80]!r}")
