"""A saved figure as an element of a page, rebuilt from the few things that figures are drawn with.

A result may come from somebody else. Whatever is not on the lists below (a script, a link, a page) is refused.
"""

import hashlib
import re
from xml.etree import ElementTree

from action_balance.errors import UserError
from action_balance.plots.drawing import THEME

SVG, HREF = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"

#: Elements that are drawn, and those that are dropped with everything in them.
WRITTEN = (f"{SVG}text", f"{SVG}tspan")
SHAPES = ("path", "rect", "circle", "text", "tspan", "image")
DRAWN = {f"{SVG}{name}" for name in ("g", "defs", "use", "clipPath", "marker", *SHAPES)}
DROPPED = {f"{SVG}{name}" for name in ("title", "metadata", "style")}

#: The attributes of drawn elements, and the values that they may have.
NAME = r"[\w.:-]+"
PLACES = ("d", "transform", "x", "y", "width", "height", "cx", "cy", "r", "rx")
MARKERS = ("viewBox", "refX", "refY", "markerWidth", "markerHeight", "orient")
FONTS = ("text-anchor", "font-size", "font-family", "font-weight")
LOOKS = ("style", "fill", "stroke", "stroke-width", "stroke-dasharray", *FONTS)
REFERENCES = ("clip-path", "marker-end")
ATTRIBUTES = {
    **dict.fromkeys((*PLACES, *MARKERS), re.compile(r"[-+.,\w\s()]*")),
    **dict.fromkeys(LOOKS, re.compile(r"[-+.,:;#%'\w\s]*")),  # no brackets, so that nothing is loaded
    **dict.fromkeys(REFERENCES, re.compile(rf"url\(#({NAME})\)")),
    "id": re.compile(NAME),
    HREF: re.compile(rf"#({NAME})|data:image/png;base64,[\w+/=\s]*"),
}


def inline_figure(svg_text: str, name: str) -> str:
    """`themed_svg` of a figure; a `UserError` where the file is not a figure that we drew."""
    try:
        return themed_svg(svg_text)
    except ValueError:
        raise UserError(f"the figure {name}.svg is damaged: reproduce the result with --overwrite") from None


def themed_svg(svg_text: str) -> str:
    """A saved SVG as an element of a page: its colours follow CSS variables, its ids are unique."""
    prefix = f"f{hashlib.sha256(svg_text.encode()).hexdigest()[:8]}-"
    root = _parsed(svg_text)
    box = [float(side) for side in root.get("viewBox", "").split()]
    if len(box) != 4 or not 0 < box[2] < 1e5:
        raise ValueError("no size")
    title = root.findtext(f"{SVG}title", "")
    _drop(root)
    parts = [part for part in root.iter() if part is not root]
    used = {found[1] for part in parts for name in (*REFERENCES, HREF) if (found := _checked(part, name))}
    for part in parts:
        _rewrite(part, used, prefix)
    root.tag = "svg"
    root.attrib = {
        "xmlns:xlink": "http://www.w3.org/1999/xlink",
        "viewBox": " ".join(f"{side:.12g}" for side in box),
        "width": "100%",
        "style": f"height: auto; min-width: {1.1 * box[2]:.0f}px; max-width: {1.64 * box[2]:.0f}px",
        "role": "img",
        "aria-label": title,
        "stroke-linejoin": "round",
    }
    try:
        return ElementTree.tostring(root, encoding="unicode")
    except RecursionError:
        raise ValueError("too deep") from None


def _parsed(svg_text: str) -> ElementTree.Element:
    if "<!ENTITY" in svg_text:
        raise ValueError("entities are not drawn")
    try:
        root = ElementTree.fromstring(svg_text.encode())
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from None
    if root.tag != f"{SVG}svg":
        raise ValueError(f"{root.tag} is not a drawing")
    root.tail = None
    return root


def _drop(root: ElementTree.Element) -> None:
    """Remove what is not drawn, and the white space between elements."""
    for part in list(root.iter()):
        kept = [child for child in part if child.tag not in DROPPED]
        if part.tag not in WRITTEN:
            part.text = None
            for child in kept:
                child.tail = None
        if len(kept) < len(part):
            part[:] = kept


def _checked(part: ElementTree.Element, name: str) -> re.Match[str] | None:
    """The value of an attribute that has an allowed one; None where there is none."""
    value = part.get(name)
    if value is None:
        return None
    found = ATTRIBUTES[name].fullmatch(value) if name in ATTRIBUTES else None
    if found is None:
        raise ValueError(f"{name} is not drawn")
    return found


def _rewrite(part: ElementTree.Element, used: set[str], prefix: str) -> None:
    """Check an element; give it the tag, the ids and the colours that it has in a page."""
    if part.tag not in DRAWN:
        raise ValueError(f"{part.tag} is not drawn")
    part.tag = part.tag.removeprefix(SVG)
    attributes = {}
    for name in part.attrib:
        found = _checked(part, name)
        assert found is not None
        value = found[0]
        if name == "id":
            if value not in used:
                continue
            value = prefix + value
        elif name == HREF:
            value = f"#{prefix}{found[1]}" if found[1] else value
        elif name in REFERENCES:
            value = f"url(#{prefix}{found[1]})"
        elif name in LOOKS:
            for colour, role in THEME.items():
                value = value.replace(colour, f"var(--{role}, {colour})")
        attributes["xlink:href" if name == HREF else name] = value
    part.attrib = attributes
