"""Lines are shown at once and written to the manifest later."""

from pathlib import Path

from action_balance.engines.messages import MessageLog
from action_balance.runs import RunFolder


def test_lines_are_shown_at_once_and_written_once(tmp_path: Path) -> None:
    shown: list[str] = []
    folder = RunFolder.create(tmp_path / "run", {}, [])
    log = MessageLog(shown.append)
    log("first")
    log("second")
    assert shown == ["first", "second"]
    assert "warnings" not in RunFolder.open(folder.path).manifest["starts"][0]
    log.write(folder)
    log.write(folder)
    assert RunFolder.open(folder.path).manifest["starts"][0]["warnings"] == ["first", "second"]
    folder.release()
