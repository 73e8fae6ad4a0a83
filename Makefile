# make demo    set up, analyse the demo corpus with the demo model, print the findings
# make test    set up, run the tests
# make test-oldest   the tests of all families with the oldest transformers that is allowed
# make test-adapters   the adapters of the segmenter, with the libraries that they are for
# make test-jupyterlab   views and reports in JupyterLab itself, in a browser
# make test-faults   kills, full disks, damaged files: all of them (up to an hour)
# make fuzz    10,000 damaged corpora and runs
# make attack  2,000 hostile models, runs, corpora, requests, environments and numbers (hours)
# make check   set up, run what CI checks before the tests: format, lint, types, layers
# make dist    set up, build the wheel and the source archive, check their metadata
# make pages   set up, write the parts of the docs that come from the code
# make docs    set up, build the site into site/, strictly
# make bench   set up, measure speed and memory (hours)

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Tests run side by side, a core each; JOBS=0 runs them one after the other.
JOBS ?= $(shell nproc)

# The lower end of the range of transformers in pyproject.toml; the pin is its upper end.
OLDEST := 5.6.0

# nnsight and TransformerLens are measured if they are installed: name an environment with VENV=.
# Models that do not come with headscope are measured if they are in this folder, by their names.
MODELS ?= .cache/models
RATIO  := $(BIN)/python benchmarks/forward_ratio.py --markdown --models $(MODELS)

# Windows of uneven lengths: EWT dev, if it is beside the repository.
PARAGRAPHS ?= ../shared/corpora/ewt-dev.conllu.gz

.PHONY: demo test test-oldest test-adapters test-jupyterlab test-faults fuzz attack check dist pages docs bench clean

demo: $(VENV)/.demo
	$(BIN)/headscope analyze

# A file is run by one worker, in the order of tests/conftest.py. Bytecode is kept: dozens of
# processes import the same files.
test: $(VENV)/.dev
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

test-oldest: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade \
	  --target .cache/transformers-$(OLDEST) transformers==$(OLDEST) $(shell grep ^numpy== constraints.txt)
	PYTHONPATH=.cache/transformers-$(OLDEST) $(BIN)/python -m pytest tests/models/test_families.py

# An environment of their own, on top of that of the tests: they pull in some seventy packages.
# Types are not enforced here: the libraries read the signatures of what is put into them.
ADAPTERS := .cache/adapters
test-adapters: $(VENV)/.dev
	$(BIN)/python -m venv $(ADAPTERS)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > $$($(ADAPTERS)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tests.pth
	$(ADAPTERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  -e '.[demo,langchain,llama-index,chonkie,haystack,spacy]'
	$(ADAPTERS)/bin/python -m pytest tests/segment/adapters \
	  -o addopts='-q --strict-markers --import-mode=importlib -p no:cacheprovider'

# JupyterLab brings thirty packages of its own: it stands on top of the environment of the tests, too.
LAB := .cache/jupyterlab
test-jupyterlab: $(VENV)/.dev
	$(BIN)/python -m venv $(LAB)
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > $$($(LAB)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tests.pth
	$(LAB)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt jupyterlab
	PYTHONPATH=src $(LAB)/bin/python -m pytest tests/jupyterlab \
	  -o addopts='-q --strict-markers --import-mode=importlib -p no:cacheprovider'

test-faults: $(VENV)/.dev
	$(BIN)/python -m pytest tests/faults tests/measuring/workers -m 'long or not long'

fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.faults.fuzz --inputs 10000

attack: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.attack.run --cases 2000

check: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist . > /dev/null
	$(BIN)/twine check --strict dist/*

pages: $(VENV)/.dev
	$(BIN)/python -m tools.write_pages

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

bench: $(VENV)/.dev
	$(RATIO) demo bert12
	$(RATIO) base --texts 32 --repeats 5
	$(RATIO) demo --tokens 32 --texts 512
	$(RATIO) demo --tokens 64 --texts 128
	$(RATIO) demo --tokens 256 --texts 32
	$(RATIO) demo --tokens 512 --texts 16
	$(RATIO) smollm2 --tokens 128 --texts 32 --repeats 5
	$(RATIO) smollm2 --tokens 512 --texts 4 --repeats 5
	$(RATIO) smollm2 --tokens 2048 --texts 1 --repeats 5
	$(RATIO) smollm2 --tokens 4096 --texts 1 --repeats 3
	$(BIN)/python benchmarks/oracle_difference.py demo --tokens 32 64 128 256 512
	$(BIN)/python benchmarks/oracle_difference.py base
	$(if $(wildcard $(MODELS)/bert12),$(BIN)/python benchmarks/oracle_difference.py bert12)
	$(if $(wildcard $(MODELS)/smollm2),$(BIN)/python benchmarks/oracle_difference.py smollm2 --texts 1 --every 15 --tokens 128 512 2048 4096)
	$(if $(wildcard $(PARAGRAPHS)),$(BIN)/python benchmarks/uneven_lengths.py $(PARAGRAPHS) --texts 512)
	$(BIN)/python benchmarks/peak_memory.py --model demo --tokens 128 512
	$(if $(wildcard $(MODELS)/smollm2),$(BIN)/python benchmarks/peak_memory.py --model $(MODELS)/smollm2)
	$(BIN)/python benchmarks/corpus_memory.py

clean:
	rm -rf $(VENV) runs dist build site

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing headscope and the demo model (once, a few minutes)"
	$(PIP) -e '.[demo]'
	touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing headscope and what its tests need (once, a few minutes)"
	$(PIP) -e '.[demo,dev]'
	touch $(VENV)/.demo $@
