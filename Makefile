# The developer's day in a page. `make` alone lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# The system's own Python where it is new enough: distributions build it with profile-guided optimisation, others often do
# not, and the broker needs a fifth less CPU with it (docs/performance.md). Some have split theirs, so it must be whole.
PYTHON ?= $(shell for each in /usr/bin/python3 python3.11 python3; do \
  $$each -c 'import asyncio, ctypes, ssl, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
    && command -v $$each && break; done)
UV := $(or $(shell command -v uv),.tools/uv/bin/uv)
BIN := .venv/bin
CODE := src tests bench chaos fuzz examples
# No interpreter is ever downloaded: klamm runs on the one that is here.
export UV_PYTHON_DOWNLOADS = never
export UV_PROJECT_ENVIRONMENT = .venv
# The machine's own certificates, so that it works behind a company's proxy (the older name is for older uv).
export UV_SYSTEM_CERTS = true
export UV_NATIVE_TLS = true
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

.PHONY: run
run: setup ## three brokers, one is killed, a pipeline on Spark; stays up until Ctrl-C (ONCE=1: ends by itself; PORT=N: not 9092)
	@$(BIN)/klamm demo $(if $(ONCE),--once) $(if $(PORT),--port $(PORT))

.PHONY: setup
setup: .venv/.ready ## prepare .venv and nothing else

.venv/.ready: pyproject.toml uv.lock | $(UV)
	@$(UV) sync --frozen --all-extras --python $(PYTHON)
	@$(BIN)/python -m compileall -q src/klamm
	@touch $@

# Some systems split pip and venv from their Python, so others are tried as well, and pip alone.
.tools/uv/bin/uv:
	@echo "fetching uv into .tools (once)" >&2
	@for each in $(PYTHON) python3.11 python3; do \
	  $$each -m venv .tools/uv >/dev/null 2>&1 && .tools/uv/bin/pip install --quiet uv && exit 0; \
	  rm -rf .tools/uv; \
	  $$each -m pip --version >/dev/null 2>&1 && $$each -m pip install --quiet --target .tools/uv uv && exit 0; \
	  rm -rf .tools/uv; \
	done; \
	echo "klamm could not fetch uv; it needs the network, and pip or venv for $(PYTHON); on Debian: apt-get install python3-venv" >&2; exit 1

.PHONY: test
test: setup ## every test but those that need foreign clients, a real Kafka, Spark or clusters of processes
	@$(BIN)/pytest -n 3 -m "not compat and not oracle and not spark and not cluster"

# File by file and in order: the long ones come early. Each worker has one session for all its files. PySpark leaves
# sockets to the garbage collector, which comes at any time.
SPARK_WORKERS := -n 2 --dist loadfile --no-loadscope-reorder -W "ignore:unclosed <socket:ResourceWarning"

.PHONY: spark
spark: setup ## pipelines on a real Spark
	@$(BIN)/pytest $(SPARK_WORKERS) -m spark tests/pipeline tests/examples

# More workers than cores: these tests wait for other processes half of the time.
WAITING_WORKERS := -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: foreign
foreign: setup ## oracle, compat and cluster in one go
	@$(UV) sync --quiet --frozen --inexact --all-extras --group recipes
	@$(BIN)/pytest $(WAITING_WORKERS) -m "oracle or compat or cluster"

.PHONY: oracle
oracle: setup ## klamm's bytes and answers against Java's serializers and a real Apache Kafka
	@$(BIN)/pytest $(WAITING_WORKERS) -m oracle

.PHONY: compat
compat: setup ## real clients against klamm: Python, Java, C, JavaScript, Go
	@$(UV) sync --quiet --frozen --inexact --all-extras --group recipes
	@$(BIN)/pytest $(WAITING_WORKERS) -m compat

.PHONY: cluster
cluster: setup ## clusters of real processes: who dies, who takes over, what is lost
	@$(BIN)/pytest $(WAITING_WORKERS) -m cluster

.PHONY: lint
lint: setup ## format, lint and types
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/mypy

.PHONY: check
check: lint test ## what a change must pass

.PHONY: format
format: setup ## let the formatter decide
	@$(BIN)/ruff format $(CODE)
	@$(BIN)/ruff check --fix $(CODE)

.PHONY: docs
docs: setup ## write the generated reference pages
	@$(BIN)/python tests/tidy/reference_pages.py

.PHONY: bench
bench: setup ## klamm's own load, and a reference broker beside it if REFERENCE=host:port names one (TLS=dir: with these certificates)
	@$(BIN)/python -m bench $(if $(REFERENCE),--reference $(REFERENCE)) $(if $(TLS),--tls $(TLS))

.PHONY: bench-controller
bench-controller: setup ## a controller that holds a hundred thousand partitions: CPU and memory
	@$(BIN)/python -m bench.controller

.PHONY: bench-pipeline
bench-pipeline: setup ## Spark jobs on klamm, and on a reference broker beside it if REFERENCE=host:port names one
	@$(BIN)/python -m bench.pipeline $(if $(REFERENCE),--reference $(REFERENCE))

.PHONY: chaos
chaos: setup ## hundreds of crashes, kills and disk faults; everything acknowledged must be there afterwards
	@$(BIN)/python -m chaos

.PHONY: chaos-pipeline
chaos-pipeline: setup ## kill a pipeline's driver, its Spark workers and its broker, ten times each; nothing lost, nothing twice
	@$(BIN)/python -m chaos.pipeline

.PHONY: chaos-cluster
chaos-cluster: setup ## kill, pause, cut off and starve nodes of a cluster under load; look for anomalies (CYCLES=n, NODES=m)
	@$(BIN)/python -m chaos.cluster --cycles $(or $(CYCLES),50) --nodes $(or $(NODES),3) $(if $(SEED),--seed $(SEED))

.PHONY: chaos-streams
chaos-streams: setup ## Kafka Streams counts words exactly once while brokers of three are killed (KILLS=20)
	@STREAMS_KILLS=$(or $(KILLS),20) $(BIN)/pytest -m cluster tests/cluster/test_streams.py

.PHONY: sim
sim: setup ## simulated clusters: SEEDS=n of them from FIRST=k on, of NODES=m nodes (1: a node alone), WORKERS=w processes
	@$(BIN)/python -m klamm.testing.simulate --nodes $(or $(NODES),0) $(if $(WORKERS),--workers $(WORKERS)) --seeds $(or $(SEEDS),100) --first $(or $(FIRST),0)

.PHONY: sim-shrink
sim-shrink: setup ## the shortest schedule with which SEED=n still fails, as a story (NODES=m; MUTANT=name: with that bug planted)
	@$(BIN)/python -m klamm.testing.scenarios.shrink $(SEED) --nodes $(or $(NODES),0) $(if $(MUTANT),--mutant $(MUTANT))

.PHONY: sim-mutants
sim-mutants: setup ## plant bugs in simulated clusters: each must be found within SEEDS=200 seeds, WORKERS=w processes
	@$(BIN)/python -m klamm.testing.mutants --seeds $(or $(SEEDS),200) --first $(or $(FIRST),0) $(if $(WORKERS),--workers $(WORKERS))

.PHONY: fuzz
fuzz: setup ## throw damaged bytes at every decoder, guided by coverage where there is an atheris for the machine
	@$(UV) sync --quiet --frozen --inexact --group fuzz
	@$(BIN)/python -m fuzz

.PHONY: fuzz-pipelines
fuzz-pipelines: setup ## random pipelines through failures and kills, every sink against plain Python (N=20 of them, FIRST= a seed)
	@$(BIN)/python -m fuzz.pipelines --count $(or $(N),20) $(if $(FIRST),--first $(FIRST))

.PHONY: wheel
wheel: setup ## the package as a wheel in dist/, for deploy/Dockerfile and whoever wants it
	@$(UV) build --quiet --wheel --out-dir dist

.PHONY: clean
clean: ## remove what the targets made
	@rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis
