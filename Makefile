# The front door. Everything here is a thin call: CMakePresets.json says how to build, scripts/ what else to do.
# SETUP=no leaves the installed packages alone; JOBS=N limits the parallel jobs, and TEST_JOBS=N the tests at a time.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc)
# Most whole runs wait for the time of a recording to pass.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
FUZZ_SECONDS ?= 60
SOAK_CYCLES ?= 1000
SOAK_KILLS ?= 200

RELEASE := build/release
SETUP_DEBIAN := $(if $(filter no,$(SETUP)),@true,scripts/setup-debian.sh)
COMPILE := cmake --build
# A test that fails is repeated and named; only what tests/skips.txt names is skipped.
RUN_TESTS := scripts/run-tests.sh

.DEFAULT_GOAL := help
.PHONY: help demo test build static packages image bench soak fuzz web install uninstall clean format tidy asan tsan mutants stub-arch check-all

help: ## this list
	@echo "fathom: where a native Linux process spends its time"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "make demo and make test install what is missing from Debian's packages, and say what; SETUP=no prevents it."

demo: ## build fathom and draw the flame graph of a real program
	$(SETUP_DEBIAN) build
	cmake --preset release
	$(COMPILE) $(RELEASE) --parallel $(JOBS) --target fathom
	scripts/demo.sh $(RELEASE)/src/cli/fathom build/demo

test: ## build everything and run all tests
	$(SETUP_DEBIAN) build test
	cmake --preset release
	$(COMPILE) $(RELEASE) --parallel $(JOBS)
	$(RUN_TESTS) $(RELEASE) --parallel $(TEST_JOBS)

build: ## build fathom (build/release/src/cli/fathom)
	$(SETUP_DEBIAN) build
	cmake --preset release
	$(COMPILE) $(RELEASE) --parallel $(JOBS) --target fathom

static: ## build fathom as one file that needs no library (build/release/static/fathom)
	$(SETUP_DEBIAN) build static
	cmake --preset release
	$(COMPILE) --preset static --parallel $(JOBS)

packages: static ## pack it: .deb, .tar.gz, SPDX list and SHA-256 sums (build/packages)
	scripts/packages.sh $(RELEASE) build/packages

image: static ## make a container image of it (localhost/fathom), with podman or docker
	scripts/image.sh $(RELEASE)/static/fathom

bench: ## answer the questions of docs/performance.md on this machine
	$(SETUP_DEBIAN) build bench
	cmake --preset release -B build/bench -DFATHOM_BENCH=ON
	$(COMPILE) build/bench --parallel $(JOBS) --target fathom benchmarks
	bench/run.sh build/bench

soak: ## trace the heap of real servers in and out for SOAK_CYCLES (1000) times, SOAK_KILLS (200) ends by kill -9; takes an hour or two
	$(SETUP_DEBIAN) build test
	cmake --preset release
	$(COMPILE) $(RELEASE) --parallel $(JOBS) --target fathom heap_soak_test hostile_heap_test
	FATHOM_SOAK_CYCLES=$(SOAK_CYCLES) FATHOM_SOAK_KILLS=$(SOAK_KILLS) $(RELEASE)/tests/heap_soak_test
	FATHOM_SOAK_CYCLES=$(SOAK_CYCLES) $(RELEASE)/tests/hostile_heap_test

web: ## build the page of fathom view anew, into web/dist, which is checked in (Node and npm, and a network)
	$(SETUP_DEBIAN) web
	cd web && npm ci --no-audit --no-fund && npm run build

fuzz: ## run every fuzz target for FUZZ_SECONDS (60) on its seeds
	$(SETUP_DEBIAN) build fuzz
	cmake --preset fuzz
	$(COMPILE) build/fuzz --parallel $(JOBS) --target fuzzers
	scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

install: build ## install fathom below PREFIX (/usr/local), with manual pages and completions; DESTDIR stands before it
	DESTDIR=$(DESTDIR) scripts/install.sh install $(RELEASE) $(PREFIX)

uninstall: ## remove what make install has installed
	DESTDIR=$(DESTDIR) scripts/install.sh uninstall $(PREFIX)

clean: ## remove everything that was built
	rm -rf build

format: ## bring the sources into the house style
	$(SETUP_DEBIAN) tidy
	git ls-files '*.cpp' '*.h' '*.c' | xargs clang-format -i

tidy: ## read the sources with clang-tidy
	$(SETUP_DEBIAN) build tidy
	cmake --preset dev
	$(COMPILE) build/dev --parallel $(JOBS)
	git ls-files 'src/*.cpp' | xargs -P $(JOBS) -n 4 clang-tidy --quiet -p build/dev

asan: ## run the unit tests under the address and undefined behaviour sanitizers
	$(SETUP_DEBIAN) build test fuzz
	cmake --preset asan
	$(COMPILE) build/asan --parallel $(JOBS) --target $(if $(ASAN_FOLDERS),$(addsuffix /all,$(ASAN_FOLDERS)),unit_tests)
	scripts/with-sanitizers.sh $(RUN_TESTS) build/asan --parallel $(JOBS) --label-regex '^unit'

tsan: ## run the tests of what has threads under the thread sanitizer
	$(SETUP_DEBIAN) build test
	cmake --preset tsan
	# The sanitizer's shadow has no room next to mappings at places of 32 random bits, also while tests are listed.
	setarch --addr-no-randomize $(COMPILE) build/tsan --parallel $(JOBS) --target threaded_tests
	setarch --addr-no-randomize scripts/with-sanitizers.sh $(RUN_TESTS) build/tsan --parallel $(JOBS) --label-regex 'with_threads$$'

mutants: ## break the code in the ways of tests/mutants.txt and see that a test fails each time
	$(SETUP_DEBIAN) build test
	scripts/mutants.sh tests/mutants.txt build/mutants $(JOBS)

stub-arch: ## compile everything but what is known of one processor, and see that it says so
	$(SETUP_DEBIAN) build
	scripts/check-arch.sh
	cmake --preset stub
	$(COMPILE) build/stub --parallel $(JOBS) --target fathom
	scripts/check-stub.sh build/stub/src/cli/fathom

kernels: ## boot Linux 5.10, 6.1, 6.12 and the newest in an emulator and try fathom on each; writes docs/kernels.md; half an hour
	$(SETUP_DEBIAN) build kernels
	cmake --preset release
	$(COMPILE) $(RELEASE) --parallel $(JOBS) --target fathom
	scripts/kernels.sh --require

check-all: ## all of it, before a release: tests, kernels, sanitizers, fuzz targets, mutants, soak; writes docs/checks.md; takes hours
	SETUP=$(SETUP) JOBS=$(JOBS) FUZZ_SECONDS=$(FUZZ_SECONDS) SOAK_CYCLES=$(SOAK_CYCLES) SOAK_KILLS=$(SOAK_KILLS) scripts/check-all.sh
