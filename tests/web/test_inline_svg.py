"""Figures inside a page: what we draw is kept, and nothing else comes in."""

import pytest

from action_balance.errors import UserError
from action_balance.web.inline_svg import inline_figure, themed_svg

HEAD = (
    '<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50" width="9">'
)


def test_a_figure_keeps_its_drawing_with_colours_of_the_page_and_ids_of_its_own() -> None:
    made = themed_svg(
        f'<?xml version="1.0"?>{HEAD}<title>A "title" &lt;b&gt;</title><metadata><x/></metadata>'
        "<defs><style>*{}</style>"
        '<path id="m1" d="M 0 0"/></defs>\n<g id="unused"><use xlink:href="#m1" style="fill: #1c2128"/>'
        '<text x="1">5 &lt; 6 &amp; 7</text></g></svg>'
    )
    prefix = made.partition('href="#')[2].partition("m1")[0]
    assert prefix.startswith("f")
    assert made == (
        '<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 50" width="100%" style="height: auto; '
        'min-width: 110px; max-width: 164px" role="img" aria-label="A &quot;title&quot; &lt;b&gt;" '
        f'stroke-linejoin="round"><defs><path id="{prefix}m1" d="M 0 0" /></defs><g><use xlink:href="#{prefix}m1" '
        'style="fill: var(--ink, #1c2128)" /><text x="1">5 &lt; 6 &amp; 7</text></g></svg>'
    )


def test_attributes_of_the_drawing_itself_are_replaced() -> None:
    made = themed_svg(HEAD.replace("<svg ", '<svg onload="alert(1)" ') + "</svg>")
    assert "onload" not in made
    assert 'viewBox="0 0 100 50"' in made


@pytest.mark.parametrize(
    "hostile",
    [
        f'{HEAD}</svg><meta http-equiv="refresh" content="0; url=https://example.org"/><svg/>',
        f"{HEAD}<script>1</script></svg>",
        f"{HEAD}<g><foreignObject/></g></svg>",
        f'{HEAD}<g onclick="1"/></svg>',
        f'{HEAD}<a xlink:href="https://example.org"/></svg>',
        f'{HEAD}<svg viewBox="0 0 1 1"/></svg>',
        f'{HEAD}<image xlink:href="https://example.org/x.png"/></svg>',
        f'{HEAD}<use xlink:href="data:image/svg+xml;base64,AAAA"/></svg>',
        f'{HEAD}<path style="fill: url(https://example.org)"/></svg>',
        f'{HEAD}<path clip-path="url(https://example.org)"/></svg>',
        f'<!DOCTYPE svg [<!ENTITY a "b">]>{HEAD}<text>&a;</text></svg>',
        HEAD.replace("0 0 100 50", "0 0 &quot;&gt;&lt;p&gt; 50") + "</svg>",
        HEAD + "<g>" * 5000 + "</g>" * 5000 + "</svg>",
        "<html/>",
        "",
    ],
)
def test_a_figure_with_anything_else_is_refused_in_one_line(hostile: str) -> None:
    with pytest.raises(UserError, match=r"the figure plot\.svg is damaged: .* --overwrite"):
        inline_figure(hostile, "plot")
