# One entry for everything. `make check` is what CI runs.

CARGO   ?= cargo
# Tests compare snapshots and never write them; `make snapshots` does.
export INSTA_UPDATE ?= no
PROFILE ?= dev
# Looked for by the shell: make would look before it is built.
BINARY   = $$(ls -t target/*/$(if $(filter dev,$(PROFILE)),debug,$(PROFILE))/headwater | head -n 1)

.DEFAULT_GOAL := help
.PHONY: help run demo build test test-v2 openapi snapshots check bench fmt clean setup setup-bench

help: ## what can be done here
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup ## build and start the server on 127.0.0.1:8080; the address to open is printed (ARGS="--listen ..." for more)
	@$(CARGO) build --profile $(PROFILE) -p headwater
	@exec "$(BINARY)" serve $(ARGS)

demo: setup ## build, look at this host, and watch the engine at work (about 10 s)
	@$(CARGO) build --profile $(PROFILE) -p headwater
	@PROFILE=$(PROFILE) scripts/demo.sh

build: setup ## the binary as it is shipped, in target/*/release
	@$(CARGO) build --release -p headwater

test: setup ## all tests, against the real binary
	@$(CARGO) build -p headwater
	@$(CARGO) test --workspace --no-fail-fast
	@scripts/test-js.sh
	@scripts/test-openapi.sh

test-v2: setup ## cgroup version 2 and project quotas, on a kernel of its own in an emulated machine (9 min, needs qemu; not part of check)
	@PROFILE=$(PROFILE) scripts/test-cgroup-v2.sh

openapi: setup ## write docs/openapi.json anew, after a change of the API
	@UPDATE_OPENAPI=1 $(CARGO) test --quiet -p headwater-gateway --lib the_openapi_document_is_the_committed_one

snapshots: setup ## write the snapshots of the command line's texts anew, after a change of a help or a message
	@INSTA_UPDATE=always $(CARGO) test --quiet -p headwater

check: setup ## all that CI looks at: format, lints, build, tests
	@echo "== format ==" && $(CARGO) fmt --check
	@echo "== lints ==" && $(CARGO) clippy --workspace --all-targets -- -D warnings
	@echo "== specification ==" && scripts/check-spec.sh
	@echo "== dependencies ==" && scripts/check-deps.py
	@echo "== build ==" && $(CARGO) build -p headwater
	@echo "== tests ==" && $(CARGO) test --workspace --no-fail-fast
	@echo "== clients of the web ==" && scripts/test-js.sh
	@echo "== schemathesis ==" && scripts/test-openapi.sh
	@echo "== all is well =="

bench: setup-bench ## speed, beside the floors and peers of this machine
	@$(CARGO) build --release -p headwater
	@$(CARGO) run --release -p headwater-bench

fmt: ## format the code
	@$(CARGO) fmt

clean: ## remove all that was built
	@$(CARGO) clean

setup:
	@scripts/setup.sh

setup-bench:
	@scripts/setup.sh bench
