"""``report.html`` of the Atari study, from ``summary.json`` and the figure."""

import math
from collections.abc import Mapping

from action_balance.files import Data
from action_balance.plots.drawing import NAMES
from action_balance.studies import campaign_page as runs_page
from action_balance.studies.atari.settings import COMPARED
from action_balance.studies.campaign_page import game_title
from action_balance.studies.records import RECENT
from action_balance.studies.statistics import FEWEST
from action_balance.web import markup
from action_balance.web.markup import NONE, counted, figure, interval, number, parts, stacked, table

ACTION_MODES = {"greedy": "most probable action", "sampled": "drawn from &pi;", "behaviour": "drawn from &beta;"}


def atari_page(summary: Data, svgs: Mapping[str, str]) -> str:
    """The whole page."""
    runs, games = summary["runs"], summary["ours"]["games"]
    finished = sum(run["status"] == "finished" for run in runs)
    menu = {"returns": "Table II", "curves": "Learning curves"}
    menu |= {"rooms": "Rooms"} if summary["ours"]["rooms"] else {}
    lead = (
        "The Atari experiments of &ldquo;Exploring Unknown States with Action Balance&rdquo;: "
        f"{counted(finished, 'finished run')}{_unfinished(len(runs) - finished)} in {counted(len(games), 'game')}."
    )
    sections = [_returns(summary), _curves(svgs), _rooms(summary["ours"]["rooms"])]
    sections += [runs_page.runs_section(runs, summary["notes"], summary["asked"]["runs"])]
    sections += [runs_page.made_section(summary)]
    return markup.document(
        title="Action balance: the Atari study",
        kicker="Action balance &middot; Atari study",
        heading="Does action balance help where rewards are hard to find?",
        lead=lead,
        menu=menu | {"runs": "Runs", "made": "How it was made"},
        main="\n".join(sections),
        footer=runs_page.FOOTER,
    )


def _unfinished(count: int) -> str:
    return f" and {count} not finished" if count else ""


def _returns(summary: Data) -> str:
    games = summary["ours"]["games"]
    methods = [name for name in COMPARED if any(name in game["methods"] for game in games.values())]
    rows = []
    for game, numbers in games.items():
        published = summary["paper"]["table_2"].get(game, {})
        cells = [_cell(numbers["methods"].get(name), published.get(name)) for name in methods]
        rows.append([game_title(game), *cells])
    found = "".join(f"<p>{finding}</p>" for finding in _findings(games, methods))
    caption = f"Final return: mean of the last {RECENT} episodes of each run, over runs, with 95&nbsp;% intervals"
    return f"""<section id="returns">
<p class="kicker">Table II</p>
<h2>Final returns</h2>
<p class="question">What does each method score in the end, and is it what the paper reports?</p>
<p>Returns are raw scores of the games that end in training, played by the policy that learns. Of an update the number
of games that ended and their mean score are recorded; the final return of a run is the mean of the last {RECENT} games:
updates weigh with their games, and the oldest with as many as are needed. Where fewer have ended, it is the mean of
all, and their number is given. The paper&rsquo;s numbers are means of {summary["paper"]["runs"]} runs.</p>
<div class="finding"><h3>What we found</h3>{found}</div>
{table(caption, ["Game", *map(markup.method, methods)], rows)}{_differences(games, methods)}</section>"""


def _cell(row: Data | None, published: float | None) -> str:
    """Ours, of the finished runs, with the paper's; of others, where none is finished, and then it says so."""
    paper = "" if published is None else f"paper {number(published)}"
    if row is None:
        return f"{NONE}{_small('no run')}{_small(paper)}"
    if row["final"]:
        more = row["runs"] - row["finished"]
        runs = counted(row["finished"], "run") + (f", {more} not finished" if more else "")
        verdict = {True: ' <span class="good">agrees</span>', False: ' <span class="warn">differs</span>'}
        runs += _few(row)
        within = interval(row["final"])
        small = _small("" if within == "no interval" else within) + _small(runs)
        return f"{number(row['final']['value'])}{small}{_small(paper + verdict.get(row['agrees'], ''))}"
    if row["finished"]:
        return f"{NONE}{_small('no game ended')}{_small(paper)}"
    so_far = _small(f"so far, at {_amounts(*row['so_far_steps'])} steps{_few(row)}")
    return f'<span class="warn">{number(row["so_far"])}</span>{so_far}{_small(paper)}'


def _few(row: Data) -> str:
    """How many games are behind a number, where they are fewer than it should be the mean of."""
    fewest = row["fewest_episodes"]
    if not fewest or fewest >= RECENT:
        return ""
    return f", {counted(fewest, 'game')}" + (" or more each" if (row["finished"] or row["runs"]) > 1 else "")


def _small(text: str) -> str:
    return f"<small>{text}</small>" if text else ""


def _amounts(fewest: int, most: int) -> str:
    """One number of steps, or from which to which."""
    return " to ".join(dict.fromkeys(_amount(steps) for steps in (fewest, most)))


def _amount(steps: int) -> str:
    return f"{steps / 1e6:.3g}&nbsp;M" if steps >= 1_000_000 else f"{steps:,}"


def _differences(games: Data, methods: list[str]) -> str:
    """How much more than RND the others score, where both have finished runs."""
    others = [name for name in methods if any(game["more"].get(name) for game in games.values())]
    if not others:
        return ""
    rows = [
        [game_title(game), *(stacked(numbers["more"].get(name), 0) for name in others)]
        for game, numbers in games.items()
        if any(numbers["more"].values())
    ]
    return table("Final return less that of RND, with 95&nbsp;% intervals", ["Game", *map(markup.method, others)], rows)


def _findings(games: Data, methods: list[str]) -> list[str]:
    """What the numbers say, and no more."""
    findings = [said for name in methods if (said := _against_base(games, name))]
    rows = [row for game in games.values() for row in game["methods"].values()]
    compared = [row["agrees"] for row in rows if row["agrees"] is not None]
    if compared:
        findings.append(
            f"{sum(compared)} of the {counted(len(compared), 'cell')} that can be compared with the paper&rsquo;s "
            "agree within the noise of both. The paper gives no spread: its runs are taken to vary as ours do."
        )
    unfinished = sum(not row["final"] for row in rows)
    if unfinished:
        findings.append(
            f"{counted(unfinished, 'cell')} of the table {'has' if unfinished == 1 else 'have'} no final return yet: "
            "what stands there, if anything, is as far as the runs are, and is compared with nothing."
        )
    return findings or ["One method alone is compared with nothing but the paper."]


def _against_base(games: Data, name: str) -> str:
    """In which games a method scores more than RND, less, or no one can tell; nothing where nothing is finished."""
    where: dict[str, list[str]] = {"more": [], "less": [], "unclear": [], "alone": []}
    for game, numbers in games.items():
        if more := numbers["more"].get(name):
            _, low, high = parts(more)
            kind = "alone" if math.isnan(low + high) else "more" if low > 0 else "less" if high < 0 else "unclear"
            where[kind].append(game_title(game))
    said = [f"scores {kind} than RND in {markup.listed(where[kind])}" for kind in ("more", "less") if where[kind]]
    if where["unclear"]:
        said.append(
            f"cannot be told apart from RND in {markup.listed(where['unclear'])}, where the interval includes 0"
        )
    if where["alone"]:
        said.append(f"has too few runs for an interval in {markup.listed(where['alone'])}")
    return f"{NAMES[name][0].upper()}{NAMES[name][1:]} {'; it '.join(said)}." if said else ""


def _curves(svgs: Mapping[str, str]) -> str:
    caption = (
        f"Mean return of the last {RECENT} episodes against environment steps, each of them four emulator frames. "
        f"Thick: mean over finished runs, or over all where none is finished; with {FEWEST} runs or more, the band is "
        "its 95&nbsp;% interval. Thin: single runs. A triangle marks where a run that is not finished has come to."
    )
    return f"""<section id="curves">
<p class="kicker">Figure 8</p>
<h2>Learning curves</h2>
<p class="question">How soon do returns rise?</p>
{figure(svgs, "learning_curves", caption)}</section>"""


def _rooms(rows: list[Data]) -> str:
    if not rows:
        return ""
    action_modes = [mode for mode in ACTION_MODES if any(row["way"] == mode for row in rows)]
    found = {(row["game"], row["method"], row["way"]): row for row in rows}
    tables = ""
    for game in dict.fromkeys(row["game"] for row in rows):
        methods = dict.fromkeys(row["method"] for row in rows if row["game"] == game)
        lines = [
            [markup.method(name), *(_rooms_cell(found.get((game, name, mode))) for mode in action_modes)]
            for name in methods
        ]
        tables += table(
            f"{game_title(game)}: rooms in a game, mean",
            ["Method", *(ACTION_MODES[mode] for mode in action_modes)],
            lines,
        )
    return f"""<section id="rooms">
<h2>Rooms</h2>
<p class="question">How much of the game does an agent get to see?</p>
<p>Rooms that are entered in one game, played without learning by the agent of each run after its last update; the
emulator&rsquo;s memory tells in which room the player is.</p>
{tables}</section>"""


def _rooms_cell(row: Data | None) -> str:
    if row is None:
        return NONE
    games = _small(f"{counted(row['games'], 'game')} of {counted(row['runs'], 'run')}")
    most = _small(f"at most {row['most']}")
    return f"{number(row['mean'], 1)}{most}{games}"
