"""Files of a folder that others may have made."""

from pathlib import Path

import pytest

from action_balance.errors import UserError
from action_balance.web import files
from action_balance.web.files import Embedded, read_figures, read_table


def test_a_table_has_its_columns_and_finite_numbers(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    assert read_table(table, ("name",)) == []
    table.write_text("name,value\na,1.5\nb,\n")
    assert read_table(table, ("name",), ("value",)) == [{"name": "a", "value": "1.5"}, {"name": "b", "value": ""}]
    for damaged in ("name\na\n", "name,value\na,many\n", "name,value\na,inf\n"):
        table.write_text(damaged)
        with pytest.raises(UserError, match=r"table\.csv is damaged"):
            read_table(table, ("name",), ("value",))
    table.write_bytes(b"name,value\n\xff,1\n")
    with pytest.raises(UserError, match=r"table\.csv is damaged"):
        read_table(table, ("name",))


def test_files_are_embedded_as_long_as_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "film.mp4").write_bytes(bytes(range(30)))
    (tmp_path / "link.mp4").symlink_to(Path(__file__))
    monkeypatch.setattr(files, "MAX_BYTES", 100_200)  # 200 besides the markup, of which a film takes 140
    embedded = Embedded(used=0)
    assert embedded.link(tmp_path, tmp_path / "link.mp4") is None
    assert embedded.link(tmp_path, tmp_path / "gone.mp4") is None
    assert str(embedded.link(tmp_path, tmp_path / "film.mp4")).startswith("data:video/mp4;base64,AAECAw")
    assert embedded.link(tmp_path, tmp_path / "film.mp4") is None


def test_figures_outside_of_the_folder_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "result" / "figures"
    folder.mkdir(parents=True)
    (folder / "inside.svg").write_text("<svg/>")
    (tmp_path / "outside.svg").write_text("secret")
    (folder / "outside.svg").symlink_to(tmp_path / "outside.svg")
    assert read_figures(tmp_path / "result") == {"inside": "<svg/>"}


def test_a_table_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with open(tmp_path / "large.csv", "wb") as file:
        file.truncate(3_000_000_000)
    with pytest.raises(UserError, match=r"a table \(\.csv\) is expected, of at most"):
        read_table(tmp_path / "large.csv", ("name",))
