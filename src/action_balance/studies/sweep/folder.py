"""Where the runs of a sweep are."""

from pathlib import Path

from action_balance.errors import UserError
from action_balance.files import leads_out, load_json, own_file
from action_balance.runs import RunFolder
from action_balance.runs.owned import is_below
from action_balance.runs.results import SUMMARY
from action_balance.studies.sweep import KIND

#: Folders of a sweep that hold the runs of its trials, and those with fresh seeds.
TRIALS, FINAL = "trials", "final"

#: The file in which all processes keep what becomes of the trials.
JOURNAL = "journal.jsonl"


def final_runs(path: Path) -> list[Path] | None:
    summary = load_json(own_file(path, SUMMARY)) or {}
    if summary.get("kind") != KIND:
        return None
    ours = summary.get("ours")
    finals = ours.get("finals") if isinstance(ours, dict) else None
    names = [one.get("name") for one in finals if isinstance(one, dict)] if isinstance(finals, list) else []
    runs = [path / FINAL / name for name in names if isinstance(name, str) and is_below(name)]
    found = [run for run in runs if not leads_out(path, run) and RunFolder.holds_run(run)]
    if not found:
        raise UserError(
            f"{path} is a sweep whose best settings are not trained with fresh seeds yet: continue it with the same "
            f"command, or give runs in {path / TRIALS}"
        )
    return found


def sweep_metric(path: Path) -> str | None:
    """The metric that a sweep maximises; None if its folder does not say."""
    settings = (load_json(own_file(path, SUMMARY)) or {}).get("settings")
    found = settings.get("metric") if isinstance(settings, dict) else None
    return found if isinstance(found, str) else None
