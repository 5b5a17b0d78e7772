import io

from rich.console import Console, ConsoleRenderable
from rich.text import Text

from action_balance.terminal.live import LiveScreen


class Counter(LiveScreen):
    """Shows how often it was drawn."""

    drawn = 0

    def render(self) -> ConsoleRenderable:
        self.drawn += 1
        return Text(f"drawn {self.drawn}")


def test_a_terminal_shows_the_screen_below_the_lines() -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=40)
    with Counter(console, auto_refresh=False) as screen:
        screen.say("a line")
        screen.redraw()
    shown = output.getvalue()
    assert shown.index("a line") < shown.rindex("drawn")


def test_without_a_terminal_there_are_only_the_lines() -> None:
    output = io.StringIO()
    console = Console(file=output, width=40)
    with Counter(console) as screen:
        screen.redraw()
        screen.say("a line")
    assert output.getvalue() == "a line\n"
    assert screen.drawn == 0
