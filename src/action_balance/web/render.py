"""Pages from templates: autoescaped, with their styles and scripts inlined, so that a page is one file.

A template's name is its path in the package, for example ``web/templates/base.html`` or ``studies/grid/page.html``.
Every page extends ``base.html``; the functions of `format` are available in all templates, and so is ``method_name``.
"""

import base64
import hashlib
import inspect
from functools import cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from action_balance.files import Data
from action_balance.packing import script_json
from action_balance.plots.drawing import NAMES, method_name
from action_balance.web import format as formats
from action_balance.web.inline_svg import inline_figure

#: The scripts of a page with data, in the order in which they need each other.
PLAYER = ("source", "scales", "heat", "inspector", "views", "covered", "player")
SCRIPTS = ("page", "chart", *PLAYER, "reach", "export", "curves", "runs", "main")
#: The styles of a page with data, after those of all pages.
STYLES = ("page.css", "runs.css")
#: The scripts of a page without data.
PLAIN = ("page", "main")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("action_balance", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    functions = {**dict(inspect.getmembers(formats, inspect.isfunction)), "method_name": method_name}
    environment.globals |= {**functions, "NONE": formats.NONE, "METHODS": NAMES}
    environment.filters |= functions
    environment.filters["inline_figure"] = lambda svg, name: Markup(inline_figure(svg, name))
    environment.filters["script_json"] = lambda data: Markup(script_json(data))
    return environment


def render(template: str, data: Data | None = None, served: bool = False, **view: object) -> str:
    style = _asset("style.css") + ("".join(map(_asset, STYLES)) if data is not None else "")
    script = _script(SCRIPTS if data is not None else PLAIN)
    page = _environment().get_template(template)
    parts = {"style": Markup(style), "script": Markup(script), "policy": Markup(_policy(served, script))}
    return page.render(view, data=data, served=served, **parts)


def render_fragment(template: str, **view: object) -> str:
    """A part of a page, which its script puts in place."""
    return _environment().get_template(template).render(view)


@cache
def served_policy() -> str:
    """The content security policy of all pages that are served, for a header, which also forbids to frame them."""
    return f"{_policy(True, _script(SCRIPTS), _script(PLAIN))}; frame-ancestors 'none'"


def _policy(served: bool, *scripts: str) -> str:
    """What a page may load: scripts by their hash, nothing of other hosts."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii") for script in scripts)
    server = " 'self'" if served else ""
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(f"'sha256-{digest}'" for digest in digests),
        "style-src": "'unsafe-inline'",
        "img-src": f"data:{server}",
        "media-src": f"data:{server}",
        **({"connect-src": "'self'"} if served else {}),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def as_bytes(text: str) -> bytes:
    """Text as UTF-8; what cannot be encoded, such as a part of an odd file name, becomes a question mark."""
    return text.encode("utf-8", "replace")


def _asset(name: str) -> str:
    return resources.files("action_balance.web").joinpath("assets", name).read_text(encoding="utf-8")


def _script(names: tuple[str, ...]) -> str:
    return '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in names) + "})();\n"
