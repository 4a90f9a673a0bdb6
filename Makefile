# Two commands do everything on a fresh Debian 12 machine: make demo, make check. Each installs what is missing.

JOBS ?= $(shell nproc)
DEMO_SCENARIO := llama3.1-8b-real-mixture-128k
DEMO_OUT := packsim-report
export JOBS

.PHONY: help deps build build-time demo check check-all python docs wheels bench microbench profile hardware-profiles plans fuzz mutants format clean

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 22

deps: ## Install the Debian packages and the Python wheel that the build needs
	@cmake/install_deps.sh

build: deps ## Release build; leaves the program at build/packsim
	@[ -f build/build.ninja ] || cmake --preset release >build.log 2>&1 || { cat build.log; exit 1; }
	@cmake --build --preset release -j $(JOBS) --target packsim

demo: build ## Build, compare strategies on a real length mixture, and say where the report is
	build/packsim compare $(DEMO_SCENARIO) --out $(DEMO_OUT)

check: ## Test the built program and Python package: what to run before a commit
	@tests/stages.sh check

check-all: ## make check, then slow tests, sanitizers, CUDA, PyTorch and trainers, wheels
	@tests/stages.sh check-all $(if $(AFTER_CHECK),--after-check)

python: ## Build the Python package and install it into .venv-python, with all that its tests need
	@cmake/install_deps.sh tests
	@cmake/install_python.sh
	@cmake/install_torch.sh
	@cmake/install_packages.sh

docs: ## Build the docs as a site with search, at build-docs/index.html
	@cmake/install_docs.sh
	@docs/site/build.sh build-docs
	@echo "The docs are at build-docs/index.html"

bench: ## Build and run the benchmarks
	@cmake/install_deps.sh tests && cmake/install_deps.sh benchmarks
	@cmake --preset bench >build.log 2>&1 || { cat build.log; exit 1; }
	cmake --build --preset bench -j $(JOBS) --target packsim_bench packsim_packing_memory
	build/tests/bench/packsim_bench --benchmark_min_time=0.5
	for strategy in ffd bfd hbp; do build/tests/bench/packsim_packing_memory $$strategy; done

build-time: deps ## Time a build of the program without a compiler cache
	@tests/bench/build_time.sh

FUZZ_PRESET ?= fuzz
fuzz: ## Run every fuzz target for FUZZ_SECONDS (60) with clang; what it finds is left in build-fuzz
	@cmake/install_deps.sh fuzz
	@cmake --preset $(FUZZ_PRESET) >build.log 2>&1 || { cat build.log; exit 1; }
	cmake --build --preset $(FUZZ_PRESET) -j $(JOBS)
	tests/fuzz/run.sh build-$(FUZZ_PRESET) $(or $(FUZZ_SECONDS),60)

microbench: ## Build the program that measures a GPU, at build-cuda/packsim_microbench; needs nvcc
	@cmake/install_cuda.sh
	@cmake -S calibration/microbench -B build-cuda >build.log 2>&1 || { cat build.log; exit 1; }
	cmake --build build-cuda -j $(JOBS)

wheels: ## Build and test wheels of the core for CPython 3.10 to 3.13, into dist/
	cmake/make_wheels.sh

profile: build ## Fit the shipped framework profile again from its data
	@cmake --build --preset release -j $(JOBS) --target packsim_fit_steps
	build/packsim_fit_steps calibration/data/hbp_step_times.csv > calibration/profiles/deepspeed-ulysses-h100.json

hardware-profiles: build ## Fit the shipped hardware profiles, and PyTorch's, again from their measurements
	calibration/data/fit_profiles.sh build/packsim

plans: build ## Write the shipped measurement plans again
	build/packsim calibrate plan --quick --out calibration/plans/quick.txt --force
	build/packsim calibrate plan --out calibration/plans/full.txt --force

FOLDER ?= plan_files
NUMBER ?= 50
SEED ?= 1
mutants: ## Change lines of FOLDER (plan_files, packing) and print the changes that no test sees
	@cmake/install_deps.sh tests
	@[ -d .venv-mutants ] || { python3 -m venv .venv-mutants && .venv-mutants/bin/pip install --quiet --no-deps universalmutator==1.14.1; }
	@cmake --preset check >build.log 2>&1 || { cat build.log; exit 1; }
	.venv-mutants/bin/python tests/mutation/run_mutants.py $(FOLDER) --number $(NUMBER) --seed $(SEED) --jobs $(JOBS)

format: ## Format the C++ sources
	git ls-files '*.cpp' '*.hpp' '*.cc' | xargs clang-format-14 -i

clean: ## Remove everything that was built
	rm -rf build build-dev build-asan build-tsan build-fuzz build-fuzz-fast build-cuda build-wheel build-docs build.log $(DEMO_OUT)
