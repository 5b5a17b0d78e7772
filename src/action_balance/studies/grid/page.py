"""``report.html``: the grid study on one page without any other file, from ``summary.json`` and the figures."""

import html
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict

from action_balance.envs.grid.maps import corridor_world
from action_balance.files import Data
from action_balance.plots.drawing import HERO, NAMES
from action_balance.studies.grid import first_reach, headline
from action_balance.studies.grid.headline import HEADLINES, TIMES
from action_balance.studies.grid.settings import STUDIES, GridSettings
from action_balance.studies.statistics import RESAMPLES
from action_balance.web import markup
from action_balance.web import widgets as player
from action_balance.web.markup import NONE, counted, figure, interval, judged, number, parts, stacked, table, told

#: The method that `HERO` is compared with.
BASE = "rnd"

TITLES = {"watch": "Watch", "coverage": "Coverage", "goals": "Goals", "corridor": "Corridor", "made": "How it was made"}

#: What an interval above and one below 1 means.
SOONER = "action balance RND is sooner", "action balance RND is later"

NEEDS_BOTH = "The comparison needs both RND and action balance RND."

DEVIATIONS = (
    "The agent is tabular: it counts states and actions, and trains no network. In its grid worlds the paper does so "
    "for the next-state bonus. Its networks and Atari games are no part of this page.",
    "What the paper&rsquo;s text leaves open about the agent, such as how often it learns, is set as shown below.",
    "The paper draws the corridor, but gives neither its size nor any number. Size and measures are ours.",
    "Action balance without a next-state bonus is only in the paper&rsquo;s heat maps: here it has numbers too.",
    "The paper reports means without intervals. Where ours are wide, the paper&rsquo;s are likely to be as uncertain.",
)


#: What the players show, in words.
WATCH = (
    "Visits of every cell up to the same step, on one scale; of one run with the agent and its last steps. There, "
    "choose a cell to see for every method how often each action was tried (N), the policy without the action bonus "
    "(&pi;), the policy that acts (&beta;), and the action bonus."
)


def grid_page(summary: Data, svgs: Mapping[str, str], data: Data) -> str:
    """The whole page: the players, headline numbers, a section per study, and how to make it again.

    Args:
        summary: of the result.
        svgs: its figures by name.
        data: of what moves, see `player.result_data`.
    """
    settings, ours = summary["settings"], summary["ours"]
    sections = {"coverage": _coverage, "goals": _goals, "corridor": _corridor}
    studies = [sections[study](summary, svgs, data) if study in ours else _missing(study) for study in STUDIES]
    beside = "World and agent are the paper&rsquo;s, so its numbers stand beside ours."
    if not summary["as_in_paper"]:
        beside = "World or agent differ from the paper&rsquo;s, so its numbers do not apply and are left out."
    methods = html.escape(markup.listed([NAMES.get(name, name) for name in settings["methods"]]))
    lead = (
        "The grid worlds of &ldquo;Exploring Unknown States with Action Balance&rdquo;, run again: "
        f"{counted(settings['runs'], 'run')} each of {methods}. {beside}"
    )
    return markup.document(
        title="Action balance: the grid study",
        kicker="Action balance &middot; grid study",
        heading="Does balancing actions help to find unknown states?",
        shows=headline.shows(summary),
        lead=lead,
        menu={name: title for name, title in TITLES.items() if name != "watch" or data["players"]},
        main=f"{player.watch_section(data['players'], WATCH)}{_cards(summary)}\n{''.join(studies)}\n{_made(summary)}",
        data=data,
    )


def _cards(summary: Data) -> str:
    """The headline numbers, all drawn on one scale."""
    shown = {study: summary["ours"][study][HEADLINES[study][0]] for study in STUDIES if study in summary["ours"]}
    papers = {study: _published(summary, study, HEADLINES[study][0]) for study in shown}
    ends = [end for estimate in shown.values() for end in parts(estimate)]
    ends = [min(max(end, 1 / 16), 16) for end in (*ends, *map(markup.as_float, papers.values())) if not math.isnan(end)]
    span = min(0.7, *ends, 1) / 1.1, max(1.8, *ends, 1) * 1.1
    cards = []
    for study, estimate in shown.items():
        _, title, what = HEADLINES[study]
        facts = f"<dt>95&nbsp;% interval</dt><dd>{interval(estimate, 2)}</dd>" if estimate else ""
        if estimate and summary["as_in_paper"]:
            about = "about " if study == "coverage" else ""
            facts += f"<dt>The paper</dt><dd>{f'{about}{papers[study]}' if papers[study] else 'gives no number'}</dd>"
        cards.append(
            f'<article class="card"><h2>{title}</h2>'
            f'<p class="big">{number(estimate["value"], 2) + "&times;" if estimate else NONE}</p>'
            f'<p class="what">{what}</p>{markup.ruler(estimate, papers[study], span, HERO)}<dl>{facts}</dl>'
            f'<p class="says">{_verdict(summary, study)}</p></article>'
        )
    return f'<div class="cards">{"".join(cards)}</div>' if cards else ""


def _published(summary: Data, study: str, key: str) -> float | None:
    """The paper's number, where it has one and world and agent are the paper's."""
    return (summary["paper"][study] or {}).get(key) if summary["as_in_paper"] else None


def _verdict(summary: Data, study: str) -> str:
    """What the headline number says, or why it says nothing."""
    if first_reach.given_up(summary["ours"][study]):
        return "Some runs were given up, so this number is not to be relied upon."
    key = HEADLINES[study][0]
    return judged(summary["ours"][study][key], 1, *SOONER, _published(summary, study, key))


def _missing(study: str) -> str:
    return f'<section id="{study}"><h2>{TITLES[study]}</h2><p>This study is not part of this result.</p></section>\n'


def _section(study: str, question: str, how: str, findings: Iterable[str], body: str) -> str:
    found = "".join(f"<p>{finding}</p>" for finding in findings if finding)
    return f"""<section id="{study}">
<p class="kicker">Study {STUDIES.index(study) + 1} of {len(STUDIES)}</p>
<h2>{TITLES[study]}</h2>
<p class="question">{question}</p>
<p>{how}</p>
<div class="finding"><h3>What we found</h3>{found}</div>
{body}</section>
"""


def _coverage(summary: Data, svgs: Mapping[str, str], data: Data) -> str:
    settings, ours = summary["settings"], summary["ours"]["coverage"]
    question = (
        "In a world without any reward, how many cells does each method get to see, and how soon does it do better "
        "than walking at random?"
    )
    how = (
        f"Each episode begins in the corner of an open grid of {settings['size']:,} by {settings['size']:,} cells and "
        f"lasts {counted(settings['episode_steps'], 'step')}. A run is {counted(settings['episodes'], 'episode')}; "
        "what the agent has counted stays from one to the next. A cell is covered once the agent acted from it."
    )
    body = ""
    if not any(one.get("curves") for one in data["players"]):  # they are with the player
        caption = "Mean over runs; the band is its 95&nbsp;% interval. Figure 4a in the paper."
        body = figure(svgs, "coverage_rate", caption)
    body += figure(
        svgs,
        "relative_increase",
        "Coverage relative to random. A dot marks the step from which a mean stays above that of random until the "
        "end. Where a band includes zero, the difference may be chance. The axis leaves out the first few steps, which "
        "are mostly noise. Figure 4b in the paper.",
    )
    body += coverage_table(ours)
    body += figure(
        svgs,
        "heatmaps",
        "Mean visits of each cell up to some step, on one scale for all panels. The start is at the lower left; cells "
        "that no run visited are left blank. Figure 5 in the paper, and the end of the runs.",
    ) + figure(
        svgs, "final_cells", "Each run is a dot. How much the boxes overlap shows how little a single run tells."
    )
    return _section("coverage", question, how, _coverage_findings(summary), body)


def coverage_table(ours: Data) -> str:
    """Cells covered in the end, by method."""
    compared = "random" in ours["methods"] and len(ours["methods"]) > 1
    head = ["Method", "Cells in the end", "95&nbsp;% interval", f"Share of {ours['reachable_cells']:,}"]
    head += ["Over random", "Above random from step"] if compared else []
    rows = []
    for name, row in ours["methods"].items():
        cells = [number(row["final_cells"]["value"], 1), interval(row["final_cells"], 1), _percent(row["final_rate"])]
        if compared and name == "random":
            cells += [NONE, NONE]
        elif compared:
            since = row["stays_above_random_from"]
            cells.append(_percent(row["relative_increase"], sign=True))
            cells.append("not in the end" if since is None else f"{since:,}")
        rows.append([markup.method(name), *cells])
    return table(f"After {counted(ours['steps'], 'step')}", head, rows)


def _percent(share: float, sign: bool = False) -> str:
    return f"{number(100 * share, 1, sign)}&nbsp;%"


def _coverage_findings(summary: Data) -> list[str]:
    ours = summary["ours"]["coverage"]
    sooner, more = ours["times_sooner"], ours["more_cells"]
    if more is None:
        return [NEEDS_BOTH]
    first = "How soon random is overtaken can be compared only with random, and if both methods end above it."
    if sooner is not None:
        hero, base = (f"{ours['methods'][name]['stays_above_random_from']:,}" for name in (HERO, BASE))
        first = (
            f"Action balance RND stays above random from step {hero} on, RND from step {base}: "
            f"{told(sooner, 2, ' times sooner')}. {_verdict(summary, 'coverage')}"
        )
    meanings = "action balance RND covers more", "action balance RND covers fewer"
    verdict = judged(more, 0, *meanings, _published(summary, "coverage", "more_cells"))
    return [first, f"In the end, action balance RND is ahead of RND by {told(more, 1, ' cells')}. {verdict}"]


def _goals(summary: Data, svgs: Mapping[str, str], data: Data) -> str:
    settings, ours = summary["settings"], summary["ours"]["goals"]
    methods = ours["methods"]
    question = "How many steps pass until a goal is found for the first time, if nothing shows the way?"
    how = (
        "One cell of the same grid becomes the goal, and a run ends when the agent first steps on it. Episodes that "
        "miss it begin again in the corner; the steps of all of them count. Every method has "
        f"{counted(settings['runs'], 'run')} of its own for every goal."
    )
    by_goal = zip(*(method["goals"] for method in methods.values()), strict=True)
    rows = [["({}, {})".format(*cells[0]["goal"]), *map(_goal, cells)] for cells in by_goal]
    several = len(rows) > 1
    if several:
        rows.append(["Average", *map(_average, methods.values())])
    diamonds = " Diamonds are the means of the paper&rsquo;s Table&nbsp;I." if summary["as_in_paper"] else ""
    caption = "Mean steps and 95&nbsp;% interval" + (
        ", beside Table&nbsp;I of the paper" if summary["as_in_paper"] else ""
    )
    body = player.reach_place(data["reach"], "goals")
    body += figure(svgs, "goal_boxes", f"All runs. The axis is logarithmic.{diamonds} Figure 6 in the paper.")
    body += table(caption, ["Goal", *map(markup.method, methods)], rows, last_is_sum=several)
    return _section("goals", question, how, [*_goals_findings(summary), _given_up(summary, "goals")], body)


def _goal(cell: Data) -> str:
    """One cell of the table: ours, the paper's, and whether they agree."""
    text = _steps(cell)
    if cell["paper"] is not None:
        text += f"<small>paper {number(cell['paper'])}</small>"
    if cell["agrees"] is not None and not cell["given_up"]:
        look, word = ("good", "agrees") if cell["agrees"] else ("warn", "differs")
        text += f'<small class="{look}">{word}, z&nbsp;{number(cell["z"], 1, sign=True)}</small>'
    return text


def _average(method: Data) -> str:
    text = _steps({"mean": method["average"], "given_up": sum(cell["given_up"] for cell in method["goals"])})
    published = method["paper_average"]
    return text + ("" if published is None else f"<small>paper {number(published)}</small>")


def _steps(reach: Data) -> str:
    """Mean steps; only a lower bound if runs were given up."""
    if not reach["given_up"]:
        return stacked(reach["mean"])
    return f'&ge;&nbsp;{number(reach["mean"]["value"])}<small class="warn">{reach["given_up"]:,} given up</small>'


def _goals_findings(summary: Data) -> list[str]:
    ours = summary["ours"]["goals"]
    findings = [NEEDS_BOTH]
    if ours["ratio"] is not None:
        findings = [f"On average, RND needs {told(ours['ratio'], 2, TIMES)}. {_verdict(summary, 'goals')}"]
    compared, missed = ours["compared"], ours["compared"] - ours["agreeing"]
    if compared and not first_reach.given_up(ours):
        chance = sum(math.comb(compared, k) * 0.05**k * 0.95 ** (compared - k) for k in range(missed, compared + 1))
        surprise = "is no surprise" if chance >= 0.05 else "is more than chance explains"
        findings.append(
            f"{ours['agreeing']} of {compared} cells of Table&nbsp;I agree with ours within the noise of both; about "
            f"1 in 20 is expected to miss by chance{f', so {missed} of {compared} {surprise}' if missed else ''}."
        )
    return findings


def _corridor(summary: Data, svgs: Mapping[str, str], data: Data) -> str:
    ours, world = summary["ours"]["corridor"], corridor_world()
    methods, room = ours["methods"], world.height
    question = "Does a bonus for the next state make an agent dig on where it happened to go first?"
    how = (
        f"Two rooms of {room} by {room} cells are joined by a corridor of {world.width - 2 * room} cells. Every "
        "episode begins in its middle, and a treasure lies in the far corner of the right room. One set of runs walks "
        "with nothing to find, which shows where the time goes; another walks until it stands on the treasure."
    )
    rows = [
        [
            markup.method(name),
            _steps(row["treasure"]),
            number(row["treasure"]["median"]),
            *(stacked(row[key], 2) for key in ("one_sidedness", "same_side_again")),
        ]
        for name, row in methods.items()
    ]
    body = figure(
        svgs,
        "corridor_visits",
        "Mean visits without a treasure, of the runs that entered the left room before the right one. The circle is "
        "the start, the star the place of the treasure; below each panel stands how the steps in the rooms are shared. "
        "The scale is that of the rooms: the corridor may lie beyond its upper end. After Figure 1 in the paper.",
    ) + player.reach_place(data["reach"], "corridor")
    head = ["Method", "Steps to the treasure", "Median", "One-sidedness", "Same side again"]
    body += table("Digging, and what it costs: means and 95&nbsp;% intervals", head, rows)
    body += (
        f"<p>One-sidedness compares the steps in the two rooms over the first {ours['early_episodes']} episodes: 0 is "
        "an even share, 1 means that only one room was entered. Same side again is how often the next episode enters "
        "the same room first; an agent without memory has 0.5.</p>"
    )
    findings = [*_corridor_findings(summary), _given_up(summary, "corridor")]
    return _section("corridor", question, how, findings, body)


def _corridor_findings(summary: Data) -> list[str]:
    ours = summary["ours"]["corridor"]
    if not {BASE, HERO} <= ours["methods"].keys():
        return [NEEDS_BOTH]
    base, hero = (ours["methods"][name]["one_sidedness"] for name in (BASE, HERO))
    (_, base_low, base_high), (_, hero_low, hero_high) = parts(base), parts(hero)
    digs = base_low > hero_high
    said = "The intervals overlap, so that a difference is not certain."
    if math.isnan(base_low + hero_low):
        said = "Without intervals of both, this may be chance."
    elif digs or hero_low > base_high:
        said = f"The intervals are apart: {NAMES[BASE] if digs else NAMES[HERO]} is the more one-sided."
    _, low, high = parts(ours["ratio"])
    known = low <= 1 <= high and not first_reach.given_up(ours)
    free = " The digging is there, then, but what it costs in steps does not show." if digs and known else ""
    return [
        f"One-sidedness is {told(base, 2)} with RND and {told(hero, 2)} with action balance RND. {said}",
        f"To the treasure, RND needs {told(ours['ratio'], 2, TIMES)}. {_verdict(summary, 'corridor')}{free}",
    ]


def _given_up(summary: Data, study: str) -> str:
    count, limit = first_reach.given_up(summary["ours"][study]), summary["settings"]["max_steps"]
    if not count:
        return ""
    return (
        f'<span class="warn">{counted(count, "run")} given up</span> after {counted(limit, "step")} and counted with '
        "that number, so that the means are too small."
    )


def _made(summary: Data) -> str:
    settings = {name.replace("_", " "): _setting(value) for name, value in summary["settings"].items()}
    tables = ""
    for caption, pairs in (("Settings", settings), ("Versions", summary["versions"])):
        rows = [[html.escape(name), html.escape(str(value))] for name, value in pairs.items()]
        tables += table(caption, ["Name", "Value"], rows, "plain")
    command = html.escape(_command(summary["settings"], list(summary["ours"])))
    return f"""<section id="made">
<h2>{TITLES["made"]}</h2>
<p>This command makes the page, and the figures and tables behind it:</p>
<pre><code>{command}</code></pre>
<h3>Intervals</h3>
<p>All are 95&nbsp;% intervals over independent runs: Student&rsquo;s for means, Welch&rsquo;s for the difference of two
means, a bootstrap of {RESAMPLES:,} resamples for ratios. Where one of our means stands beside the paper&rsquo;s, z is
their difference in standard errors. As the paper gives no spread, that of its runs is taken to be that of ours.</p>
<h3>Where this differs from the paper, or goes beyond it</h3>
<ul>{"".join(f"<li>{deviation}</li>" for deviation in DEVIATIONS)}</ul>
<div class="pair">{tables}</div>
</section>"""


def _command(settings: Data, studies: list[str]) -> str:
    """The command line: the number of runs, the seed, and every setting that is not its default."""
    usual = json.loads(json.dumps(asdict(GridSettings())))
    words = ["action-balance reproduce grid"]
    for name, value in settings.items():
        if name in ("runs", "seed") or usual.get(name) != value:
            values = value if isinstance(value, list) else [value]
            written = (",".join(map(str, one)) if isinstance(one, list) else str(one) for one in values)
            words += [f"--{name.replace('_', '-')}", *written]
    if set(studies) != set(STUDIES):
        words += ["--studies", *studies]
    return " ".join(words)


def _setting(value: object) -> str:
    if isinstance(value, list):
        return ", ".join("({}, {})".format(*one) if isinstance(one, list) else str(one) for one in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
