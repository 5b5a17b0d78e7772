"""``report.html`` of the entropy study, from ``summary.json`` and the figure."""

import math
from collections.abc import Mapping

from action_balance.files import Data
from action_balance.studies import campaign_page as runs_page
from action_balance.studies.campaign_page import game_title
from action_balance.studies.entropy.analysis import RESOLUTION
from action_balance.studies.entropy.settings import ACTIONS, GAME
from action_balance.studies.statistics import LAST
from action_balance.web import markup
from action_balance.web.markup import NONE, counted, figure, interval, number, parts, table

WHICH = {
    "added": "what the bonus makes of a uniform policy, softmax(Normalize(r))",
    "bonus": "the shares of the actions in the bonus, r / &Sigma; r",
}


def entropy_page(summary: Data, svgs: Mapping[str, str]) -> str:
    """The whole page."""
    ours = summary["ours"]
    game = game_title(GAME)
    lead = (
        "Figure 7 of &ldquo;Exploring Unknown States with Action Balance&rdquo;: the entropy of the action bonus in "
        f"{game}, for {markup.listed(list(ours['variants']))}."
    )
    sections = [
        _entropy(ours, svgs),
        runs_page.runs_section(summary["runs"], summary["notes"], summary["asked"]["runs"]),
    ]
    return markup.document(
        title="Action balance: entropy of the bonus",
        kicker="Action balance &middot; entropy study",
        heading="How flat is the action bonus?",
        lead=lead,
        menu={"entropy": "Entropy", "runs": "Runs", "made": "How it was made"},
        main="\n".join([*sections, runs_page.made_section(summary)]),
        footer=runs_page.FOOTER,
    )


def _entropy(ours: Data, svgs: Mapping[str, str]) -> str:
    flat = number(ours["flat"], 3)
    caption = (
        "Mean over the states of a rollout, and over runs where there are several, with the 95&nbsp;% interval; each "
        "point is the mean of a stretch of updates. Dotted: a flat vector. Scales differ."
    )
    found = "".join(f"<p>{finding}</p>" for finding in _findings(ours))
    return f"""<section id="entropy">
<p class="kicker">Figure 7</p>
<h2>Entropy over training</h2>
<p class="question">Do L2 normalisation and the action channel set the {ACTIONS} actions further apart?</p>
<p>A bonus vector r that is the same for all {ACTIONS} actions has the entropy ln&nbsp;{ACTIONS} = {flat} and changes no
policy; the lower, the more it prefers some actions to others. The paper does not say what it takes the entropy of. Left
is that of softmax(Normalize(r)), which the bonus would make of a uniform policy: under this reading <em>raw</em> and
<em>L2</em> can differ. Right is that of the shares r / &Sigma;&nbsp;r, which normalisation does not change; what
differs between <em>raw</em> and <em>L2</em> there is what the agents have learned.</p>
<div class="finding"><h3>What we found</h3>{found}</div>
{figure(svgs, "entropy", caption)}{_table(ours)}</section>"""


def _table(ours: Data) -> str:
    rows = []
    for name, row in ours["variants"].items():
        cells = []
        for which in WHICH:
            within = interval(row[which], 4)
            small = "" if within == "no interval" else f"<small>{within}</small>"
            cells += [f"{number(row[which]['value'], 4)}{small}", _small(row[f"{which}_below_flat"]["value"])]
        unfinished = "" if row["finished"] else '<small class="warn">not finished</small>'
        rows.append([name, counted(row["runs"], "run") + unfinished, f"{row['updates']:,}", *cells])
    head = [
        "Variant",
        "Runs",
        "Updates",
        "softmax(Normalize(r))",
        "below ln&nbsp;18",
        "r / &Sigma;&nbsp;r",
        "below ln&nbsp;18",
    ]
    return table(f"Entropy, mean over the last {100 * LAST:.0f}&nbsp;% of the updates", head, rows)


def _small(value: float | None) -> str:
    """A number that may be very small, with two digits; none of what is rounding."""
    if value is None:
        return NONE
    if abs(value) < RESOLUTION:
        return "0"
    text = f"{value:.2g}"
    if "e" in text:
        digits, power = text.split("e")
        return f"{digits.replace('-', '&minus;')}&middot;10<sup>{str(int(power)).replace('-', '&minus;')}</sup>"
    return text.replace("-", "&minus;")


def _findings(ours: Data) -> list[str]:
    """What the numbers say, and no more."""
    findings = []
    for which, what in WHICH.items():
        below = {name: row[f"{which}_below_flat"]["value"] for name, row in ours["variants"].items()}
        known = {name: value for name, value in below.items() if value is not None}
        if len(known) > 1 and max(known.values()) - min(known.values()) >= RESOLUTION:
            order = sorted(known, key=lambda name: -known[name])
            said = ", ".join(f"{name} ({_small(known[name])} below ln&nbsp;{ACTIONS})" for name in order)
            findings.append(f"Of {what}, the entropy in the end is, from low to high: {said}.")
    for row in ours["lower"]:
        if row["which"] == "added" and row["difference"]["value"] is not None:
            findings.append(_compared(row))
    flat = [name for name, row in ours["variants"].items() if _is_flat(row)]
    if flat:
        findings.append(f"Not to be told from a flat vector, in 32-bit numbers: {markup.listed(flat)}.")
    return findings or ["One variant alone has nothing to be compared with."]


def _is_flat(row: Data) -> bool:
    below = row["added_below_flat"]["value"]
    return below is not None and abs(below) < RESOLUTION


def _compared(row: Data) -> str:
    value, low, high = parts(row["difference"])
    if abs(value) < RESOLUTION:
        return f"{row['variant']} and {row['than']} end less than 10<sup>&minus;6</sup> apart, which is rounding."
    lower = "lower" if value < 0 else "higher"
    share = f"in {number(100 * row['share_below'], 0)}&nbsp;% of the updates it is the lower one"
    said = f"{row['variant']} ends {lower} than {row['than']}, by {_size(row['difference'])}; {share}."
    if math.isnan(low):
        return f"{said} One run of each does not tell how much of that is chance."
    apart = low > 0 or high < 0
    verdict = "does not include 0: the runs tell them apart" if apart else "includes 0: the runs do not tell them apart"
    return f"{said} The interval {verdict}."


def _size(difference: Data) -> str:
    """The size of a difference, with the interval of the difference itself."""
    value, low, high = parts(difference)
    size = _small(abs(value))
    return size if math.isnan(low) else f"{size} (95&nbsp;% interval of the difference {_small(low)} to {_small(high)})"
