"""Hostile folders: links under the names that a command writes, lists of files that lead out, a hostile repository.

Nothing outside of the folder may change, and nothing in it may be executed.
"""

import json
import os
import shutil
import subprocess

from campaign.context import SECRET, CaseContext
from campaign.fixtures import TINY_GRID, possible
from campaign.kinds.configs import INTACT, commands
from campaign.snapshots import changed, snapshot

#: Names under which a file might be prepared, in the folder of a run, of a result or of a page.
PREPARED = (
    *(".manifest.json.part", ".config.json.part", ".metrics.jsonl.part", ".summary.json.part", ".page.html.part"),
    *(".comparison.csv.part", ".evaluation.json.part", ".episodes.csv.part", ".curves.csv.part", ".report.html.part"),
    *("manifest.json.tmp", ".tmp", "manifest.json", "timing.jsonl", "metrics.jsonl", "visits.jsonl", ".lock"),
)
#: Folders of a run that might lead out of it.
SUBFOLDERS = ("checkpoints", "evaluation", "tensorboard", "tensorboard/seed-0", "checkpoints/00000006")
#: Names of files that a result may claim to own.
CLAIMED = (
    "..",
    "/abs",
    "a/../../outside/secret",
    "../outside/secret",
    "../outside",
    "figures/../../outside",
    "",
    ".",
    "x\0y",
)


def run(context: CaseContext) -> None:
    """Prepare a hostile folder, and run a command on it."""
    rng = context.rng
    outside = context.plant()
    (outside / "folder").mkdir()
    (outside / "folder" / "file").write_text(SECRET)
    kind = rng.choice(("links", "subfolders", "files", "repository", "out"))
    words = {
        "links": _links,
        "subfolders": _subfolders,
        "files": _files,
        "repository": _repository,
        "out": _out,
    }[kind](context)
    before = snapshot(outside)
    ended = context.command(*words, about=kind)
    context.notes[kind] += 1
    context.check_canaries(ended, kind)
    for path in changed(before, snapshot(outside)):
        context.complain(f"changed {path} outside of its folder", ended, kind)
    page = context.folder / "page.html"
    if page.is_file() and not page.is_symlink() and SECRET in page.read_text(errors="replace"):
        context.complain("a page contains a file from outside of its folder", ended, kind)


def _command(context: CaseContext) -> tuple[str, ...]:
    name = context.rng.choice(("resume", "evaluate", "train", "view", "compare"))
    if name == "compare":
        context.copy(possible(INTACT)[0], "intact")
    return commands()[name]


def _links(context: CaseContext) -> tuple[str, ...]:
    """Links under the names of temporary and final files."""
    run = context.copy(context.rng.choice(("sea-half", "sea")), "run")
    words = _command(context)
    for folder in (run, run / "evaluation", context.folder, context.folder / "compared", run / "checkpoints"):
        folder.mkdir(exist_ok=True)
        for name in context.rng.sample(PREPARED, 8):
            if context.rng.random() < 0.7 or not os.path.lexists(folder / name):
                (folder / name).unlink(missing_ok=True)
                (folder / name).symlink_to(context.folder / "outside" / context.rng.choice(("secret", "new")))
    return words


def _subfolders(context: CaseContext) -> tuple[str, ...]:
    """A folder of a run that is a link to another folder."""
    run = context.copy(context.rng.choice(("sea-half", "sea")), "run")
    name = context.rng.choice(SUBFOLDERS)
    target = context.folder / "outside" / context.rng.choice(("moved", "folder"))
    if (run / name).exists():
        if target.name == "moved":
            shutil.move(run / name, target)
        else:
            shutil.rmtree(run / name)
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).symlink_to(target)
    return _command(context)


def _files(context: CaseContext) -> tuple[str, ...]:
    """A list of files, of which some are not in the folder, with ``--overwrite``."""
    name = context.rng.choice(("explored", "sea"))
    claimed = [
        one.replace("/abs", str(context.folder / "outside" / "secret")) for one in context.rng.sample(CLAIMED, 4)
    ]
    if name == "sea":
        file = context.copy("sea", "run") / "evaluation" / "evaluation.json"
        words: tuple[str, ...] = context.rng.choice((commands()["evaluate"], commands()["view"]))
    else:
        file = context.copy("explored", "result") / "summary.json"
        shutil.copy(context.fixtures.scratch / "map.txt", context.folder / "map.txt")
        again = context.rng.choice((("--overwrite",), ()))
        words = ("explore", "map.txt", *TINY_GRID, "--out", "result", *again)
    data = json.loads(file.read_bytes())
    file.write_text(json.dumps(data | {"files": [*data.get("files", []), *claimed]}))
    return words


def _repository(context: CaseContext) -> tuple[str, ...]:
    """A repository in the working folder that executes something whenever git looks at it."""
    context.copy("sea-half", "run")
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet", str(context.folder)], capture_output=True, check=False)
    script = context.folder / "canary.sh"
    script.write_text(f"#!/bin/sh\ntouch {context.folder}/canary-git\n")
    script.chmod(0o755)
    if (context.folder / ".git").is_dir():
        settings = (
            "core.fsmonitor",
            "core.pager",
            "core.sshCommand",
            "diff.external",
            "filter.x.clean",
            "filter.x.smudge",
        )
        for name in settings:
            subprocess.run(["git", "-C", str(context.folder), "config", name, str(script)], check=False)
        (context.folder / ".gitattributes").write_text("* filter=x\n")
    words = _command(context)
    return words if words[0] in ("resume", "train") else commands()["resume"]


def _out(context: CaseContext) -> tuple[str, ...]:
    """A folder for output that is a link, or that has links in the place of files."""
    context.copy("sea", "run")
    out, target = context.folder / "out", context.folder / "outside" / "folder"
    if context.rng.random() < 0.5:
        out.mkdir()
        for name in ("summary.json", "comparison.csv", "comparison.png", "figures", "curves.csv", "config.json"):
            (out / name).symlink_to(target / context.rng.choice(("file", "new")))
    else:
        (context.folder / "page.html").symlink_to(target / "file")
    return context.rng.choice(
        (
            ("compare", "run", "--out", "out"),
            ("train", "--config", "run", "--out", "out", "--overwrite"),
            ("view", "run", "--save", "page.html"),
        )
    )
