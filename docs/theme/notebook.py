"""The notebook of the examples as a page of the site: its text, its code, and its outputs as they were saved."""

import html
import json
import re
from itertools import groupby
from pathlib import Path
from typing import Any

SOURCE, PAGE = Path(__file__).parents[2] / "examples" / "tour.ipynb", "tour.md"

#: How pictures and tables begin; anything else is text.
ELEMENTS = ('<p class="output">', "<div>")


def on_files(files: Any, config: Any) -> Any:
    """Add the page."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, PAGE, content=to_markdown(json.loads(SOURCE.read_text()))))
    return files


def to_markdown(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown, with its pictures in it; links are relative to docs.

    Args:
        notebook: the content of the file, in version 4 of the format.

    Returns:
        The text of the page.
    """
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(re.sub(r"\]\(\.\./docs/", "](", source))
        else:
            parts += [f"```python\n{source}\n```", *_outputs(cell["outputs"])]
    return "\n\n".join(parts) + "\n"


def _outputs(outputs: list[dict[str, Any]]) -> list[str]:
    """What a cell printed and showed; texts that follow each other are one block."""
    blocks = []
    for is_text, group in groupby(
        (_output(output) for output in outputs), lambda block: not block.startswith(ELEMENTS)
    ):
        found = list(group)
        blocks += ['```text title="output"\n' + "\n".join(found) + "\n```"] if is_text else found
    return blocks


def _output(output: dict[str, Any]) -> str:
    """What a cell printed or showed."""
    if output["output_type"] == "stream":
        return _text("".join(output["text"]))
    shown = {kind: "".join(value) for kind, value in output["data"].items()}
    for kind in ("image/png", "image/gif"):
        if kind in shown:
            what = html.escape(output["metadata"].get("alt", "Output of the cell above"))
            data = shown[kind].replace("\n", "")
            return f'<p class="output"><img alt="{what}" src="data:{kind};base64,{data}"></p>'
    if "text/html" in shown:
        table = re.sub(r"<style.*?</style>\s*", "", shown["text/html"], flags=re.DOTALL)
        table = re.sub(r'<table border="1" class="dataframe">', "<table>", table)
        return re.sub(r"\n\s*", "", table)
    return _text(shown["text/plain"])


def _text(printed: str) -> str:
    """Lines as a terminal shows them: what follows a carriage return replaces what was there."""
    lines = [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in printed.splitlines()]
    return "\n".join(lines).strip("\n")
