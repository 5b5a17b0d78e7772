"""``report.html`` of the neural study, from ``summary.json`` and the figures."""

import html
import json
from collections.abc import Mapping
from dataclasses import asdict

from action_balance.config.agent import Config
from action_balance.files import Data
from action_balance.plots.drawing import NAMES
from action_balance.studies.neural.analysis import SOLVED
from action_balance.studies.neural.settings import WORLDS, NeuralSettings
from action_balance.studies.statistics import RESAMPLES
from action_balance.web import markup
from action_balance.web.markup import NONE, counted, figure, interval, judged, number, parts, stacked, table, told

#: The method that `HERO` is compared with.
BASE = "rnd"

TITLES = {
    "open": "Open grid",
    "corridor": "Corridor",
    "deep-sea": "Deep sea",
    "counting": "Counting",
    "made": "How it was made",
}

QUESTIONS = {
    "open": "In a world without any reward, how many states does each agent get to see?",
    "corridor": "Two large rooms, a treasure in the far corner of one: who finds it, and who then learns to fetch it?",
    "deep-sea": "Only one way in a thousand leads to the treasure, and every step towards it costs: who dives?",
    "counting": "The action bonus is meant to say how rarely an action was tried. Does it?",
}

HOWS = {
    "open": (
        "The paper&rsquo;s grid of 40 by 40 cells. Agents see the column and the row they are in, and nothing else; "
        "episodes begin in the corner and last 200 steps. A state counts once an agent has reached it."
    ),
    "corridor": (
        "Rooms of 25 by 25 cells, joined by a corridor of 9. Episodes begin in its middle and last 200 steps; the "
        "treasure, reward 1, is in the far upper corner of the right room. Rooms of this size are ours: in those of "
        "the grid study every method finds the treasure by chance."
    ),
    "deep-sea": (
        "The chain of 10 by 10 cells of bsuite: the diver sinks a row with each step, and only the one that goes right "
        "ten times gets the treasure, reward 1. Going right costs 0.001 each time, and which action does so is drawn "
        "anew for every column and agent."
    ),
    "counting": (
        "A corridor with rooms of 5 by 5 cells, small enough to count how often each action was taken in each cell. "
        "After training, the agents are asked about every pair: the error of the action bonus module, and how probable "
        "the action that was tried least is under &pi; and under &beta;, which adds the bonus."
    ),
}

DEVIATIONS = (
    "The paper runs its grid worlds with counts instead of networks, and its networks on Atari games only. This page "
    "is what its Algorithm 1 does with small networks in small worlds; the paper has no numbers to set beside it.",
    "Hyper-parameters are those of RND but for the learning rate and the size of the networks. They are the same for "
    "all methods and worlds, and were chosen once: the learning rate by trying two on the deep sea, the size of the "
    "bonus networks so that they count (see below) and two cores suffice.",
    "The size of the corridor&rsquo;s rooms was chosen so that PPO alone rarely finds the treasure.",
)


def neural_page(summary: Data, svgs: Mapping[str, str]) -> str:
    """The whole page."""
    settings, ours = summary["settings"], summary["ours"]
    methods = html.escape(markup.listed([NAMES.get(name, name) for name in settings["methods"]]))
    sections = "".join(_section(study, summary, svgs) for study in WORLDS if study in ours)
    lead = (
        "Algorithm 1 of &ldquo;Exploring Unknown States with Action Balance&rdquo; with networks instead of counts: "
        f"{counted(settings['seeds'], 'agent')} each of {methods}, {settings['steps']:,} steps long, with the same "
        "hyper-parameters."
    )
    return markup.document(
        title="Action balance: the neural study",
        kicker="Action balance &middot; neural study",
        heading="What does action balance add when states cannot be counted?",
        lead=lead,
        menu={name: title for name, title in TITLES.items() if name in ours or name == "made"},
        main=f"{_cards(ours)}\n{sections}\n{_made(summary)}",
    )


def _cards(ours: Data) -> str:
    """What each study comes to, in one number."""
    cards = []
    if (world := ours.get("open")) and world["more_states"]:
        more = world["more_states"]
        said = judged(more, 0, "action balance RND sees more", "action balance RND sees fewer", None)
        what = f"states more than RND, of {world['reachable']:,}, are reached by action balance RND"
        cards.append(("Open grid", number(more["value"], 1, sign=True), what, interval(more, 1), said))
    for name in ("corridor", "deep-sea"):
        if (world := ours.get(name)) and world["ratio"]:
            said = judged(world["ratio"], 1, "action balance RND is sooner", "action balance RND is later", None)
            what = "as many steps to the treasure for RND as for action balance RND"
            big = f"{number(world['ratio']['value'], 2)}&times;"
            cards.append((TITLES[name], big, what, interval(world["ratio"], 2), said))
    if count := ours.get("counting"):
        said = f"The lowest of {counted(count['agents'], 'agent')} is {number(count['lowest'], 2)}."
        what = "rank correlation between the learned bonus and how rarely an action was tried"
        cards.append(
            ("Counting", number(count["correlation"]["value"], 2), what, interval(count["correlation"], 2), said)
        )
    made = (
        f'<article class="card"><h2>{title}</h2><p class="big">{big}</p><p class="what">{what}</p>'
        f'<dl><dt>95&nbsp;% interval</dt><dd>{within}</dd></dl><p class="says">{said}</p></article>'
        for title, big, what, within, said in cards
    )
    return f'<div class="cards">{"".join(made)}</div>' if cards else ""


def _section(study: str, summary: Data, svgs: Mapping[str, str]) -> str:
    ours = summary["ours"][study]
    findings, body = _counting(ours, svgs) if study == "counting" else _world(study, ours, svgs)
    found = "".join(f"<p>{finding}</p>" for finding in findings)
    return f"""<section id="{study}">
<p class="kicker">Study {list(WORLDS).index(study) + 1} of {len(WORLDS)}</p>
<h2>{TITLES[study]}</h2>
<p class="question">{QUESTIONS[study]}</p>
<p>{HOWS[study]}</p>
<div class="finding"><h3>What we found</h3>{found}</div>
{body}</section>
"""


def _world(study: str, ours: Data, svgs: Mapping[str, str]) -> tuple[list[str], str]:
    """Findings, and figures with the table."""
    rewarded = study != "open"
    figures = {
        "coverage": "Mean over agents; the band is its 95&nbsp;% interval.",
        "found": "Steps of an agent are those of all its environments together. A curve further to the left is sooner.",
        "returns": "Mean return of the episodes that ended in an update. The band is a bootstrap over agents.",
        "visits": "Mean visits in the whole of training, on one scale. Blank: no agent was there. Grey: none can be.",
    }
    shown = ("found", "returns", "visits") if rewarded else ("coverage", "visits")
    body = "".join(figure(svgs, f"{study}_{name}", figures[name]) for name in shown)
    body += _table(ours, rewarded)
    return (_rewarded_findings(ours) if rewarded else _open_findings(ours)), body


def _table(ours: Data, rewarded: bool) -> str:
    head = ["Method", f"States reached, of {ours['reachable']:,}"]
    head += ["Found the treasure", "Median steps to it", "Solved in the end", "Return in the end"] if rewarded else []
    rows = []
    for name, row in ours["methods"].items():
        cells = [stacked(row["states"], 1)]
        if rewarded:
            median = NONE if row["median_steps"] is None else number(row["median_steps"])
            cells += [f"{row['found']} of {row['agents']}", median, _percent(row["solved"]), stacked(row["return"], 2)]
        rows.append([markup.method(name), *cells])
    caption = "After the whole of training: means and shares with 95&nbsp;% intervals"
    return table(caption, head, rows)


def _percent(share: Data) -> str:
    value, low, high = (100 * part for part in parts(share))
    return f"{number(value)}&nbsp;%<small>{number(low)} to {number(high)}&nbsp;%</small>"


def _open_findings(ours: Data) -> list[str]:
    methods = ours["methods"]
    findings = []
    if "random" in methods and BASE in methods:
        base, random = (methods[name]["states"]["value"] for name in (BASE, "random"))
        findings.append(
            f"RND reaches {number(base, 0)} states, a random walk {number(random, 0)}: the next-state bonus works."
        )
    if ours["more_states"]:
        said = judged(ours["more_states"], 0, "it sees more", "it sees fewer", None)
        findings.append(f"Action balance RND is ahead of RND by {told(ours['more_states'], 1, ' states')}. {said}")
    if ours["more_than_ppo"]:
        said = judged(ours["more_than_ppo"], 0, "it sees more", "it sees fewer", None)
        more = told(ours["more_than_ppo"], 1, " states")
        findings.append(f"Without next-state bonus, action balance is ahead of PPO by {more}. {said}")
    return findings


def _rewarded_findings(ours: Data) -> list[str]:
    methods = ours["methods"]
    counts = markup.listed(
        [f"{NAMES[name]} in {row['found']} ({row['solved_agents']} solved)" for name, row in methods.items()]
    )
    agents = next(iter(methods.values()))["agents"]
    findings = [f"Of {counted(agents, 'agent')} each, the treasure was found by {counts}."]
    if ours["ratio"]:
        said = judged(ours["ratio"], 1, "action balance RND is sooner", "action balance RND is later", None)
        findings.append(
            f"To the treasure, RND needs {told(ours['ratio'], 2, ' times the steps of action balance RND')}; agents "
            f"that never found it count with all their steps. {said}"
        )
    return findings


def _counting(ours: Data, svgs: Mapping[str, str]) -> tuple[list[str], str]:
    caption = (
        "Left: every pair of a cell and an action of the first agent. Right: every agent as a line, means as large "
        "dots; the action is the one that was tried least in a cell, and the mean is over cells."
    )
    points = dict(zip(("value", "low", "high"), (100 * part for part in parts(ours["lift"])), strict=True))
    judgement = judged(ours["lift"], 0, "&beta; tries it more often", "&beta; tries it less often", None)
    findings = [
        "The rank correlation between the learned error and how rarely an action was taken is "
        f"{told(ours['correlation'], 2)} over all pairs, and {number(ours['lowest'], 2)} in the agent with the lowest.",
        "Most of that is between cells: among the four actions of one cell, it is "
        f"{told(ours['within_states'], 2)} on average. The balance of actions depends on the latter.",
        "On average over cells, the action that was tried least has a probability of "
        f"{number(100 * ours['least_pi'], 1)}&nbsp;% under &pi; and of {number(100 * ours['least_beta'], 1)}&nbsp;% "
        f"under &beta;: a difference of {told(points, 2, ' percentage points')}. {judgement}",
        "The step from &pi; to &beta; is small: the vector of errors is divided by its length, and where its entries "
        "are nearly equal the softmax hardly moves.",
    ]
    return findings, figure(svgs, "counting", caption)


def _made(summary: Data) -> str:
    settings = {name: value for name, value in summary["settings"].items() if name != "studies"}
    agent = _flat(asdict(Config(steps=settings["steps"])))
    tables = ""
    named = {name: ", ".join(value) if isinstance(value, list) else f"{value:,}" for name, value in settings.items()}
    for caption, pairs in (("Settings", named), ("Hyper-parameters", agent), ("Versions", summary["versions"])):
        rows = [[html.escape(name.replace("_", " ")), html.escape(str(value))] for name, value in pairs.items()]
        tables += table(caption, ["Name", "Value"], rows, "plain")
    command = html.escape(_command(settings, list(summary["ours"])))
    return f"""<section id="made">
<h2>{TITLES["made"]}</h2>
<p>This command makes the page; the training runs behind it are in its folder <code>runs</code>:</p>
<pre><code>{command}</code></pre>
<h3>Intervals</h3>
<p>All are 95&nbsp;% intervals over agents: Student&rsquo;s for means; where two methods are compared, of the
differences between agents of the same seed, as these begin with the same networks and draws; Clopper&rsquo;s and
Pearson&rsquo;s for shares; a bootstrap of {RESAMPLES:,} resamples for ratios, returns and interquartile means. An agent
has solved a world if its mean return over the last tenth of the updates is above {SOLVED}.</p>
<h3>What to know about it</h3>
<ul>{"".join(f"<li>{deviation}</li>" for deviation in DEVIATIONS)}</ul>
<div class="pair">{tables}</div>
</section>"""


def _flat(data: Data) -> Data:
    """Nested settings by their own names, but for those that are said elsewhere."""
    flat: Data = {}
    for name, value in data.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return {name: value for name, value in flat.items() if name not in ("method", "steps") and value is not None}


def _command(settings: Data, studies: list[str]) -> str:
    usual = json.loads(json.dumps(asdict(NeuralSettings())))
    words = ["action-balance reproduce neural"]
    for name, value in settings.items():
        if name in ("seeds", "seed") or usual.get(name) != value:
            words += [f"--{name}", *(map(str, value) if isinstance(value, list) else [str(value)])]
    if set(studies) != set(WORLDS):
        words += ["--studies", *studies]
    return " ".join(words)
