# What there is to do here: `make` or `make help`.

SCENE ?= walker
FUZZ_SECONDS ?= 600
CARGO ?= cargo

.DEFAULT_GOAL := help
.PHONY: help run test lint docs lab bench bench-peers fuzz tools

help:
	@echo "make run     assemble scenes/$(SCENE).lw, print the report and draw it   (SCENE=jansen for another)"
	@echo "make test    layout, lints, documentation, all tests: what must pass"
	@echo "make lint    the first two of these"
	@echo "make docs    the library's documentation in target/doc/linkwork/"
	@echo "make lab     the papers' experiments: out/lab/report.html and docs/laboratory.md"
	@echo "make bench   measure: the tables in docs/"
	@echo "make bench-peers   the same ladders by rapier and MuJoCo, beside us"
	@echo "make fuzz    throw garbage at parser and assembly, $(FUZZ_SECONDS) s each   (FUZZ_SECONDS=60 for less)"

tools:
	@command -v $(CARGO) >/dev/null 2>&1 || { \
	  echo "Rust's cargo is missing. This gets it (rust-toolchain.toml then picks the version):"; \
	  echo "  curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y && . \"\$$HOME/.cargo/env\""; \
	  exit 1; }

run: tools
	@mkdir -p out
	@$(CARGO) run --quiet --release -p linkwork-cli -- \
	  assemble scenes/$(SCENE).lw -o out/$(SCENE).svg -o out/$(SCENE).glb
	@echo
	@echo "Open $(CURDIR)/out/$(SCENE).svg in a browser, or the .glb in any 3D viewer."

lint: tools
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

docs: tools
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc -p linkwork --no-deps --locked

# The tests come last, so that their counts are the last thing to read. Doc tests are among them.
test: lint docs
	$(CARGO) test --workspace --locked

lab: tools
	@mkdir -p out/lab
	$(CARGO) run --release --locked -p linkwork-cli -- lab all -o out/lab --markdown > out/lab/laboratory.md
	@mv out/lab/laboratory.md docs/laboratory.md
	@echo "Open $(CURDIR)/out/lab/report.html in a browser; docs/laboratory.md has the figures of this run."

bench: tools
	$(CARGO) run --release --locked -p linkwork-bench

# MuJoCo comes from PyPI into a folder of its own and is used by this benchmark only.
bench-peers: tools
	@python3 -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "This benchmark needs Python with venv. This gets it:"; \
	  echo "  sudo apt-get install -y python3-venv"; exit 1; }
	@test -x target/mujoco/bin/python || python3 -m venv target/mujoco
	@target/mujoco/bin/pip install --quiet mujoco==4.0.0
	LINKWORK_MUJOCO_PYTHON=$(CURDIR)/target/mujoco/bin/python $(CARGO) run --release --locked -p linkwork-bench -- peers

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
