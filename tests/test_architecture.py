"""Imports go one way: no room imports one above it, and no modules import each other in a circle, lazily or not."""

import ast
from pathlib import Path

import pytest

PREFIX = "action_balance."
PACKAGE = Path(__file__).parents[1] / "src" / "action_balance"

#: The rooms from the bottom to the top, each with those on its own level. A room may import from lower levels only.
LEVELS = (
    {"_version", "errors", "printable"},
    {"arguments", "reading", "signals"},
    {"files", "machine"},
    {"packing"},
    {"core"},
    {"distributions"},
    {"config"},
    {"nets", "runs", "tracking"},
    {"envs"},
    {"bonuses", "catalog"},
    {"exploration"},
    {"algorithms", "tabular"},
    {"engines", "interop", "gym"},
    {"plots", "trained", "terminal"},
    {"films", "web"},
    {"cluster"},
    {"studies", "doctor"},
    {"cli", "api"},
    {"__main__", "training"},
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}


def modules() -> dict[str, Path]:
    """All modules of the package by name, without its own."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:
            found[name] = path
    return found


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def imports(path: Path, known: set[str]) -> set[str]:
    """The modules of the package that a file imports, also inside functions; not those for annotations alone."""
    found = set()
    todo: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if is_for_types(node):
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # Of a package, a module; of a module, something in it.
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name.removeprefix(PREFIX) in known else node.module for name in names}
    return {name.removeprefix(PREFIX) for name in found if name.removeprefix(PREFIX) in known}


@pytest.fixture(scope="module")
def graph() -> dict[str, set[str]]:
    known = modules()
    return {name: imports(path, set(known)) - {name} for name, path in known.items()}


def test_every_room_has_a_level(graph: dict[str, set[str]]) -> None:
    assert {name.split(".")[0] for name in graph} == set(LEVEL)


def test_a_room_imports_from_lower_levels_only(graph: dict[str, set[str]]) -> None:
    wrong = []
    for name, imported in graph.items():
        room = name.split(".")[0]
        for other in imported:
            above = other.split(".")[0]
            if above != room and LEVEL[above] >= LEVEL[room]:
                wrong.append(f"{name} imports {other}")
    assert not wrong, "\n".join(sorted(wrong))


def assert_no_circles(graph: dict[str, set[str]]) -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name in done:
            return
        for other in sorted(graph[name]):
            visit(other, (*path, name))
        done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_no_modules_import_each_other_in_a_circle(graph: dict[str, set[str]]) -> None:
    assert_no_circles(graph)


def test_no_studies_import_each_other_in_a_circle(graph: dict[str, set[str]]) -> None:
    """Each package of a study, and each module that studies share, counts as one."""
    together: dict[str, set[str]] = {}
    for name, imported in graph.items():
        if name.startswith("studies."):
            study = name.split(".")[1]
            others = {other.split(".")[1] for other in imported if other.startswith("studies.")}
            together.setdefault(study, set()).update(others - {study})
    assert_no_circles(together)
