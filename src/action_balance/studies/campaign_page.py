"""What the reports of Atari studies have in common: the runs behind them, deviations, settings, the command."""

import html
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, TypeVar

from action_balance.config.agent import Config
from action_balance.envs.atari.games import SKIP, title
from action_balance.errors import UserError, flag
from action_balance.files import Data
from action_balance.studies.atari.settings import PRESET, AtariSettings
from action_balance.studies.entropy.settings import EntropySettings
from action_balance.studies.records import RECENT, Record
from action_balance.studies.statistics import number as plain
from action_balance.web import markup
from action_balance.web.markup import counted, number, table

#: What a report of runs on a GPU cannot promise to repeat exactly.
FOOTER = "Made from the files of the runs alone: the same runs give the same page."

StudySettings = AtariSettings | EntropySettings
Asked = TypeVar("Asked", AtariSettings, EntropySettings)

#: Of the settings of a study, what has several names.
NAMED = ("games", "methods")

#: Runs that are listed at once; more have to be unfolded.
LISTED = 9

#: Of the authors' program and of RND, where the paper leaves something open.
OPEN_POINTS = (
    "The paper does not say how it normalises the bonus, what its final returns are means of, or what its "
    "hyper-parameters are beyond &ldquo;the same as RND&rdquo;. Here, Normalize is L2 unless the name says otherwise. "
    "The preset <code>atari-paper</code> has RND&rsquo;s hyper-parameters, with the 32 environments of the "
    "authors&rsquo; program, and its quarter of the samples for the predictors.",
    "In that preset the action predictor learns from the pair that was taken, as the paper says; the authors&rsquo; "
    "program trains it on all actions of a visited state.",
)


def run_data(record: Record) -> Data:
    """One run, for ``summary.json``."""
    hardware = record.made_by.get("hardware") or {}
    versions = record.made_by.get("versions") or {}
    devices = ", ".join(sorted(set(hardware.get("devices") or [])))
    return {
        "name": record.path.name,
        "game": record.game,
        "method": record.method,
        "seed": record.config.seed,
        "status": record.status,
        "steps": record.steps_done,
        "steps_asked": record.config.agent.updates * record.config.agent.steps_per_update,
        "episodes": int(record.episodes.sum()),
        "final_return": plain(record.final_return),
        "best_return": plain(record.best_return),
        "steps_per_second": plain(record.steps_per_second),
        "device": devices or None,
        "cpus": hardware.get("cpus"),
        "lag": record.config.agent.host.lag,
        "jax": versions.get("jax"),
        "commit": record.made_by.get("commit"),
    }


RUN_COLUMNS = (
    *("name", "game", "method", "seed", "status", "steps", "frames", "steps_asked", "episodes", "final_return"),
    *("best_return", "steps_per_second", "device", "cpus", "lag", "jax", "commit"),
)


def run_rows(runs: Iterable[Data]) -> list[list[object]]:
    """Rows of ``runs.csv``."""
    rows = []
    for run in runs:
        full = run | {"frames": SKIP * run["steps"]}
        rows.append(["" if full[name] is None else _rounded(full[name]) for name in RUN_COLUMNS])
    return rows


def _rounded(value: object) -> object:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def runs_section(runs: Sequence[Data], notes: Sequence[str], asked: Sequence[str]) -> str:
    """Which runs are there, how far they are, how fast they were and on what, and which are missing."""
    rows = []
    for run in runs:
        done = run["status"] == "finished"
        of = "" if done else f"<small>of {number(run['steps_asked'])}</small>"
        status = "finished" if done else f'<span class="warn">{_status(run)}</span>'
        cells = [status, f"{number(run['steps'])}{of}", number(run["final_return"]), number(run["best_return"])]
        name = html.escape(run["name"]).replace("-", "-<wbr>")
        rows.append([f"<code>{name}</code>", *cells, number(run["steps_per_second"])])
    there = {run["name"] for run in runs}
    missing = [name for name in asked if name not in there]
    finished = sum(run["status"] == "finished" for run in runs)
    said = [f"Of {counted(len(set(asked) | there), 'run')}, {finished} {'is' if finished == 1 else 'are'} finished"]
    said[0] += (
        f", {len(runs) - finished} begun and {len(missing)} not begun." if finished < len(set(asked) | there) else "."
    )
    if missing:
        said.append(f"Not begun: {html.escape(markup.listed(missing if len(missing) <= 8 else _shortened(missing)))}.")
    said += [f"{html.escape(note)}." for note in notes]
    head = ["Run", "Status", "Steps", "Return", "Best episode", "Steps/s"]
    content = table(f"Runs; the return is the mean of the last {RECENT} episodes", head, rows)
    if len(runs) > LISTED:
        content = f"<details><summary>All {len(runs)} runs</summary>{content}</details>"
    return f"""<section id="runs">
<h2>Runs</h2>
<p>{" ".join(said)}</p>
<p>Speed, everything included: {device_words(runs)}.</p>
{content}
</section>"""


def _shortened(names: Sequence[str]) -> list[str]:
    return [*names[:6], f"{len(names) - 6} more"]


def _status(run: Data) -> str:
    """A run that is not finished may be at it this moment, or have been killed: its manifest does not tell."""
    share = 100 * run["steps"] / run["steps_asked"]
    return f"{html.escape(run['status'])}, {share:.0f}&nbsp;%"


def made_section(summary: Data) -> str:
    """Command, deviations, settings."""
    settings = {name: value for name, value in _flat(summary["settings"]).items() if value is not None}
    tables = ""
    for caption, pairs in (("Hyper-parameters", settings), ("Versions of the report", summary["versions"])):
        rows = [[html.escape(name.replace("_", " ")), html.escape(_said(value))] for name, value in pairs.items()]
        tables += table(caption, ["Name", "Value"], rows, "plain")
    return f"""<section id="made">
<h2>How it was made</h2>
<p>{_what_the_command_does(summary["other_runs"])}; the runs are in <code>runs</code>:</p>
<pre><code>{html.escape(summary["command"])}</code></pre>
<h3>Where it differs from the paper</h3>
<ul>{"".join(f"<li>{one}</li>" for one in summary["deviations"])}</ul>
<h3>What the paper leaves open</h3>
<ul>{"".join(f"<li>{one}</li>" for one in OPEN_POINTS)}</ul>
<div class="pair">{tables}</div>
</section>"""


def _what_the_command_does(others: Sequence[str]) -> str:
    if not others:
        return "In the folder of this page, this command trains what is missing and writes the page anew"
    names = html.escape(markup.listed(others if len(others) <= 8 else _shortened(others)))
    return (
        f"The study has no flags for how these were trained, and would not go on with them: {names}. "
        "In the folder of this page, this command trains nothing and writes the page anew"
    )


def _said(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _flat(data: Data) -> Data:
    """Nested settings by their own names; those of networks for vectors are not used here."""
    flat: Data = {}
    for name, value in data.items():
        if name != "net":
            flat |= value if isinstance(value, dict) else {name: value}
    return flat


def deviations(records: Sequence[Record], finished: Sequence[int], papers_runs: int) -> list[str]:
    """Where runs are not as the paper's, a sentence each.

    Args:
        records: the runs.
        finished: finished runs of each thing that is compared.
        papers_runs: the paper's.
    """
    agent = records[0].config.agent
    said = []
    if agent.steps != PRESET.steps:
        share = agent.steps / PRESET.steps
        said.append(
            f"Runs are {number(agent.steps)} steps long ({number(SKIP * agent.steps)} frames), the paper&rsquo;s "
            f"{number(PRESET.steps)}: {_percent(share)} of it."
        )
    others = _not_as_in_preset(agent)
    if others:
        said.append(f"Not as in the preset <code>atari-paper</code>: {'; '.join(others)}.")
    fewest, most = min(finished), max(finished)
    if fewest < papers_runs:
        each = f"{counted(fewest, 'run')} of each {'is' if fewest == 1 else 'are'} finished"
        here = f"between {fewest} and {most} are finished" if fewest < most else each if most else "none is finished"
        said.append(f"The paper averages {papers_runs} runs; here, {here}.")
    if agent.image.precision != "float32":
        said.append("Convolutions are computed in bfloat16; losses and statistics in float32.")
    lagging = sum(record.config.agent.host.lag == 1 for record in records)
    if lagging:
        some = "All runs" if lagging == len(records) else f"{lagging} of {len(records)} runs"
        said.append(f"{some} have lag 1: emulators play on, with the policy before, while an update is made.")
    return said or ["In nothing that is set: length, environments, networks and number of runs are the paper&rsquo;s."]


def _percent(share: float) -> str:
    if share < 1e-4:
        return "less than 0.01&nbsp;%"
    return f"{number(100 * share, 0 if share >= 0.1 else 2)}&nbsp;%"


#: Settings that `deviations` tells of in sentences of their own, that are compared, or that change nothing.
TOLD_APART = {"steps", "precision", "method", "normalize", "lag", "groups", "threads"}


def _not_as_in_preset(agent: Config) -> list[str]:
    """All other settings of an agent that are not the preset's, as flags."""
    ours, presets = _flat(asdict(agent)), _flat(asdict(PRESET))
    return [
        f"<code>{flag(name)} {value}</code> instead of {'none' if presets[name] is None else presets[name]}"
        for name, value in ours.items()
        if name not in TOLD_APART and value != presets[name]
    ]


def planned(asked: Asked, before: Data, records: Sequence[Record]) -> Asked:
    """What a report alone is of: what it is asked for, or else an earlier report was, or else what runs there are.

    Args:
        asked: with it; defaults were not asked for.
        before: the summary of the report before it; empty where there is none.
        records: the runs.
    """
    usual = type(asked)()
    if replace(asked, training=usual.training) != usual:
        return asked
    names = [one.name for one in fields(usual) if one.name != "training"]
    for source in (before.get("asked"), _there(records)):
        try:
            values: dict[str, Any] = {name: (source or {})[name] for name in names}
            return replace(asked, **values | {name: tuple(values[name]) for name in NAMED if name in names})
        except (KeyError, TypeError, UserError):  # of an older report, or one that someone has changed
            continue
    return asked


def _there(records: Sequence[Record]) -> Data:
    """Settings that come to the runs that are there."""
    seeds = [record.config.seed for record in records]
    usual = AtariSettings()
    there: Data = {"seed": min(seeds), "seeds": max(seeds) - min(seeds) + 1}
    games, methods = {record.game for record in records}, {record.method for record in records}
    there["games"] = [*(one for one in usual.games if one in games), *sorted(games - set(usual.games))]
    there["methods"] = [one for one in usual.methods if one in methods]
    return there


def asked_for(settings: StudySettings) -> Data:
    """For ``summary.json``: what was asked for, and the runs that it comes to."""
    data = {key: value for key, value in asdict(settings).items() if key != "training"}
    return {**data, "runs": list(settings.plan())}


def command(name: str, asked: StudySettings, usual: StudySettings, records: Sequence[Record]) -> Data:
    """For ``summary.json``: the command that goes on with a study, and the runs that it could not be of.

    Where there are such runs, it is the command that only writes the report.
    """
    others = [record.path.name for record in records if not asked.training.makes(record.config)]
    line = _command_line(name, replace(asked, training=usual.training) if others else asked, usual)
    return {"command": f"{line} --report-only" if others else line, "other_runs": others}


def _command_line(name: str, asked: StudySettings, usual: StudySettings) -> str:
    """The command with every setting that is not usual."""
    words = [f"action-balance {name} --out ."]
    settings, defaults = (_plain_flat(one) for one in (asked, usual))
    for key, value in settings.items():
        if value != defaults[key]:
            words += [flag(key), *(map(str, value) if isinstance(value, list) else [str(value)])]
    return " ".join(words)


def _plain_flat(settings: StudySettings) -> Data:
    data: Data = json.loads(json.dumps(asdict(settings)))
    return {**{key: value for key, value in data.items() if key != "training"}, **data["training"]}


def device_words(runs: Sequence[Mapping[str, Any]]) -> str:
    """What runs were computed on, and how fast, in a sentence."""
    rates: dict[str, list[float]] = {}
    for run in runs:
        cores = f", {counted(run['cpus'], 'core')}" if run["cpus"] else ""
        of_device = rates.setdefault(f"{html.escape(run['device'] or 'an unknown device')}{cores}", [])
        of_device += [run["steps_per_second"]] if run["steps_per_second"] is not None else []
    said = []
    for device, known in rates.items():
        mean = sum(known) / len(known) if known else math.nan
        said.append(f"{number(mean)} steps/s ({number(SKIP * mean)} frames/s) on {device}")
    return "; ".join(said)


def game_title(game: str) -> str:
    """A game's name as HTML."""
    return html.escape(title(game), quote=False).replace("'", "&rsquo;")
