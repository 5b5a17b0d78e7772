"""Numbers, sentences, tables and figures as HTML, for `page`. Estimates are those of ``summary.json``."""

import base64
import hashlib
import html
import math
from collections.abc import Mapping, Sequence
from importlib import resources

from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.packing import script_json
from action_balance.plots.drawing import NAMES
from action_balance.web.inline_svg import themed_svg

#: What the footer of a page promises that is made from settings alone.
REPEATED = "The same settings and versions give the same page, byte for byte."

#: The scripts of a page with data, in the order in which they need each other.
SCRIPTS = ("page", "chart", "source", "heat", "inspector", "player", "reach", "runs", "main")

NEEDS_SCRIPT = "What moves on this page needs JavaScript; figures and tables do not."
FAILED = (
    "What moves on this page could not be shown: the browser is too old for it, or the data are damaged or too large. "
    "Figures and tables are all here."
)

#: What stands where there is no number.
NONE = "&ndash;"


def parts(estimate: Data | None) -> tuple[float, float, float]:
    """Value and both ends of the interval; nan for what is not known."""
    value, low, high = ((estimate or {}).get(key) for key in ("value", "low", "high"))
    return as_float(value), as_float(low), as_float(high)


def as_float(value: float | str | None) -> float:
    """A number of the summary, where null means unknown and infinity is a word."""
    return math.nan if value is None else float(value)


def number(value: float | str | None, digits: int = 0, sign: bool = False) -> str:
    """A number with separators for thousands and a real minus sign."""
    known = as_float(value)
    if math.isnan(known):
        return NONE
    if math.isinf(known):
        return "&infin;" if known > 0 else "&minus;&infin;"
    known = round(known, digits) + 0.0  # no minus before a zero
    return f"{known:{'+' if sign else ''},.{digits}f}".replace("-", "&minus;")


def interval(estimate: Data | None, digits: int = 0) -> str:
    """Both ends of an interval."""
    _, low, high = parts(estimate)
    return "no interval" if math.isnan(low + high) else f"{number(low, digits)} to {number(high, digits)}"


def stacked(estimate: Data | None, digits: int = 0) -> str:
    """A value with its interval below it, for a table."""
    return f"{number(estimate['value'], digits)}<small>{interval(estimate, digits)}</small>" if estimate else NONE


def told(estimate: Data | None, digits: int, unit: str = "") -> str:
    """A value with its interval in brackets, for a sentence."""
    value, low, high = parts(estimate)
    within = "" if math.isnan(low + high) else f" (95&nbsp;% interval {interval(estimate, digits)})"
    return f"{number(value, digits)}{unit}{within}"


def judged(estimate: Data | None, neutral: int, above: str, below: str, published: float | None) -> str:
    """What the interval supports, and no more: ``above`` or ``below`` if it excludes the neutral value."""
    if estimate is None:
        return "These methods and runs do not give this number."
    _, low, high = parts(estimate)
    if math.isnan(low + high):
        return "One run gives no interval, so this may be chance."
    said = f"The interval includes {neutral}: these runs do not tell the two apart."
    if low > neutral or high < neutral:
        side, meaning = ("above", above) if low > neutral else ("below", below)
        said = f"The whole interval lies {side} {neutral}: {meaning}."
    if published is not None:
        said += f" The paper&rsquo;s {published} lies {'within' if low <= published <= high else 'outside'} it."
    return said


def counted(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def method(name: str) -> str:
    """A method's name with its colour."""
    return f'<span class="dot" style="background: var(--{name})"></span>{NAMES[name]}'


def ruler(estimate: Data | None, published: float | None, span: tuple[float, float], colour: str) -> str:
    """A small drawing: the interval on a logarithmic scale, with 1 and the paper's number marked."""
    value, low, high = parts(estimate)
    if math.isnan(value):
        return ""

    def place(number: float) -> float:
        inside = min(max(number, span[0]), span[1])
        return round(6 + 248 * math.log(inside / span[0]) / math.log(span[1] / span[0]), 1)

    marks = "".join(
        f'<path d="M{place(tick)} 24v4" stroke="var(--muted)"/>'
        f'<text x="{place(tick)}" y="39" text-anchor="middle" fill="var(--muted)">{tick:g}</text>'
        for tick in (2.0**power for power in range(-4, 5))
        if span[0] <= tick <= span[1]
    )
    if not math.isnan(low + high):
        thick = f'stroke="var(--{colour})" stroke-width="5" stroke-linecap="round" opacity=".4"'
        marks += f'<path d="M{place(low)} 13H{place(high)}" {thick}/>'
    if published is not None:
        hollow = 'fill="var(--paper)" stroke="var(--ink)" stroke-width="1.4"'
        marks += f'<path d="M{place(published)} 6.5l6.5 6.5-6.5 6.5-6.5-6.5z" {hollow}/>'
    return (
        '<svg viewBox="0 0 260 42" aria-hidden="true"><path d="M6 24H254" stroke="var(--rule)"/>'
        f'<path d="M{place(1)} 2V24" stroke="var(--muted)" stroke-dasharray="2 2"/>{marks}'
        f'<circle cx="{place(value)}" cy="13" r="5" fill="var(--{colour})"/></svg>'
    )


def document(
    title: str,
    kicker: str,
    heading: str,
    lead: str,
    menu: Mapping[str, str],
    main: str,
    footer: str = REPEATED,
    shows: str = "",
    data: Data | None = None,
    served: bool = False,
) -> str:
    """A whole page.

    Args:
        title: of the window.
        kicker: small words above the heading.
        heading: what the page asks.
        lead: the first sentences.
        menu: titles of the sections by id.
        main: the rest.
        footer: a sentence below it all.
        shows: what was found, in one sentence.
        data: of what is shown by script.
        served: whether the page may ask its server for files and news.
    """
    style, script = _asset("style.css"), _script(data is not None)
    held, failed = "", ""
    if data is not None:
        style += _asset("page.css")
        held = f'<script type="application/json" id="data">{script_json(data)}</script>\n'
        failed = f'<noscript><p class="failed">{NEEDS_SCRIPT}</p></noscript>\n'
        failed += f'<p class="failed" id="failed" hidden>{FAILED}</p>\n'
    links = "".join(f'<li><a href="#{target}">{name}</a></li>' for target, name in menu.items())
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{_policy(script, served)}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<button type="button" id="theme" hidden></button>
<p class="kicker">{kicker}</p>
<h1>{heading}</h1>
{f'<p class="shows">{shows}</p>' if shows else ""}
<p class="lead">{lead}</p>
<nav aria-label="Contents"><ul>{links}</ul></nav>
</header>
<main>
{failed}{main}
</main>
<footer><p>{footer}</p></footer>
{held}<script>{script}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return resources.files("action_balance.web").joinpath("assets", name).read_text(encoding="utf-8")


def _script(everything: bool) -> str:
    """The scripts of a page as one, whose names no other script sees; without data, only what changes the theme."""
    names = SCRIPTS if everything else ("page", "main")
    return '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in names) + "})();\n"


def _policy(script: str, served: bool) -> str:
    """What the browser lets the page do: run its own script, and ask nobody, but for its server where it has one."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    own = " 'self'" if served else ""
    rules = f"script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:{own}; media-src data:{own}"
    asks = "; connect-src 'self'" if served else ""
    return f"default-src 'none'; {rules}{asks}; base-uri 'none'; form-action 'none'"


def figure(svgs: Mapping[str, str], name: str, caption: str) -> str:
    """A figure with its caption; nothing if it was not drawn."""
    if name not in svgs:
        return ""
    try:
        drawn = scrolling(themed_svg(svgs[name]), f"Figure: {name.replace('_', ' ')}")
    except ValueError:
        raise UserError(f"the figure {name}.svg is damaged: make the result anew with --overwrite") from None
    return f"<figure>{drawn}<figcaption>{caption}</figcaption></figure>\n"


def scrolling(content: str, label: str) -> str:
    """Something wide that scrolls sideways by itself, also with the keyboard."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{html.escape(label)}">{content}</div>'


def table(
    caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], look: str = "numbers", last_is_sum: bool = False
) -> str:
    """A table whose first column names the rows."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    lines = [f'<th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in rest) for first, *rest in rows]
    begins = ["<tr>"] * (len(lines) - 1) + ['<tr class="sum">' if last_is_sum else "<tr>"]
    body = "\n".join(f"{begin}{line}</tr>" for begin, line in zip(begins, lines, strict=True))
    content = (
        f'<table class="{look}"><caption><span>{caption}</span></caption>\n'
        f"<thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table>"
    )
    return f'<div class="table">{scrolling(content, "Table: " + html.unescape(caption))}</div>\n'
