# What a user and a developer do here. Each target makes what it needs; `make run` is the main job.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PRESET ?= quick
# Open MPI, OpenMP and others read these; nothing here may depend on what a shell happens to hold.
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help run test test-machine test-long test-opencl test-fresh test-site test-numa test-hosts test-slurm test-applications test-telemetry test-fuzz test-browser selfcheck bench lint format docs clean

help:  ## show the targets
	@awk -F ':.*##' '/^[a-z-]+:.*##/ {printf "  make %-18s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.run  ## evaluate this machine (PRESET=quick, standard or full); ends with findings and names the report
	@# exit code 1 says that a finding is serious: the report tells of it, and the job was done all the same
	@$(BIN)/steelyard run --preset $(PRESET) || { code=$$?; [ $$code -eq 1 ] || exit $$code; }

# Debian's packages, where they may be installed; otherwise the tests that need them say so. Two targets may ask at once.
apt := flock Makefile apt-get -qq
get = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && $(apt) update && $(apt) -y install $(1) >/dev/null; } || true

# Suites with a target of their own.
ELSEWHERE = $(addprefix --ignore=tests/,numa hosts slurm applications telemetry fuzz test_report_browser.py)

test: $(VENV)/.test  ## all tests that take minutes at most
	$(BIN)/python -m pytest $(ELSEWHERE) -n auto -q -m "not machine and not slow and not opencl"
	$(BIN)/python -m pytest $(ELSEWHERE) -m "machine and not slow and not opencl"

test-fresh:  ## the README's two commands on a bare Debian, by an ordinary user (root; FRESH=run or FRESH=test for one of them)
	$(PYTHON) tests/fresh/first_hour.py $(FRESH)

test-site: $(VENV)/.test  ## the tests that a bare machine skips: with Debian's Open MPI, OpenBLAS, FFTW, OpenIPMI, Mosquitto, promtool, SimGrid, HPCC, LAMMPS, GROMACS and Quantum ESPRESSO, and as root (installed where it may)
	@$(call get,hpcc lammps gromacs quantum-espresso quantum-espresso-data libopenmpi-dev libopenblas0-pthread libfftw3-double3 openipmi ipmitool mosquitto openssl prometheus libsimgrid-dev)
	$(BIN)/python -m pytest $(ELSEWHERE) -m "site and not slow and not opencl"

test-machine: $(VENV)/.test  ## the slow tests that measure this machine: A/A, planted slowdowns and disturbances
	$(BIN)/python -m pytest $(ELSEWHERE) -m "slow and not unhurried and not opencl"

test-long: $(VENV)/.test  ## the slow tests that others on the machine do not disturb: kill -9, counted instructions (valgrind)
	@command -v valgrind >/dev/null || $(call get,valgrind)
	$(BIN)/python -m pytest $(ELSEWHERE) -m "slow and unhurried"

test-numa: $(VENV)/.test  ## a guest with two sockets and several memory nodes (QEMU)
	$(BIN)/python -m pytest tests/numa

test-hosts: $(VENV)/.test  ## four hosts made of network namespaces: MPI over TCP between them (root; installs nftables where it may)
	$(BIN)/python -m pytest tests/hosts

test-slurm: $(VENV)/.test  ## a real Slurm of four nodes on this machine (root; installs it where it may)
	$(BIN)/python -m pytest tests/slurm

test-applications: $(VENV)/.test  ## the NAS Parallel Benchmarks at larger classes and molecular dynamics, in every model, verified
	$(BIN)/python -m pytest tests/applications

test-telemetry: $(VENV)/.test  ## from a BMC through a broker into the embedded store and a real Cassandra (installs what it needs where it may)
	@$(call get,openipmi ipmitool mosquitto openssl openjdk-17-jre-headless maven iproute2)
	$(BIN)/python -m pytest tests/telemetry

test-fuzz: $(VENV)/.test  ## the readers of traces under libFuzzer with sanitizers, for a minute (Clang, installed where that may be done)
	@command -v clang++ >/dev/null || $(call get,clang libclang-rt-14-dev)
	$(BIN)/python -m pytest tests/fuzz --timeout=100000

test-opencl: $(VENV)/.test  ## the node's kernels on a real OpenCL device (PoCL, installed where that may be done)
	@ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 || $(call get,pocl-opencl-icd ocl-icd-libopencl1)
	$(BIN)/python -m pytest $(ELSEWHERE) -m opencl

test-browser: $(VENV)/.test  ## every page of the report in a real browser (Chromium, installed where that may be done)
	@command -v chromium >/dev/null || $(call get,chromium)
	$(BIN)/python -m pytest tests/test_report_browser.py

selfcheck: $(VENV)/.run  ## plant known disturbances and see whether each is found
	$(BIN)/steelyard selfcheck

bench: $(VENV)/.test  ## side by side with HPCC's STREAM, likwid-bench, IMB, LAMMPS and SimGrid (installs them where it may)
	$(BIN)/python bench/peers.py
	$(BIN)/python bench/messages.py
	$(BIN)/python bench/nodes.py
	$(BIN)/python bench/applications.py --classes A,B
	$(BIN)/python bench/particles.py
	$(BIN)/python bench/elements.py
	$(BIN)/python bench/openmp.py
	$(BIN)/python bench/simulators.py
	$(BIN)/python bench/tracer.py

lint: $(VENV)/.lint  ## style, types, and the arrows between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	find src bench tests -name '*.cpp' -o -name '*.h' | xargs $(BIN)/clang-format --dry-run --Werror

format: $(VENV)/.lint  ## put everything into the house's style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find src bench tests -name '*.cpp' -o -name '*.h' | xargs $(BIN)/clang-format -i

docs: $(VENV)/.test  ## write the generated pages of docs/ anew
	$(BIN)/python docs/generate.py

clean:  ## remove the virtual environment (runs are kept)
	rm -rf $(VENV)

# Set up anew where it was interrupted, or where the Python that it was made with is gone.
whole := $(shell [ ! -e '$(VENV)/.installing' ] && '$(BIN)/python' -c '' 2>/dev/null && echo yes)
setup = @PYTHON='$(PYTHON)' VENV='$(VENV)' sh environment.sh

.PHONY: anew
$(VENV)/.run: pyproject.toml $(if $(whole),,anew)
	$(setup) run
$(VENV)/.test: pyproject.toml $(if $(whole),,anew)
	$(setup) test
$(VENV)/.lint: pyproject.toml $(if $(whole),,anew)
	$(setup) lint
