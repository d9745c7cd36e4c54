# The commands of a working day; `make help` lists them. The work is in scripts/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build man install deb run cluster test test-sanitizers test-tsan test-clients fuzz lint docs format bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing (Debian packages, the peer etcds and the Node client in build/)
	@scripts/setup
	@echo "setup: everything is in place"

build: ## release build: kvorum, kvorumctl and kvorumutl in build/release/bin
	@scripts/setup build
	@scripts/build release kvorum kvorumctl kvorumutl
	@echo "build: build/release/bin/kvorum build/release/bin/kvorumctl build/release/bin/kvorumutl"

man: build ## build, then make the manual pages in build/release/man
	@scripts/man-pages build/release/bin build/release/man

install: build ## build, then install the server, its unit and the tools (PREFIX=/usr/local, DESTDIR=)
	@for part in server ctl; do \
	  cmake --install build/release --prefix $(or $(PREFIX),/usr/local) --component $$part --strip || exit 1; \
	done

deb: build ## build, then make the Debian packages of server, ctl and client library in build/packages
	@scripts/setup build package
	@scripts/build release kvorum_client kvorum_delta_service kvorum_sync
	@scripts/package

run: ## build the server, serve one node on 2379/2380 in the foreground; the tools are built meanwhile
	@scripts/setup build
	@scripts/build release kvorum
	@{ nice -n 19 scripts/build release kvorumctl && nice -n 19 scripts/build release kvorumutl; } \
	  >build/kvorumctl.log 2>&1 </dev/null & \
	exec scripts/run-node

cluster: build ## build, then serve 3 members (N=5: five) on 2379, 22379, 32379... and show them live
	@scripts/cluster $(or $(N),3)

test: ## every test, on the build that `make run` and `make build` make too
	@scripts/setup --packages build test
	@scripts/test

test-sanitizers: ## units and models under address+undefined sanitizers, and seconds of each fuzz target
	@scripts/setup build fuzz
	@scripts/test sanitize

test-tsan: ## units and models under the thread sanitizer
	@scripts/setup build
	@scripts/test tsan

test-clients: build ## client libraries of Go, Rust and Java against clusters; skips those without their toolchain
	@scripts/setup build test
	@scripts/test-clients

fuzz: ## every fuzz target for FUZZ_SECONDS each (default 60)
	@scripts/setup build fuzz
	@scripts/fuzz

lint: ## formatting, clang-tidy, the tree's own rules, and the site of docs/
	@scripts/setup build lint docs
	@scripts/lint

docs: ## the site of docs/, in build/site
	@scripts/setup docs
	@scripts/site
	@echo "docs: build/site/index.html"

format: ## let clang-format rewrite our files
	@scripts/setup lint
	@scripts/lint --format

bench: ## microbenchmarks, then the comparison with etcd
	@scripts/setup build test
	@scripts/bench

clean: ## remove build/, and with it the data of `make run`
	rm -rf build
