# Everything runs in .venv, which the targets create. Requires make and Python 3.11 or newer.
PYTHON ?= python3
ARGS ?=
# Optional parts of the installation, separated by commas: make install EXTRAS=gym,wandb
EXTRAS ?=
bin = .venv/bin

.PHONY: install reproduce test check lint style docs bench bench-grid bench-agent bench-bonuses bench-atari bench-gym bench-interop bench-baselines bench-devices chaos faults audit dist clean

install: .venv/.installed
ifneq ($(strip $(EXTRAS)),)
	$(bin)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(strip $(EXTRAS))]'
endif

.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is required: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv .venv
	$(bin)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/.developer: .venv/.installed
	$(bin)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,atari,gym,gymnax,craftax,navix,xminigrid,cluster,tensorboard,wandb,mlflow,pandas,torch,sb3,docs]'
	@touch $@

# The paper's grid study with 1,000 runs, and its report: results/grid/report.html. It takes less than 30 seconds on two cores.
# With the paper's 100 runs: make reproduce ARGS="--runs 100 --out results/grid-100"
reproduce: .venv/.installed
	$(bin)/action-balance reproduce grid $(ARGS)

# Formatter, linter, type checker, and tests in two processes: most of a test is compilation, which uses one core. The
# type checker uses one core, too, and works beside them; the command fails if either does.
test: style
	@echo $(bin)/mypy "&"; $(bin)/mypy & types=$$!; \
	echo $(bin)/python -m pytest --numprocesses 2 --dist loadfile $(ARGS); \
	$(bin)/python -m pytest --numprocesses 2 --dist loadfile $(ARGS); tests=$$?; \
	wait $$types || { echo "mypy has found errors, which are printed above; alone: make lint" >&2; exit 1; }; \
	exit $$tests

# The same without the tests that take long: for the person who edits.
check: override ARGS += -m "not long"
check: test

lint: style
	$(bin)/mypy

style: .venv/.developer
	$(bin)/ruff format --check .
	$(bin)/ruff check .

.venv/.docs: .venv/.installed
	$(bin)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

# The documentation: site/index.html. A warning is an error.
docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(bin)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

# All benchmarks; all of them take ARGS="--quick".
bench: bench-grid bench-agent bench-bonuses bench-atari bench-gym bench-interop

bench-grid: .venv/.developer
	$(bin)/python benchmarks/grid.py $(ARGS)

bench-agent: .venv/.developer
	$(bin)/python benchmarks/agent.py $(ARGS)

bench-bonuses: .venv/.developer
	$(bin)/python benchmarks/bonuses.py $(ARGS)

bench-atari: .venv/.developer
	$(bin)/python benchmarks/atari.py $(ARGS)

bench-gym: .venv/.developer
	$(bin)/python benchmarks/gymnasium_host.py $(ARGS)

bench-interop: .venv/.developer
	$(bin)/python benchmarks/interop.py $(ARGS)

# Returns and time beside Stable-Baselines3: an hour on one core.
bench-baselines: .venv/.developer
	$(bin)/python benchmarks/baselines.py $(ARGS)

# Check that a GPU learns what a CPU learns.
bench-devices: .venv/.developer
	$(bin)/python benchmarks/devices.py $(ARGS)

# Kills, damage, hostile files and wild command lines, in less than five minutes. All of it, in hours: make chaos ARGS="--seed 0"
chaos: .venv/.developer
	$(bin)/python benchmarks/chaos.py $(or $(ARGS),--quick)

# A campaign on a Ray cluster whose processes and nodes are killed. With 100 kills, in half an hour: make faults ARGS="--kills 100"
faults: .venv/.developer
	$(bin)/python benchmarks/faults.py $(or $(ARGS),--kills 10 --steps 100000)

# The dependencies in the CycloneDX format, in build/, and their known vulnerabilities, where the data can be reached.
audit: .venv/.developer
	$(bin)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[audit]'
	mkdir -p build
	$(bin)/python -m cyclonedx_py environment --pyproject pyproject.toml --output-reproducible --output-file build/dependencies.cdx.json $(bin)/python
	$(bin)/python -m pip_audit --requirement constraints.txt --no-deps --disable-pip

# The sdist and the wheel for publication: dist/.
dist: .venv/.developer
	$(bin)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dist]'
	rm -rf build dist
	$(bin)/python -m build --no-isolation --outdir dist .
	$(bin)/python -m twine check --strict dist/*

clean:
	rm -rf .venv build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .jax_cache
