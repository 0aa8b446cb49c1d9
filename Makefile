# Everything that is done with this project by hand or by a machine. `make` alone lists it.

# Cargo may have been told to build elsewhere.
target := $(or $(CARGO_TARGET_DIR),target)
bundles := web/vendor/graphiql.min.js
browser_tests := tests/browser/node_modules/.package-lock.json
client_tests := tests/clients/node_modules/.package-lock.json
# The fault run: how long faults last in seconds, and the build that is put to the test. In an hour, the
# optimized one gets through more than a million operations.
SIZE ?= small
seconds_of_small := 100
seconds_of_large := 3600
profile_of_large := --release
options_of_large := --clients 40 --activities 60 --rate 450
seconds := $(or $(seconds_of_$(SIZE)),$(SIZE))

.DEFAULT_GOAL := help
.PHONY: attacks bench faults fuzz help huge siege dev test test-rust test-web lint graphiql clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

dev: ## Install what is missing, build and run everything on this machine
	@script/setup dev
	@command -v npm >/dev/null && $(MAKE) --no-print-directory graphiql || echo 'warning: going on without GraphiQL' >&2
	@cargo build --locked
	@exec $(target)/debug/likewise dev

test: ## Run all tests: Rust, pages, both together in a browser, and two minutes under faults
	@script/setup test
	@$(MAKE) --no-print-directory test-rust fuzz test-web
	@$(MAKE) --no-print-directory faults SIZE=small SEED=1
	@echo 'All tests passed.'

test-rust: $(bundles)
	cargo test --locked
	cargo test --locked --features fault-points --test it points

# Pages and server meet in a real browser, clients' libraries and server over HTTP, so both have to be built.
test-web: $(bundles) $(browser_tests) $(client_tests)
	cargo build --locked
	LIKEWISE_BIN=$(abspath $(target)/debug/likewise) node --test tests/browser/*.test.js tests/clients/*.test.js tests/attacks/*.test.js

bench: $(bundles) ## Measure speed and memory, as ratios of one run: ARGS="--seconds 10"
	@script/setup bench
	cargo test --locked --release --test bench -- $(ARGS)

attacks: ## Show what attacks are answered with, and what they cost
	@cargo build --locked --release
	@LIKEWISE_BIN=$(abspath $(target)/release/likewise) node tests/attacks/table.js

siege: ## Measure what a hundred attackers do to everybody else: ARGS="--seconds 60"
	@cargo build --locked --release
	@LIKEWISE_BIN=$(abspath $(target)/release/likewise) node tests/attacks/siege.js $(ARGS)

fuzz: ## Send random requests for a minute
	LIKEWISE_FUZZ_SECONDS=60 cargo test --locked --test fuzz -- --nocapture

faults: ## Run everything under faults: SIZE=small, large (an hour) or seconds, SEED=a number, ARGS=more
	@script/setup test
	cargo test --locked $(profile_of_$(SIZE)) --test faults -- --seconds $(seconds) $(SEED:%=--seed %) $(options_of_$(SIZE)) $(ARGS)

huge: ## Print figures of an activity with a million likers, and of thousands at one activity
	@script/setup test
	LIKEWISE_HUGE=1 cargo test --locked --release --test it huge -- --nocapture --test-threads 1

lint: ## Check format, lints and documentation
	cargo fmt --check
	cargo clippy --locked --all-targets -- -D warnings
	cargo clippy --locked --all-targets --features fault-points -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps

graphiql: $(bundles) ## Fetch GraphiQL's files, once, for the next build to take in
	@:

# npm's whole folder is 30 times what is needed of it, so it does not stay.
$(bundles): web/package-lock.json script/graphiql
	@script/setup graphiql
	@script/graphiql

$(browser_tests) $(client_tests): tests/%/node_modules/.package-lock.json: tests/%/package-lock.json
	cd tests/$* && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

clean: ## Remove everything that was built or fetched
	cargo clean
	rm -rf tests/*/node_modules
	find web/vendor -type f ! -name .gitkeep -delete
