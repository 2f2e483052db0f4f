# `make` sets up and runs the main job; `make test` sets up and tests.
# ARGS=… goes to pytest, or to sanitize: parts of the names of variants, --tool memcheck or racecheck.
# CUDA=12 makes the environment for CUDA 12 drivers, CORES=n takes n cores instead of all.
PYTHON ?= $(firstword $(foreach p,python3.12 python3.11 python3,$(shell $(p) -c 'import sys; (3, 11) <= sys.version_info[:2] <= (3, 12) and print("$(p)")' 2>/dev/null)))
CUDA ?= 13
CORES ?= all
LOCK := requirements/cu$(CUDA).txt
READY := .venv/.cu$(CUDA)
SHELL := /bin/bash

export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: all test sanitize setup lint lock clean

all: setup
	@python -m workflow.scripts.announce before
	snakemake --cores $(CORES)
	@python -m workflow.scripts.announce after

# With CI_TESTS=1 also what takes long, or needs Slurm or a browser.
test: setup
	PYTHONDONTWRITEBYTECODE= pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

# Needs a card, and compute-sanitizer on PATH.
sanitize: setup
	python -m tests.sanitize $(ARGS)

setup: $(READY)

$(READY): $(LOCK)
	@test -n "$(PYTHON)" || { echo "make: needs Python 3.11 or 3.12 on PATH; or name one: make PYTHON=/path/to/python3.12" >&2; exit 1; }
	rm -rf .venv
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	touch $@

lint: setup
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow
	snakemake --lint

# Needs uv; rewrites the pins from pyproject.toml.
lock:
	for cuda in 12 13; do \
		uv pip compile --universal --generate-hashes --no-emit-index-url --no-header \
			--extra cu$$cuda --extra networkx --extra workflow --extra dev pyproject.toml -o requirements/cu$$cuda.txt; \
	done

clean:
	rm -rf .venv .snakemake
