# What a user and a developer do here. Each target makes what it needs; `make run` is the main job.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PRESET ?= quick
# Open MPI, OpenMP and others read these; nothing here may depend on what a shell happens to hold.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-all test-core test-machine test-long test-attack test-opencl test-fresh test-install test-site test-numa test-hosts test-slurm test-applications test-telemetry test-fuzz test-browser test-versions audit constraints packages release bundle selfcheck bench lint format docs clean

help:  ## show the targets
	@awk -F ':.*##' '/^[a-z-]+:.*##/ {printf "  make %-18s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.run  ## evaluate this machine (PRESET=quick, standard or full); ends with findings and names the report
	@# exit code 1 says that a finding is serious: the report tells of it, and the job was done all the same
	@$(BIN)/steelyard run --preset $(PRESET) || { code=$$?; [ $$code -eq 1 ] || exit $$code; }

# Debian's packages, where they may be installed; otherwise the tests that need them say so. Two targets may ask at once.
# RUNLEVEL=1: the daemons of a package are not started.
apt := RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive flock Makefile apt-get -qq
get = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && $(apt) update && $(apt) -y install $(1) >/dev/null; } || true

SITE := hpcc lammps gromacs quantum-espresso quantum-espresso-data libopenmpi-dev libopenblas0-pthread libfftw3-double3 openipmi ipmitool mosquitto openssl prometheus libsimgrid-dev
TELEMETRY := openipmi ipmitool mosquitto openssl openjdk-17-jre-headless maven iproute2
FUZZ := clang libclang-rt-14-dev
OPENCL := pocl-opencl-icd ocl-icd-libopencl1 libamdhip64-5 oclgrind
# What the suites of namespaces, of Slurm, of QEMU and of the bare machine install by themselves where it is missing, and shells.
HOSTS := debootstrap debian-archive-keyring iproute2 iptables nftables openmpi-bin slurmctld slurmd slurm-client munge libpmix2 qemu-system-x86 busybox-static zsh fish

# Suites with a folder and a target of their own.
ELSEWHERE = $(addprefix --ignore=tests/,numa hosts slurm applications/large power/chain fuzz whole/test_report_browser.py)
# Side by side, the tests of a file on one worker: so they share its programs and fixtures.
pytest = $(BIN)/python -m pytest $(ELSEWHERE)
beside = -n auto --dist loadfile

test: $(VENV)/.test  ## the tests of every benchmark, command, page, rule, format and statistic, in minutes
	$(pytest) $(beside) -m "not (alone or long or site or attack or opencl)"

test-core: $(VENV)/.test  ## the tests of the core on a copy of the package without the wings
	$(BIN)/python tests/without_wings.py $(beside) -m "not (wings or alone or long or site or attack or opencl)"

test-all:  ## every suite below, three at a time where none measures; STEELYARD_MINUTES=88 limits it
	$(PYTHON) tests/suites.py

packages:  ## install the Debian packages that the suites below need (root)
	@$(call get,$(sort $(SITE) $(TELEMETRY) $(FUZZ) $(OPENCL) $(HOSTS) valgrind chromium))

test-fresh:  ## the README's two commands on a bare Debian, by an ordinary user (root; FRESH=run or FRESH=test for one of them)
	$(PYTHON) tests/fresh/first_hour.py $(FRESH)

# Two minutes; the other ways differ in the installer. Empty for each way on Debian 12 and 13, and the recipes.
INSTALL ?= bundle bookworm
test-install: $(VENV)/.lint  ## install the wheel on a bare Debian up to the first screen (root; INSTALL='pip pipx uvx bundle recipes bookworm trixie')
	$(BIN)/python tests/fresh/install_ways.py $(INSTALL)

test-site: $(VENV)/.test  ## the tests that a bare machine skips: with Debian's Open MPI, OpenBLAS, FFTW, OpenIPMI, Mosquitto, Prometheus, SimGrid, HPCC, LAMMPS, GROMACS and Quantum ESPRESSO, and as root (installed where it may)
	@$(call get,$(SITE))
	$(pytest) -m "site and not (alone or long or attack or opencl)"

test-machine: $(VENV)/.test  ## the tests that measure or load this machine, one at a time: A/A, planted slowdowns and disturbances
	$(pytest) -m "alone and not opencl"
	$(BIN)/python -m pytest tests/hosts -m alone

test-long: $(VENV)/.test  ## the tests that take long and need no quiet machine: all MPIs, models and widths, long simulations, kill -9
	@command -v valgrind >/dev/null || $(call get,valgrind)
	$(pytest) $(beside) --hypothesis-profile many -m "(long or hypothesis) and not (alone or attack or opencl)"

test-attack: $(VENV)/.test  ## what another user, node or client could do, or a stranger's file: none of it is executed, and nothing is lost
	@command -v mosquitto >/dev/null || $(call get,mosquitto openssl)
	$(pytest) -n 4 -m "attack and not opencl"

test-numa: $(VENV)/.test  ## a guest with two sockets and several memory nodes (QEMU)
	$(BIN)/python -m pytest tests/numa

test-hosts: $(VENV)/.test  ## four hosts made of network namespaces: MPI over TCP between them (root; installs nftables where it may)
	$(BIN)/python -m pytest tests/hosts -m "not alone"

test-slurm: $(VENV)/.test  ## a real Slurm of four nodes on this machine (root; installs it where it may)
	$(BIN)/python -m pytest tests/slurm

test-applications: $(VENV)/.test  ## the NAS Parallel Benchmarks at larger classes and molecular dynamics, in every model, verified
	$(BIN)/python -m pytest tests/applications/large

test-telemetry: $(VENV)/.test  ## from a BMC through a broker into the embedded store and a real Cassandra (installs what it needs where it may)
	@$(call get,$(TELEMETRY))
	$(BIN)/python -m pytest tests/power/chain

test-fuzz: $(VENV)/.lint  ## the readers of foreign files and messages under libFuzzer and atheris, for two minutes (Clang, installed where that may be done)
	@command -v clang++ >/dev/null || $(call get,$(FUZZ))
	$(BIN)/python -m pytest tests/fuzz --timeout=100000

test-opencl: $(VENV)/.test  ## kernels of nodes and devices on a real OpenCL device (PoCL), and by the compilers of NVIDIA and AMD (installed where that may be done)
	@ls /etc/OpenCL/vendors/*.icd /usr/lib/*/libamdhip64.so.5 /usr/bin/oclgrind >/dev/null 2>&1 || $(call get,$(OPENCL))
	$(pytest) -m opencl

test-browser: $(VENV)/.test  ## every page of the report in a real browser (Chromium, installed where that may be done)
	@command -v chromium >/dev/null || $(call get,chromium)
	$(BIN)/python -m pytest tests/whole/test_report_browser.py

test-versions: $(VENV)/.lint  ## the tests of what we call in other packages, with their lowest versions and with the newest (Python 3.11 and 3.14; VERSIONS=all, VERSIONS='lowest 3.13' for others)
	$(BIN)/python tests/versions/environments.py $(VERSIONS)

audit: $(VENV)/.lint  ## search for known vulnerabilities of the packages in constraints.txt
	$(BIN)/python tests/versions/audit.py

# What builds the package, audits it and lists its parts stands in no extra.
constraints: $(VENV)/.lint  ## renew constraints.txt: the newest versions within pyproject.toml; run `make test-all` before you commit it
	printf '%s\n' hatchling hatch-fancy-pypi-readme editables pip-audit cyclonedx-bom | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	  --all-extras --no-annotate --custom-compile-command "make constraints" --upgrade -o constraints.txt pyproject.toml -

release: $(VENV)/.lint  ## build the release of the last commit into dist/: archive, wheel, its packages (CycloneDX), changes, checksums
	$(BIN)/python release/build_release.py

bundle: $(VENV)/.lint  ## pack all wheels for machines without a network into dist/ (VERSIONS='3.11 3.13' for several Pythons)
	$(BIN)/python release/bundle.py $(VERSIONS)

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
setup = @PRESET='$(PRESET)' PYTHON='$(PYTHON)' VENV='$(VENV)' sh environment.sh

.PHONY: anew
$(VENV)/.run: pyproject.toml constraints.txt $(if $(whole),,anew)
	$(setup) run
$(VENV)/.test: pyproject.toml constraints.txt $(if $(whole),,anew)
	$(setup) test
$(VENV)/.lint: pyproject.toml constraints.txt $(if $(whole),,anew)
	$(setup) lint
