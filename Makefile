# `make` sets up and runs the main job; `make test` sets up and tests.
# ARGS=… goes to pytest, or to sanitize: parts of the names of variants, --tool memcheck or racecheck.
# CUDA=12 makes the environment for CUDA 12 drivers, CORES=n takes n cores instead of all.
VERSIONS := 3.13 3.12 3.11
# Prints the path of a Python of these versions that can make environments.
CHECK := -c 'import ensurepip, os, sys; "%d.%d" % sys.version_info[:2] in sys.argv[1:] or sys.exit(1); \
	print(os.path.realpath(sys.executable))' $(VERSIONS) 2>/dev/null
# The newest on PATH. pyenv's shims run the version that PYENV_VERSION names.
PYTHON ?= $(shell for v in $(VERSIONS) ""; do PYENV_VERSION=$$v python$${v:-3} $(CHECK) && break; done)
NEEDED = needs Python 3.11, 3.12 or 3.13 with venv, found $(or $(PYTHON),none): install one \
	(uv python install 3.13; sudo apt install python3.13-venv; conda create -n python3.13 python=3.13 \
	and conda activate python3.13), or name one: make PYTHON=/path/to/python3.13
CUDA ?= 13
CORES ?= all
LOCK := requirements/cu$(CUDA).txt
# What can break with another NumPy, SciPy, pandas, numba or NetworkX: kernels compile, and the library's results are
# those of SciPy and NetworkX. The other tests run with the locked packages only, to save time.
NEWEST_TESTS := $(addprefix tests/kernels/, gpu/test_compile.py gpu/test_compiler.py test_libraries.py test_network.py \
	$(addprefix library/, test_centrality.py test_csgraph.py test_functions.py test_networkx.py test_scipy_suite.py))
READY := .venv/.cu$(CUDA)
SHELL := /bin/bash

export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help all test newest sanitize setup lint docs release lock clean

all: setup ## (the default) measure, or simulate without a GPU; draw all tables, figures and claims
	@python -m workflow.views.announce before
	snakemake --cores $(CORES)
	@python -m workflow.views.announce after

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.* ## \(.*\)/make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16

# With CI_TESTS=1 also what takes long, or needs Slurm or a browser.
test: setup ## run the tests: make test ARGS="-k near_far" selects some
	PYTHONDONTWRITEBYTECODE= pytest -n 3 --dist loadfile $(ARGS)

# In .venv/newest. Without the tests that take longest.
newest: setup ## test the library with the newest packages of the index, not the pinned ones
	rm -rf .venv/newest
	.venv/bin/python -m venv .venv/newest
	.venv/newest/bin/pip install --quiet --disable-pip-version-check \
		'.[cu$(CUDA),networkit,networkx]' hatchling hypothesis osmnx pandas polars pyarrow pytest pytest-xdist
	.venv/newest/bin/pip check
	CI_TESTS= .venv/newest/bin/python -m pytest -n 3 --dist loadfile -k 'not (hierarchy or networkxs_own_tests or reduced)' $(NEWEST_TESTS)

# Needs a card, and compute-sanitizer on PATH.
sanitize: setup ## run compute-sanitizer on every GPU variant
	python -m tests.sanitize $(ARGS)

setup: $(READY) ## install the pinned packages into .venv; CUDA=12 for CUDA 12 drivers

$(READY): $(LOCK)
	@"$(PYTHON)" $(CHECK) >/dev/null || { echo "make: $(NEEDED)" >&2; exit 1; }
	rm -rf .venv
	"$(PYTHON)" -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	touch $@

lint: setup ## run the linters
	ruff check .
	ruff format --check .
	mypy
	snakefmt --check Snakefile workflow
	snakemake --lint

# README.md, docs/, the archives' tables and the library's reference as pages; open dist/docs/index.html.
docs: setup ## build the documents and the library's reference in dist/docs/
	sphinx-build --fail-on-warning --keep-going --quiet --fresh-env -c docs -b html . dist/docs

# After .ci/run. CONTRIBUTING.md has the steps of a release.
release: setup ## check version, changelog, citation files and archives; build the library's packages in dist/
	python -m workflow.publish.release
	python -m hatchling build

# Needs uv; rewrites the pins from pyproject.toml.
lock: ## pin the packages of pyproject.toml in requirements/
	for cuda in 12 13; do \
		uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
			--extra cu$$cuda --extra networkx --group workflow --group dev --group docs pyproject.toml -o requirements/cu$$cuda.txt; \
	done

clean: ## delete .venv and .snakemake
	rm -rf .venv .snakemake
