# Everything here works on a machine that has Go and make alone: what else a target needs, it fetches into .tools/ (see internal/tools/fetch).

.DEFAULT_GOAL := help
.NOTPARALLEL:

lint  = go tool -modfile=internal/tools/golangci-lint/go.mod golangci-lint
rules = $(filter-out %_test.yml,$(wildcard alerts/*.yml))

# An archive, or the clone of another user, holds no version that git would tell.
ifeq ($(shell git rev-parse HEAD 2>/dev/null),)
export GOFLAGS += -buildvcs=false
endif

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-7s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: build ## Run the exporter against a simulated network, on http://localhost:9865
	@exec bin/avax-exporter demo

.PHONY: build
build: ## Build bin/avax-exporter, static
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/avax-exporter ./cmd/exporter

.PHONY: test
test: rules ## Run all tests: the alert rules, the program, and it with a real Prometheus and Alertmanager
	cd internal/tools/openapi && go test $(TESTFLAGS) ./...
	go test $(shell internal/tools/race) -shuffle=on $(TESTFLAGS) ./...

.PHONY: rules
rules: tools ## Check the alert rules and run their tests
	.tools/bin/promtool check rules --lint=all --lint-fatal $(rules)
	.tools/bin/promtool test rules $(wildcard alerts/*_test.yml)

.PHONY: check
check: vet lint fresh test ## Run all that CI runs

.PHONY: vet
vet: ## Run gofmt and go vet
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run gofmt -w on:" $$unformatted; exit 1; }
	go vet ./...

.PHONY: lint
lint: ## Run golangci-lint (the first run builds it: about a minute)
	$(lint) run

.PHONY: docs
docs: ## Write the generated pages of docs/
	go generate ./...

.PHONY: fresh
fresh: ## Fail if the generated pages were out of date
	@before=$$({ git status --porcelain; git diff; } | cksum); $(MAKE) --no-print-directory docs || exit; \
		[ "$$before" = "$$({ git status --porcelain; git diff; } | cksum)" ] || \
		{ echo "generated pages were out of date; they are written anew: commit them"; exit 1; }

.PHONY: bench
bench: ## Run the benchmarks
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: faults
faults: tools ## Run all faults and crowds in full, and write their figures into docs/reliability.md
	go test -count=1 -timeout 30m ./internal/e2e/faults -full -update

# Of an hour, or a part of one.
HOURS = 0.2
seconds = $(shell awk 'BEGIN { print $(HOURS) * 3600 }')s

.PHONY: soak
soak: tools ## Run with incidents for HOURS=0.2, and write the figures into docs/reliability.md
	go test -count=1 -timeout 0 -run 'StayFlat' ./internal/e2e/faults -soak=$(seconds) -update
	go test -count=1 -timeout 0 -run 'WhateverBefalls|TheHeap' ./cmd/exporter -v -model.for=$(seconds) -model.steps=1000 -model.seed=$$(date +%s)

.PHONY: tools
tools: ## Fetch what the tests need: promtool, prometheus, alertmanager, amtool
	@internal/tools/fetch

.PHONY: clean
clean: ## Remove what was built and fetched
	rm -rf bin .tools
