"""A saved figure as an element of a page, rebuilt from the few things that figures are drawn with.

A result may come from somebody else: what is not on the lists below, a script, a link, a page of its own, is refused.
"""

import hashlib
import html
import re
from xml.etree import ElementTree

from action_balance.plots.drawing import THEME

SVG, HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"

#: Elements that are drawn, and those that are left out with everything in them.
SHAPES = ("path", "rect", "circle", "text", "tspan", "image")
DRAWN = {f"{SVG}{name}" for name in ("g", "defs", "use", "clipPath", "marker", *SHAPES)}
LEFT_OUT = {f"{SVG}{name}" for name in ("title", "metadata", "style")}

#: The attributes of drawn elements, and what they may be.
NAME = r"[\w.:-]+"
PLACES = ("d", "transform", "x", "y", "width", "height", "cx", "cy", "r", "rx")
MARKERS = ("viewBox", "refX", "refY", "markerWidth", "markerHeight", "orient")
FONTS = ("text-anchor", "font-size", "font-family", "font-weight")
LOOKS = ("style", "fill", "stroke", "stroke-width", "stroke-dasharray", *FONTS)
OTHERS = ("clip-path", "marker-end")  # elements that are used
ATTRIBUTES = {
    **dict.fromkeys((*PLACES, *MARKERS), re.compile(r"[-+.,\w\s()]*")),
    **dict.fromkeys(LOOKS, re.compile(r"[-+.,:;#%'\w\s]*")),  # no brackets: nothing is loaded
    **dict.fromkeys(OTHERS, re.compile(rf"url\(#({NAME})\)")),
    "id": re.compile(NAME),
    HREF: re.compile(rf"#({NAME})|data:image/png;base64,[\w+/=\s]*"),
}


def themed_svg(svg_text: str) -> str:
    """A saved SVG as an element of a page: its colours follow the page's CSS variables, its ids clash with none.

    Raises:
        ValueError: it is not a figure as we draw them.
    """
    prefix = f"f{hashlib.sha256(svg_text.encode()).hexdigest()[:8]}-"
    root = _parsed(svg_text)
    named = (_checked(part, name) for part in root.iter() for name in (*OTHERS, HREF))
    used = {found[1] for found in named if found and found[1]}
    try:
        body = "".join(_written(part, used, prefix) for part in root if part.tag not in LEFT_OUT)
    except RecursionError:
        raise ValueError("too deep") from None
    box = [float(side) for side in root.get("viewBox", "").split()]
    if len(box) != 4 or not 0 < box[2] < 1e5:
        raise ValueError("no size")
    size = f'width="100%" style="height: auto; min-width: {1.1 * box[2]:.0f}px; max-width: {1.64 * box[2]:.0f}px"'
    label = html.escape(root.findtext(f"{SVG}title", ""))
    about = f'role="img" aria-label="{label}" stroke-linejoin="round"'
    view_box = " ".join(f"{side:.12g}" for side in box)
    return f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{view_box}" {size} {about}>{body}</svg>'


def _parsed(svg_text: str) -> ElementTree.Element:
    if "<!ENTITY" in svg_text:
        raise ValueError("entities are not drawn")
    try:
        root = ElementTree.fromstring(svg_text.encode())
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from None
    if root.tag != f"{SVG}svg":
        raise ValueError(f"{root.tag} is not a drawing")
    return root


def _checked(part: ElementTree.Element, name: str) -> re.Match[str] | None:
    """What an attribute is, if it may be so; None where there is none."""
    value = part.get(name)
    if value is None or part.tag not in DRAWN:
        return None
    found = ATTRIBUTES[name].fullmatch(value) if name in ATTRIBUTES else None
    if found is None:
        raise ValueError(f"{name} is not drawn")
    return found


def _written(part: ElementTree.Element, used: set[str], prefix: str) -> str:
    if part.tag not in DRAWN:
        raise ValueError(f"{part.tag} is not drawn")
    attributes = "".join(_attribute(part, name, used, prefix) for name in part.attrib)
    tag = part.tag.removeprefix(SVG)
    written = tag in ("text", "tspan")  # between other elements there is only room
    inside = html.escape(part.text or "") * written
    for child in part:
        inside += "" if child.tag in LEFT_OUT else _written(child, used, prefix)
        inside += html.escape(child.tail or "") * written
    return f"<{tag}{attributes}>{inside}</{tag}>" if inside else f"<{tag}{attributes}/>"


def _attribute(part: ElementTree.Element, name: str, used: set[str], prefix: str) -> str:
    found = _checked(part, name)
    assert found is not None
    value, shown = found[0], name
    if name == "id":
        if value not in used:
            return ""
        value = prefix + value
    elif name == HREF:
        shown = "xlink:href"
        value = f"#{prefix}{found[1]}" if found[1] else value
    elif name in OTHERS:
        value = f"url(#{prefix}{found[1]})"
    elif name in LOOKS:
        for colour, role in THEME.items():
            value = value.replace(colour, f"var(--{role}, {colour})")
    return f' {shown}="{value}"'  # the patterns leave nothing to escape
