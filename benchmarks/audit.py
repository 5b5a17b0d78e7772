"""The dependencies and their known vulnerabilities: ``python benchmarks/audit.py``, or ``make audit``.

The list of everything that is installed beside this interpreter goes to ``build/dependencies.cdx.json``, in the
CycloneDX format. All versions in ``constraints.txt`` are then looked up by pip-audit. The exit code is 0 if every one
of them could be looked up and none has a known vulnerability, 1 if one has, and 2 if some could not be looked up, e.g.
without a network.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "build" / "dependencies.cdx.json"
PINS = ROOT / "constraints.txt"


@dataclass(frozen=True)
class Findings:
    """What pip-audit found."""

    checked: int = 0
    """Packages that were looked up."""
    vulnerable: tuple[str, ...] = ()
    """A line for each known vulnerability."""
    unknown: tuple[str, ...] = ()
    """Packages that could not be looked up."""

    @property
    def code(self) -> int:
        """The exit code."""
        return 1 if self.vulnerable else 2 if self.unknown or not self.checked else 0

    def lines(self) -> list[str]:
        """What to print."""
        if not self.checked and not self.vulnerable:
            return ["the data on vulnerabilities cannot be reached from here: nothing was looked up"]
        found = [f"looked up {self.checked} packages, {len(self.vulnerable)} known vulnerabilities", *self.vulnerable]
        if self.unknown:
            found.append(f"not looked up, because there are no data on them here: {', '.join(self.unknown)}")
        return found


def read(report: str) -> Findings:
    """The findings in a JSON report of pip-audit.

    Args:
        report: the report; empty or something else if pip-audit has failed.

    Returns:
        The findings; none if there is no report.
    """
    try:
        packages = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Findings()
    unknown = tuple(package["name"] for package in packages if "skip_reason" in package)
    vulnerable = tuple(
        f"{package['name']} {package['version']}: {one['id']}, fixed in {', '.join(one['fix_versions']) or 'none'}"
        for package in packages
        for one in package.get("vulns", ())
    )
    return Findings(len(packages) - len(unknown), vulnerable, unknown)


def main() -> None:
    """Write the list, look up the versions, and print what was found."""
    LIST.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--pyproject", str(ROOT / "pyproject.toml")]
    subprocess.run([*command, "--output-reproducible", "--output-file", str(LIST), sys.executable], check=True)
    components = json.loads(LIST.read_bytes())["components"]
    print(f"{LIST.relative_to(ROOT)}: {len(components)} packages in the CycloneDX format", flush=True)
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(PINS), "--no-deps", "--disable-pip"]
    options = ("--format", "json", "--progress-spinner", "off")
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    findings = read(done.stdout)
    print("\n".join(findings.lines()))
    sys.exit(findings.code)


if __name__ == "__main__":
    main()
