# `make help` lists what there is. The first time, a virtual environment is made in .venv and the package is built into it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CXX ?= c++
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
TRANSFORMERS := 5.10.1 5.23.0
TRANSFORMERS_TESTS := $(addprefix tests/dual_encoder/test_,encoder.py hostile_encoder.py hostile_tokenizer.py saved_bytes.py answering.py packing.py)
NATIVE := CMakeLists.txt pyproject.toml $(shell find native -type f)
LAB := bench-rivals bench-scale bench-dual-encoder bench-label-search $(addprefix experiment-,interpolated softmax disentanglement aggregated prime)

.PHONY: demo test test-fast test-rest lint types native-test test-transformers sanitize attack bench $(LAB) results docs docs-links help clean FORCE

## demo                        Install into .venv and run on the built-in sample.
demo: $(VENV)/.installed
	$(BIN)/labelwood demo

## help                        List the targets.
help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

## test                        All checks: lint, types, and every test.
test: lint test-fast types native-test test-rest

## test-fast                   The tests without the markers deep and slow, in about a minute: run it all the time.
# Torch and what comes with it are hidden, so a test that needs them and lacks the marker fails here.
test-fast: $(VENV)/.tools
	@PYTHONPATH=tests/lean $(BIN)/python -m pytest -q -n 2 -m 'not deep and not slow' || { echo "A test that fails for lack of torch needs the marker 'deep': see CONTRIBUTING.md."; exit 1; }

## test-rest                   The tests that test-fast leaves out. Installs torch first.
test-rest: $(VENV)/.tested
	$(BIN)/python -m pytest -q -n 2 -m 'deep or slow'

## lint                        ruff: rules and format.
lint: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(shell find native -name '*.cpp' -o -name '*.h' -o -name '*.inc')

## types                       mypy, strict.
types: $(VENV)/.tools
	$(BIN)/mypy

## native-test                 The tests of native/ that need no Python.
native-test: $(VENV)/.build-tools
	$(BIN)/cmake -S . -B build/native -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DLABELWOOD_PYTHON=OFF -DLABELWOOD_TESTS=ON > build/native.log || { cat build/native.log; exit 1; }
	$(BIN)/cmake --build build/native
	build/native/native_tests

## test-transformers           Encoders with the lowest and the newest version of transformers that pyproject.toml allows.
test-transformers: $(foreach version,$(TRANSFORMERS),build/transformers-$(version)/.tested)

build/transformers-%/.installed: $(VENV)/.tested tools/environment_of.py
	@$(BIN)/python tools/environment_of.py transformers==$* $(@D)
	@touch $@

.SECONDARY: $(foreach version,$(TRANSFORMERS),build/transformers-$(version)/.installed)

build/transformers-%/.tested: build/transformers-%/.installed FORCE
	@$(@D)/bin/python -c 'import tokenizers, torch, transformers; assert transformers.__version__ == "$*", transformers.__version__; print("transformers", transformers.__version__, "tokenizers", tokenizers.__version__, "torch", torch.__version__)'
	@$(@D)/bin/python -m pytest -q $(TRANSFORMERS_TESTS)
	@$(@D)/bin/python -m attack.run --minutes 2 --page build/attacks-transformers-$*.md encoder model-prime tests-encoders

## sanitize                    Native tests, hostile arrays and hostile models with address and undefined-behaviour sanitizers.
# The module is built beside the installed one, and only the commands here use it.
SANITIZED := build/sanitize
SANITIZERS := asan ubsan stdc++
sanitize: $(VENV)/.tested
	$(BIN)/cmake -S . -B $(SANITIZED) -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DCMAKE_BUILD_TYPE=Debug -DPython_EXECUTABLE=$(abspath $(BIN))/python -DLABELWOOD_PYTHON=ON -DLABELWOOD_TESTS=ON -DLABELWOOD_SANITIZE=ON
	$(BIN)/cmake --build $(SANITIZED)
	$(SANITIZED)/native_tests
	$(UNDER_SANITIZERS) -m tests.hostile.canary
	$(UNDER_SANITIZERS) -m tests.hostile.natives --cases 6000
	$(UNDER_SANITIZERS) -m tests.hostile.arrays --cases 3000
	$(UNDER_SANITIZERS) -m pytest -q -p no:cacheprovider tests/test_native.py tests/store/test_hostile*.py

UNDER_SANITIZERS = LD_PRELOAD="$(foreach library,$(SANITIZERS),$(shell $(CXX) -print-file-name=lib$(library).so))" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096 PYTHONMALLOC=malloc \
	PYTHONPATH=tests/hostile/sanitized:. LABELWOOD_SANITIZED=$(abspath $(SANITIZED)) $(BIN)/python

## attack                      Hostile models, arrays, files, kills and races; writes docs/results/attacks.md.
# More: make attack SEED=1 MINUTES=60, or NAMES=model. With SANITIZE=1 what is native runs under sanitizers, and the page
# goes to build/.
attack: $(VENV)/.tested
	$(BIN)/python -m attack.run --seed $(or $(SEED),0) --minutes $(or $(MINUTES),5) --json build/attacks.json $(if $(SANITIZE),--sanitize --page build/attacks-sanitized.md,$(if $(NAMES),,--page docs/results/attacks.md)) $(NAMES)

## bench                       Figures beside scikit-learn's: DATA is a folder with eurlex4k/ and eurlex57k/ in it.
bench: $(VENV)/.tested
	$(BIN)/python -m lab.benchmarks.reading $(DATA)/eurlex4k/eurlex_train.txt.xz
	$(BIN)/python -m lab.benchmarks.vectorizer $(DATA)/eurlex57k/train.jsonl.xz
	$(BIN)/python -m lab.benchmarks.metrics

# The figures of the documents: RUN is a module of `lab` and what it is given. OPTIONS are added; the module's --help
# explains them.
$(LAB): $(VENV)/.tested
	$(BIN)/python -m lab.$(RUN) $(OPTIONS)

# A setting that a target needs and nobody gave stops it.
DATA ?= $(error name the data: make $@ DATA=folder)
CHECKPOINT ?= $(error name an encoder: make $@ CHECKPOINT=folder)
TEXTS ?= $(error name a file of texts: make $@ TEXTS=file)
QUERIES ?= $(error name a file of queries: make $@ QUERIES=file)

## bench-rivals                Beside PECOS, omikuji, napkinXC and LibMultiLabel: DATA is the folder of one dataset.
bench-rivals: RUN = benchmarks.compare $(DATA) --json build/rivals-$(notdir $(DATA:/=)).json
## bench-scale                 How time and memory grow up to a million labels: hours; OPTIONS='--last 131072' for less.
bench-scale: RUN = benchmarks.scale --json build/scale.json --table build/scale.md
## bench-dual-encoder          One query of a dual encoder on one core: CHECKPOINT is an encoder's folder, TEXTS a file.
bench-dual-encoder: RUN = benchmarks.dual_encoder_latency $(CHECKPOINT) $(TEXTS) $(call report,dual_encoder_latency)
## bench-label-search          The nearest of many labels, beside faiss: CHECKPOINT is a folder, TEXTS and QUERIES files.
bench-label-search: RUN = benchmarks.label_search $(CHECKPOINT) $(TEXTS) $(QUERIES) --rivals --vectors build/label_search $(call report,label_search)
## experiment-interpolated     The figures on interpolated trees: DATA is a folder with a folder for each dataset.
experiment-interpolated: RUN = experiments.interpolated_trees.run $(DATA) -o build/interpolated_trees
## experiment-softmax          The figures on softmax trees: DATA.
experiment-softmax: RUN = experiments.softmax_tree.run $(DATA) -o build/softmax_tree
## experiment-disentanglement  The figures on labels with several places: DATA.
experiment-disentanglement: RUN = experiments.disentanglement.run $(DATA) -o build/disentanglement
## experiment-aggregated       The figures on labels of groups: DATA.
experiment-aggregated: RUN = experiments.aggregated_labels.run $(DATA) -o build/aggregated_labels
## experiment-prime            The figures on dual encoders, on a GPU: DATA, and CHECKPOINT, the folder of an encoder.
experiment-prime: RUN = experiments.prime.run $(DATA) --checkpoint $(CHECKPOINT) -o build/prime --compile
report = --json build/$(1).json --table build/$(1).md

## results                     The pages of docs/results, from the records kept beside experiments and benchmarks.
results: $(VENV)/.tested
	$(foreach page,$(PAGES),$(BIN)/python -m $(page) &&) true

PAGES := $(subst /,.,$(basename $(filter-out %/common/page.py,$(wildcard lab/experiments/*/page.py)) lab/benchmarks/page.py))

## docs                        The site, in build/docs. A warning or a lost link within it is an error.
docs: $(VENV)/.tested
	$(SPHINX) -b html docs build/docs
	@echo "Open build/docs/index.html"

## docs-links                  Whether links to other sites lead anywhere: needs the internet.
docs-links: $(VENV)/.tested
	$(SPHINX) -b linkcheck docs build/docs-links

SPHINX = $(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet --doctree-dir build/docs-pages

## clean                       Remove the environment and all that was built.
clean:
	rm -rf $(VENV) build dist

$(VENV)/.python:
	@command -v $(PYTHON) > /dev/null || { echo "Labelwood needs Python 3.11 or newer and found no '$(PYTHON)': install it, or name it with make PYTHON=/path/to/python3."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Labelwood needs Python 3.11 or newer and '$(PYTHON)' is older: install it, or name another with make PYTHON=python3.12."; exit 1; }
	@command -v $(CXX) > /dev/null && echo 'auto f = []<class T>(T x) { return x; };' | $(CXX) -std=c++20 -x c++ -fsyntax-only - 2> /dev/null || { echo "Labelwood needs a C++20 compiler and '$(CXX)' is none: install g++ 11 or clang 14 or newer (Debian: apt install g++), or name one with make CXX=clang++."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Labelwood could not make a virtual environment with '$(PYTHON)': install its venv module (Debian: apt install python3-venv)."; exit 1; }
	@$(PIP) --upgrade 'pip>=24'
	@touch $@

$(VENV)/.build-tools: $(VENV)/.python pyproject.toml
	@$(PIP) 'scikit-build-core>=0.10' 'nanobind>=3.1' 'nanobind-backend>=1.0' 'cmake>=3.18' ninja
	@mkdir -p build
	@touch $@

# Changes when a Python file is added or removed: the editable install knows modules by name.
$(VENV)/.modules: $(VENV)/.build-tools FORCE
	@find src -name '*.py' | sort | cmp -s - $@ || find src -name '*.py' | sort > $@

$(VENV)/.installed: $(VENV)/.build-tools $(VENV)/.modules $(NATIVE)
	@echo "Building and installing Labelwood into $(VENV) (the first time takes about a minute)"
	@CXX=$(CXX) PATH="$(abspath $(BIN)):$$PATH" $(PIP) --no-build-isolation --editable .
	@touch $@

# What lint, types and the fast tests need.
$(VENV)/.tools: $(VENV)/.installed
	@$(PIP) --no-build-isolation --editable '.[test]'
	@touch $@

# The pin comes first and alone: it decides which torch there is, so that nothing after it can ask for another.
$(VENV)/.tested: $(VENV)/.tools
	@$(PIP) torch==2.13.0
	@$(PIP) --no-build-isolation --editable '.[test,test-deep,docs]'
	@touch $@
