# What there is to do here: `make` or `make help`.

SCENE ?=
FUZZ_SECONDS ?= 600
CARGO ?= cargo
NPM ?= npm

.DEFAULT_GOAL := help
.PHONY: help run test lint docs lab bench contact cloth bench-peers fuzz tools node chromium page test-page

help:
	@echo "make run     open the viewer: grab a mechanism in the browser            (SCENE=walker for another one)"
	@echo "make test    layout, lints, documentation, all tests, the viewer in a real browser: what must pass"
	@echo "make lint    the first two of these"
	@echo "make docs    the library's documentation in target/doc/linkwork/"
	@echo "make lab     the papers' experiments: out/lab/report.html and docs/laboratory.md"
	@echo "make bench   measure: the tables in docs/            (make bench contact, make bench cloth: those alone)"
	@echo "make bench-peers   the same ladders and sheets by rapier and MuJoCo, beside us"
	@echo "make fuzz    throw garbage at parser and assembly, $(FUZZ_SECONDS) s each   (FUZZ_SECONDS=60 for less)"

tools:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
	  echo "Rust's cargo is missing. This gets it (rust-toolchain.toml then picks the version):"; \
	  echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"\$$HOME/.cargo/env\""; \
	  exit 1; }

node:
	@command -v node >/dev/null 2>&1 && node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' || { \
	  echo "The viewer's page is built with Node 20.19 or newer. This gets it (or see https://nodejs.org):"; \
	  echo "  curl -fsSL https://deb.nodesource.com/setup_22.x | sudo -E bash - && sudo apt-get install -y nodejs"; \
	  exit 1; }

# The browser tests run in the real thing. Where we may, it is installed; elsewhere the command is told.
chromium:
	@[ -n "$$CHROMIUM" ] || command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || \
	  command -v google-chrome >/dev/null 2>&1 || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && apt-get update -q && apt-get install -y -q chromium; } || { \
	  echo "The browser tests need Chromium. This gets it (or name yours: make test CHROMIUM=/path/to/it):"; \
	  echo "  sudo apt-get update && sudo apt-get install -y chromium"; \
	  exit 1; }

# The page is embedded in the command, so it comes first. Its folder of assets is made anew by each build.
PAGE := $(shell find web/src web/index.html web/vite.config.ts web/package-lock.json web/tsconfig.json -type f)

page: web/dist/assets

web/node_modules/.package-lock.json: web/package-lock.json | node
	cd web && $(NPM) ci --no-audit --no-fund
	@touch $@

web/dist/assets: web/node_modules/.package-lock.json $(PAGE) | node
	cd web && $(NPM) run build

# Nothing of this is silent: the first time it takes minutes, and whoever waits wants to know for what.
run: tools
	@echo "1 of 3  the viewer's page (kept for the next time)"
	@$(MAKE) --no-print-directory page
	@echo "2 of 3  the command, optimised: some minutes the first time, seconds later"
	@$(CARGO) build --release -p linkwork-cli
	@echo "3 of 3  the viewer"
	@target/release/linkwork view $(if $(SCENE),scenes/$(SCENE).lw)

# A part of the work with its time: `$(call timed,NAME,COMMAND)`. All times are told once more in the end.
TIMES := out/times.txt
timed = @mkdir -p out; begin=$$(date +%s); ( $(2) ) || exit 1; \
	took="$$(printf '%5d s  %s' $$(( $$(date +%s) - begin )) '$(1)')"; echo "$$took"; echo "$$took" >> $(TIMES)

# The packages are always chosen alike (`default-members`), so that lints, documentation and tests share their
# dependencies: another choice means other features, and everything once more. The benchmark is looked at without the
# peers that it is measured against, which nothing else needs; `make bench` compiles them.
lint: tools
	$(call timed,layout,$(CARGO) fmt --all --check)
	$(call timed,lints,$(CARGO) clippy --workspace --all-targets --no-default-features --locked -- -D warnings)

docs: tools
	$(call timed,documentation,RUSTDOCFLAGS="-D warnings" $(CARGO) doc --lib --no-deps --locked)

# The tests come last, so that their counts are the last thing to read. Doc tests are among them. The command that the page
# is tested with is the one that the tests have just built.
test: tools
	@mkdir -p out; rm -f $(TIMES)
	$(call timed,page built,$(MAKE) --no-print-directory page chromium)
	@$(MAKE) --no-print-directory lint docs
	$(call timed,tests compiled,$(CARGO) test --locked --no-run)
	$(call timed,tests,$(CARGO) test --locked)
	$(call timed,page tested,cd web && $(NPM) run unit && $(NPM) run browser)
	@echo; cat $(TIMES)

test-page: page chromium
	$(CARGO) build --locked
	cd web && $(NPM) run unit && $(NPM) run browser

lab: tools
	@mkdir -p out/lab
	$(CARGO) run --release --locked -p linkwork-cli -- lab all -o out/lab --markdown > out/lab/laboratory.md
	@mv out/lab/laboratory.md docs/laboratory.md
	@echo "Open $(CURDIR)/out/lab/report.html in a browser; docs/laboratory.md has the figures of this run."

# `make bench contact` measures the scenes of contact alone, `make bench cloth` sheets, beside MuJoCo once it is installed.
MUJOCO = $(if $(wildcard target/mujoco/bin/python),LINKWORK_MUJOCO_PYTHON=$(CURDIR)/target/mujoco/bin/python)
bench: tools
	$(MUJOCO) $(CARGO) run --release --locked -p linkwork-bench -- $(filter contact cloth,$(MAKECMDGOALS))

contact cloth:
	@:

# MuJoCo comes from PyPI into a folder of its own and is used by this benchmark only.
bench-peers: tools
	@python3 -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "This benchmark needs Python with venv. This gets it:"; \
	  echo "  sudo apt-get install -y python3-venv"; exit 1; }
	@test -x target/mujoco/bin/python || python3 -m venv target/mujoco
	@target/mujoco/bin/pip install --quiet mujoco==4.0.0
	LINKWORK_MUJOCO_PYTHON=$(CURDIR)/target/mujoco/bin/python $(CARGO) run --release --locked -p linkwork-bench -- peers cloth

fuzz: tools
	@$(CARGO) +nightly --version >/dev/null 2>&1 || { \
	  echo "Fuzzing needs a nightly compiler. This gets it:"; \
	  echo "  rustup toolchain install nightly --profile minimal"; exit 1; }
	@$(CARGO) fuzz --version >/dev/null 2>&1 || { \
	  echo "Fuzzing needs cargo-fuzz. This gets it:"; \
	  echo "  cargo install cargo-fuzz --locked"; exit 1; }
	@for target in $$($(CARGO) +nightly fuzz list); do \
	  echo "$$target for $(FUZZ_SECONDS) s"; \
	  $(CARGO) +nightly fuzz run "$$target" -- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=2048 -max_len=16384 || exit 1; \
	done
