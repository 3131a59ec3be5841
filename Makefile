# make demo: install into .venv and run on the built-in sample.   make test: lint, types, native and Python tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CXX ?= c++
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
TRANSFORMERS := 5.10.1 5.23.0
TRANSFORMERS_TESTS := $(addprefix tests/dual_encoder/test_,encoder.py hostile_encoder.py hostile_tokenizer.py saved_bytes.py answering.py packing.py)
NATIVE := CMakeLists.txt pyproject.toml $(shell find native -type f)

.PHONY: demo test lint types native-test python-test test-transformers sanitize attack bench bench-rivals bench-scale bench-dual-encoder bench-label-search experiment-interpolated experiment-softmax experiment-disentanglement experiment-aggregated experiment-prime clean FORCE

demo: $(VENV)/.installed
	$(BIN)/labelwood demo

test: lint types native-test python-test

lint: $(VENV)/.tested
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(BIN)/clang-format --dry-run --Werror $(shell find native -name '*.cpp' -o -name '*.h' -o -name '*.inc')

types: $(VENV)/.tested
	$(BIN)/mypy

native-test: $(VENV)/.tested
	$(BIN)/cmake -S . -B build/native -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja -DLABELWOOD_PYTHON=OFF -DLABELWOOD_TESTS=ON > build/native.log || { cat build/native.log; exit 1; }
	$(BIN)/cmake --build build/native
	build/native/native_tests

python-test: $(VENV)/.tested
	$(BIN)/python -m pytest -q -n 2

# Encoders with the lowest and the newest version of transformers that pyproject.toml allows: loading, saving, hostile
# models, and the attacks on encoders.
test-transformers: $(foreach version,$(TRANSFORMERS),build/transformers-$(version)/.tested)

build/transformers-%/.installed: $(VENV)/.tested tools/environment_of.py
	@$(BIN)/python tools/environment_of.py transformers==$* $(@D)
	@touch $@

.SECONDARY: $(foreach version,$(TRANSFORMERS),build/transformers-$(version)/.installed)

build/transformers-%/.tested: build/transformers-%/.installed FORCE
	@$(@D)/bin/python -c 'import tokenizers, torch, transformers; assert transformers.__version__ == "$*", transformers.__version__; print("transformers", transformers.__version__, "tokenizers", tokenizers.__version__, "torch", torch.__version__)'
	@$(@D)/bin/python -m pytest -q $(TRANSFORMERS_TESTS)
	@$(@D)/bin/python attack/run.py --minutes 2 --page build/attacks-transformers-$*.md encoder model-prime tests-encoders

# With address and undefined-behaviour sanitizers: the native tests, hostile arrays for the Python module, and the tests
# of hostile models. The module is built beside the installed one, and only the commands here use it.
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

# Hostile models, arrays, files, kills and races; writes docs/attacks.md. More: make attack SEED=1 MINUTES=60, or NAMES=model.
# With SANITIZE=1 what is native runs under sanitizers, and the page goes to build/.
attack: $(VENV)/.tested
	$(BIN)/python attack/run.py --seed $(or $(SEED),0) --minutes $(or $(MINUTES),5) --json build/attacks.json $(if $(SANITIZE),--sanitize --page build/attacks-sanitized.md,$(if $(NAMES),,--page docs/attacks.md)) $(NAMES)

# Figures beside scikit-learn's: make bench DATA=folder with eurlex4k/ and eurlex57k/ in it.
bench: $(VENV)/.tested
	@test -d "$(DATA)" || { echo "name the folder that holds eurlex4k and eurlex57k: make bench DATA=folder"; exit 1; }
	$(BIN)/python benchmarks/reading.py $(DATA)/eurlex4k/eurlex_train.txt.xz
	$(BIN)/python benchmarks/vectorizer.py $(DATA)/eurlex57k/train.jsonl.xz
	$(BIN)/python benchmarks/metrics.py

# Beside PECOS, omikuji, napkinXC and LibMultiLabel: make bench-rivals DATA=folder of one dataset. OPTIONS as in the script.
bench-rivals: $(VENV)/.tested
	@test -d "$(DATA)" || { echo "name the folder of a dataset: make bench-rivals DATA=folder"; exit 1; }
	$(BIN)/python benchmarks/compare.py $(DATA) --json build/rivals-$(notdir $(patsubst %/,%,$(DATA))).json $(OPTIONS)

# How time, memory and latency grow up to a million labels: hours on two cores; make bench-scale OPTIONS='--last 131072' for less.
bench-scale: $(VENV)/.tested
	$(BIN)/python benchmarks/scale.py --json build/scale.json --table build/scale.md $(OPTIONS)

# One query of a dual encoder on one core, as in docs/prime.md: make bench-dual-encoder CHECKPOINT=folder TEXTS=file. OPTIONS as in the script.
bench-dual-encoder: $(VENV)/.tested
	@test -d "$(CHECKPOINT)" -a -f "$(TEXTS)" || { echo "name an encoder and texts: make bench-dual-encoder CHECKPOINT=folder TEXTS=file"; exit 1; }
	$(BIN)/python benchmarks/dual_encoder_latency.py $(CHECKPOINT) $(TEXTS) --json build/dual_encoder_latency.json --table build/dual_encoder_latency.md $(OPTIONS)

# Finding the nearest of many labels on one core, beside faiss: make bench-label-search CHECKPOINT=folder TEXTS=file QUERIES=file.
bench-label-search: $(VENV)/.tested
	@test -d "$(CHECKPOINT)" -a -f "$(TEXTS)" -a -f "$(QUERIES)" || { echo "name an encoder and texts: make bench-label-search CHECKPOINT=folder TEXTS=file QUERIES=file"; exit 1; }
	$(BIN)/python benchmarks/label_search.py $(CHECKPOINT) $(TEXTS) $(QUERIES) --rivals --vectors build/label_search --json build/label_search.json --table build/label_search.md $(OPTIONS)

# The figures of docs/prime.md, on a GPU: make experiment-prime DATA=folder of datasets CHECKPOINT=folder. OPTIONS as in the script.
experiment-prime: $(VENV)/.tested
	@test -d "$(DATA)" -a -d "$(CHECKPOINT)" || { echo "name datasets and an encoder: make experiment-prime DATA=folder CHECKPOINT=folder"; exit 1; }
	$(BIN)/python experiments/prime/run.py $(DATA) --checkpoint $(CHECKPOINT) -o build/prime --compile $(OPTIONS)

# The figures of docs/interpolated_trees.md: make experiment-interpolated DATA=folder of datasets. OPTIONS as in the script.
experiment-interpolated: $(VENV)/.tested
	@test -d "$(DATA)" || { echo "name the folder that holds the datasets: make experiment-interpolated DATA=folder"; exit 1; }
	$(BIN)/python experiments/interpolated_trees/run.py $(DATA) -o build/interpolated_trees $(OPTIONS)

# The figures of docs/softmax_trees.md: make experiment-softmax DATA=folder of datasets. OPTIONS as in the script.
experiment-softmax: $(VENV)/.tested
	@test -d "$(DATA)" || { echo "name the folder that holds the datasets: make experiment-softmax DATA=folder"; exit 1; }
	$(BIN)/python experiments/softmax_tree/run.py $(DATA) -o build/softmax_tree $(OPTIONS)

# The figures of docs/disentanglement.md: make experiment-disentanglement DATA=folder of datasets. OPTIONS as in the script.
experiment-disentanglement: $(VENV)/.tested
	@test -d "$(DATA)" || { echo "name the folder that holds the datasets: make experiment-disentanglement DATA=folder"; exit 1; }
	$(BIN)/python experiments/disentanglement/run.py $(DATA) -o build/disentanglement $(OPTIONS)

# The figures of docs/aggregated_labels.md: make experiment-aggregated DATA=folder of datasets. OPTIONS as in the script.
experiment-aggregated: $(VENV)/.tested
	@test -d "$(DATA)" || { echo "name the folder that holds the datasets: make experiment-aggregated DATA=folder"; exit 1; }
	$(BIN)/python experiments/aggregated_labels/run.py $(DATA) -o build/aggregated_labels $(OPTIONS)

clean:
	rm -rf $(VENV) build dist

$(VENV)/.python:
	@command -v $(PYTHON) > /dev/null || { echo "Labelwood needs Python 3.11 or newer and found no '$(PYTHON)': install it, or name it with make PYTHON=/path/to/python3."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Labelwood needs Python 3.11 or newer and '$(PYTHON)' is older: install it, or name another with make PYTHON=python3.12."; exit 1; }
	@command -v $(CXX) > /dev/null && echo 'auto f = []<class T>(T x) { return x; };' | $(CXX) -std=c++20 -x c++ -fsyntax-only - 2> /dev/null || { echo "Labelwood needs a C++20 compiler and '$(CXX)' is none: install g++ 11 or clang 14 or newer (Debian: apt install g++), or name one with make CXX=clang++."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "Labelwood could not make a virtual environment with '$(PYTHON)': install its venv module (Debian: apt install python3-venv)."; exit 1; }
	@$(PIP) --upgrade 'pip>=24'
	@touch $@

$(VENV)/.build-tools: $(VENV)/.python
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

# The pin comes first and alone: it decides which torch there is, so that nothing after it can ask for another.
$(VENV)/.tested: $(VENV)/.installed
	@$(PIP) torch==2.13.0
	@$(PIP) 'transformers>=5.10.1,<6' 'accelerate>=1.0'
	@$(PIP) --no-build-isolation --editable '.[test]'
	@touch $@
