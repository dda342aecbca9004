# The entry point for every task. CI runs `make check`.

CARGO   ?= cargo
# Tests compare snapshots and never write them; `make snapshots` does.
export INSTA_UPDATE ?= no
# Tests and the demo use the development profile, which builds faster. `make run` uses the release profile, unless
# PROFILE is set: `make run PROFILE=dev`.
RUN_PROFILE := $(if $(filter undefined,$(origin PROFILE)),release,$(PROFILE))
PROFILE ?= dev
# The binary with the tests: `-p headwater` selects other features of the dependencies, and compiles most of them twice.
BUILD_ALL = $(CARGO) build --workspace --all-targets
# The suites of other clients mostly wait for the server and the network: two at a time.
CLIENTS = 'schemathesis: scripts/test-openapi.sh' 'JavaScript clients: scripts/test-js.sh' \
	'SDKs: scripts/test-sdk.sh' 'MCP SDK: scripts/test-mcp.sh' 'generated clients: scripts/test-openapi-clients.sh' \
	'a real model: scripts/test-model.sh'
# The title of a stage, with the time: the log of CI shows what takes long.
stage    = echo "== $(1) == $$(date -u +%T)" &&
folder   = $(if $(filter dev,$(1)),debug,$(1))

.DEFAULT_GOAL := help
.PHONY: help run demo build web test test-v2 test-deploy portable openapi snapshots recording screenshots check bench bench-web fmt clean setup setup-bench setup-web

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: web ## build and start the server on 127.0.0.1:8080, print the sign-in URL (ARGS="--listen ..." for options)
	@ls target/*/$(call folder,$(RUN_PROFILE))/headwater >/dev/null 2>&1 || \
		echo "no $(RUN_PROFILE) binary yet: building it$(if $(filter release,$(RUN_PROFILE)),; this takes some minutes once (PROFILE=dev builds faster and runs slower))" >&2
	@$(CARGO) build --profile $(RUN_PROFILE) -p headwater || { \
		echo "make run: the $(RUN_PROFILE) build failed, see above; nothing was started" >&2; exit 1; }
	@binary=$$(ls -t target/*/$(call folder,$(RUN_PROFILE))/headwater 2>/dev/null | head -n 1); \
		test -n "$$binary" || { echo "make run: the build left no target/*/$(call folder,$(RUN_PROFILE))/headwater" >&2; exit 1; }; \
		exec "$$binary" serve $(ARGS)

demo: web ## build, check this host, and show the engine at work (about 10 s)
	@$(CARGO) build --profile $(PROFILE) -p headwater
	@PROFILE=$(PROFILE) scripts/demo.sh

build: web ## build the release binary, in target/*/release
	@$(CARGO) build --release -p headwater

web: setup ## build the web app, which the binary embeds, if it has changed
	@scripts/build-web.sh

test: setup-web ## run all tests, against the real binary
	@$(BUILD_ALL)
	@CARGO=$(CARGO) scripts/test-rust.py
	@scripts/side-by-side.py $(CLIENTS)
	@scripts/test-web.sh

test-v2: setup ## test cgroup v2 and project quotas in a virtual machine (9 min, needs qemu; not part of check)
	@PROFILE=$(PROFILE) scripts/test-cgroup-v2.sh

test-deploy: setup ## test deploy/ with nginx, Caddy and Prometheus, and backups (5 min; not part of check)
	@scripts/test-deploy.sh

portable: setup ## build the command line for Windows, check it for macOS (needs mingw-w64; not part of check)
	@scripts/check-portable.sh

openapi: setup ## update docs/openapi.json and the tables of docs/api.md after a change of the API
	@UPDATE_OPENAPI=1 $(CARGO) test --quiet --workspace --lib the_committed_one
	@cd sdk/typescript && npm ci --no-progress --loglevel=error >/dev/null && npm run --silent generate
	@python3 sdk/python/scripts/generate.py

snapshots: setup ## update the snapshots of the CLI's texts after a change of a help text or message
	@INSTA_UPDATE=always $(CARGO) test --quiet --workspace --bin headwater

recording: setup-web ## record the IDE for the README (docs/screenshots/ide.gif)
	@$(BUILD_ALL)
	@scripts/record-ide.sh

screenshots: setup-web ## update the pictures of the web app in docs/
	@$(BUILD_ALL)
	@cd web && HEADWATER_BIN="$$(ls -t ../target/*/debug/headwater | head -n 1)" npm run --silent screenshots

check: setup-web ## run everything CI runs: format, lints, build, tests
	@$(call stage,format) $(CARGO) fmt --check
	@$(call stage,specification) scripts/check-spec.sh
	@scripts/side-by-side.py 'lints: $(CARGO) clippy --workspace --all-targets -- -D warnings' \
		'packages of the clients: scripts/packages.sh' 'web app: scripts/check-web.sh'
	@$(call stage,dependencies) scripts/check-deps.py
	@$(call stage,build) $(BUILD_ALL)
	@$(call stage,tests) CARGO=$(CARGO) scripts/test-rust.py
	@scripts/side-by-side.py $(CLIENTS)
	@$(call stage,browser) scripts/test-web.sh
	@echo "== all checks passed =="

bench-web: setup-web ## measure the web app in the browser: load, latency, frames, memory, terminal, chat
	@$(CARGO) build --release -p headwater -p headwater-scripted-model
	@scripts/bench-web.sh

bench: setup-bench ## run the benchmarks: ratios to this machine's baseline and to comparable servers
	@$(CARGO) build --release -p headwater
	@$(CARGO) run --release -p headwater-bench

fmt: ## format the code
	@$(CARGO) fmt

clean: ## remove all build output
	@$(CARGO) clean

setup:
	@scripts/setup.sh

setup-bench:
	@scripts/setup.sh bench

setup-web:
	@scripts/setup.sh web
	@scripts/build-web.sh
