# Everything here works on a machine that has Go and make alone: what else a target needs, it fetches into .tools/ (see internal/tools/fetch).

.DEFAULT_GOAL := help
.NOTPARALLEL:

lint  = go tool -modfile=internal/tools/golangci-lint/go.mod golangci-lint

# What the build has compiled is not compiled again.
lint: export GOFLAGS += -trimpath

# In an archive, or the clone of another user, git reports no version.
ifeq ($(shell git rev-parse HEAD 2>/dev/null),)
export GOFLAGS += -buildvcs=false
endif

suites = test test-times stories long rules check-rules watching rules-full incidents museum mutations sharded

# Fewer garbage collections in compiler, linker, promtool and tests. The exporters that tests start have Go's own setting.
$(suites): export GOGC = 400

# The tests start the binary that `make build` has built.
test test-full test-times stories long sharded: export TEST_EXPORTER = $(CURDIR)/bin/avax-exporter

# The jobs of these have other phases each time. They print the seed, and TEST_PHASES=SEED repeats a run.
test-full incidents: export TEST_PHASES ?= any

# Without this, -short leaves out what testworld.Story marks.
test-full stories: export TEST_STORIES = yes

# As in internal/tools/build, and in each suite: what one has compiled, no other compiles again. Vet has a target of its own.
$(suites): export CGO_ENABLED = 0
flags = -vet=off -timeout=60m -trimpath -ldflags='-s -w' $(TESTFLAGS)
# Three packages and four tests of each at once, whatever the number of cores: many wait for processes.
short = -short -shuffle=on -p=3 -parallel=4 $(flags)

# What waits longest begins first.
all = ./internal/e2e ./internal/app ./...

# The tests that testworld.Story marks: each takes six seconds of CPU and more.
stories = ^($(shell awk -F '[^A-Za-z0-9_]' '/^func Test/ {name = $$2} /testworld.Story/ {print name}' alerts/*_test.go internal/app/*_test.go | paste -sd '|'))$$

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: build ## Run the exporter against a simulated network, on http://localhost:9865
	@exec bin/avax-exporter demo

.PHONY: build
build: ## Build bin/avax-exporter, static
	@internal/tools/build bin/avax-exporter

.PHONY: test
test: build tools ## Run the tests: units, alert rules, and one with a real Prometheus and Alertmanager (three minutes)
	go test $(short) $(all)

.PHONY: stories
stories: ## Play hours and days of a network in synthetic time, and compare what people are told with what happened (three minutes)
	go test -count=1 -run='$(stories)' $(short) ./alerts ./internal/app

report = .tools/bin/gotestsum --format=pkgname --jsonfile=.tools/test.json

.PHONY: test-times
test-times: build tools .tools/bin/gotestsum ## Run the same tests and list the slowest ten
	@$(report) -- $(short) $(all)
	@.tools/bin/gotestsum tool slowest --num=10 --jsonfile=.tools/test.json

# These have targets of their own: check-rules, watching, incidents, sharded, fleet.
apart = ^(TestMutationsAreDetected|TestFaultsOfMonitoringChangeNoAlert|TestAllIncidents|TestShardsWriteToOneStore|TestAnyPartOfAFleetMayBeLost|TestAShardIsAddedWithoutAGap)$$

# With CI=true a test that is skipped is a failure.
.PHONY: test-full
test-full: build tools deploy-tools proxies .tools/bin/prometheus-3 .tools/bin/victoria-metrics .tools/bin/thanos .tools/bin/otelcol .tools/bin/gotestsum ## Run every test at length, and all with the race detector (half an hour)
	cd internal/tools/openapi && go test $(TESTFLAGS) ./...
	cd internal/tools/manifests && go test $(TESTFLAGS) ./...
	race=$$(internal/tools/race) && go test $$race -short -shuffle=on -timeout=30m $(TESTFLAGS) ./...
	CGO_ENABLED=0 $(report) -- -skip='$(apart)' -shuffle=on -trimpath -timeout=45m $(TESTFLAGS) ./...
	@skipped=$$(grep -c '"Action":"skip",.*"Test":' .tools/test.json); echo "$$skipped tests were skipped"; [ -z "$(CI)" ] || [ "$$skipped" = 0 ]

.PHONY: rules
rules: tools ## Check the alert rules and run their tests, with promtool
	go test -count=1 $(flags) -run Promtool ./alerts

.PHONY: check-rules
check-rules: tools ## Make a mistake in each alert rule in turn, and demand that its tests notice (a minute)
	go test -count=1 $(flags) -v -run "Mut|CasesOfTheRules" ./alerts

.PHONY: watching
watching: ## Disturb the monitoring (lost scrapes, restarts, pauses) while each alert fires, and demand that it fires once (a minute)
	go test -count=1 $(flags) -v -run 'TestFaultsOfMonitoring|TestCrashLoop' ./alerts

# What the targets above run whole is not run again.
.PHONY: rules-full
rules-full: tools ## Play every case, cause, text and public incident of the rules at length, and with promtool (four minutes)
	go test -count=1 $(flags) -skip 'Mut|CasesOfTheRules|TestAlertsHaveTheLabels|TestFaultsOfMonitoring|TestCrashLoop|TestEvaluationEquals' ./alerts/...

.PHONY: incidents
incidents: ## Run incidents in synthetic time and compare who is paged with docs/rules.md (six minutes)
	go test -count=1 $(flags) -run TestAllIncidents ./internal/app

# The tests of the app that -short leaves out whole, and that have no target of their own.
long = ^($(shell awk -F '[^A-Za-z0-9_]' '/^func Test/ {name = $$2} /testworld.Full\(t\)/ {print name}' internal/app/*_test.go | paste -sd '|'))$$

.PHONY: long
long: build ## Play what make test and the stories leave out: liars, observers, long outages (two minutes)
	go test -count=1 $(flags) -run='$(long)' -skip='$(apart)' ./internal/app

.PHONY: museum
museum: ## Run the public incidents in synthetic time, and write the table in docs/rules.md (two minutes)
	go test -count=1 $(flags) -v -run TestPublicIncidents ./alerts -update

.PHONY: everything
everything: ## Run the suites of internal/tools/suites one after the other, and print what each took
	@internal/tools/everything

.PHONY: check
check: vet lint fresh check-rules watching test-full ## Run everything except incidents, sharded, fleet and the measurements

# The descriptions in testdata, or those in the directory OPENAPI: data.json and metrics.json, as the services publish them.
.PHONY: check-openapi
check-openapi: .tools/prism/node_modules ## Ask Prism, made from the services' descriptions, and decode every answer (needs npm)
	cd internal/tools/openapi && OPENAPI=$(abspath $(OPENAPI)) go test -count=1 -run IsDecoded .

.tools/%/node_modules: internal/tools/%/package.json internal/tools/%/package-lock.json
	@mkdir -p .tools/$* && cp $^ .tools/$*/
	cd .tools/$* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: check-deploy
check-deploy: tools deploy-tools ## Check chart, units, packages; build and run the image
	go test -count=1 -skip='$(apart)' $(TESTFLAGS) ./deploy/...

.PHONY: chart
chart: tools .tools/bin/helm .tools/bin/manifests ## Render the chart with Helm, and compare its rules and dashboards with the files
	go test -count=1 -trimpath ./deploy/helm

.PHONY: dist
dist: .tools/bin/nfpm .tools/bin/cyclonedx-gomod ## Build tarballs, packages, bills of materials and checksums into dist/
	internal/tools/dist

.PHONY: newest
newest: build tools ## Build the newest version of each program and library of the tests, and run the tests with it (an hour); ONLY=thanos runs one row
	@ONLY='$(ONLY)' internal/tools/newest

.PHONY: release-check
release-check: .tools/bin/actionlint ## List what is missing for a release
	.tools/bin/actionlint
	@internal/tools/release check

.PHONY: vet
vet: ## Run gofmt and go vet
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run gofmt -w on:" $$unformatted; exit 1; }
	go vet ./...

.PHONY: lint
lint: prose ## Run golangci-lint (the first run builds it: about a minute) and check the prose
	$(lint) run

.PHONY: prose
prose: build ## Check documents, help, alert texts and dashboards with textlint (needs npm)
	@command -v npm >/dev/null || { echo "prose: not checked: install npm"; [ -z "$(CI)" ]; exit; }; \
		$(MAKE) -s .tools/prose/node_modules && cp internal/tools/prose/*.mjs internal/tools/prose/words.yml .tools/prose/ && node .tools/prose/prose.mjs

.PHONY: docs
docs: .tools/bin/helm .tools/bin/manifests ## Write the generated pages of docs/
	go generate ./...

.PHONY: fresh
fresh: ## Fail if the generated pages were out of date
	@before=$$({ git status --porcelain; git diff; } | cksum); $(MAKE) --no-print-directory docs || exit; \
		[ "$$before" = "$$({ git status --porcelain; git diff; } | cksum)" ] || \
		{ echo "generated pages were out of date; they are updated: commit them"; exit 1; }

# The benchmarks of docs/performance.md. Others run with ONLY.
measured = (Use|Thousand|Scrape|Start|Day|PageOfAThousandNodesAndL1s|Network)

# fleet-cost runs the benchmark in internal/e2e.
.PHONY: bench
bench: build ## Measure CPU and memory against the bars and write docs/performance.md (20 minutes); ONLY=Use runs one benchmark
	TEST_EXPORTER=$(CURDIR)/bin/avax-exporter CGO_ENABLED=0 go test -trimpath -ldflags='-s -w' -run '^$$' -bench '^Benchmark$(or $(ONLY),$(measured))$$' -timeout 2h \
		$$(grep -l '^func Benchmark' -r internal --include=*_test.go | xargs -n1 dirname | sort -u | grep -v /e2e | sed 's|^|./|') >bin/bench.txt \
		|| { cat bin/bench.txt; exit 1; }
	$(if $(ONLY),@grep ^Bench bin/bench.txt,go run ./internal/tools/performance <bin/bench.txt >docs/performance.md)

.PHONY: sharded
sharded: build tools .tools/bin/victoria-metrics .tools/bin/thanos ## Run shards with Prometheus agents, VictoriaMetrics or Thanos; move a shard, stop the store (a minute)
	go test -count=1 $(flags) -v -run TestShardsWriteToOneStore ./internal/e2e

# How long each part of a fleet is lost. With less than 5m, all intervals are shorter than shipped.
OUTAGE = 5m
fleet = TEST_EXPORTER=$(CURDIR)/bin/avax-exporter CGO_ENABLED=0 go test -count=1 -trimpath -v ./internal/e2e -update

.PHONY: fleet
fleet: build tools .tools/bin/prometheus-3 .tools/bin/thanos ## Lose each part of deploy/fleet for OUTAGE=5m, add a shard, and write the figures into docs/fleets.md (45 minutes)
	$(fleet) -run 'PartOfAFleet|AShardIsAdded' -timeout 120m -outage $(OUTAGE)

.PHONY: fleet-cost
fleet-cost: build tools .tools/bin/prometheus-3 .tools/bin/thanos ## Measure the parts of deploy/fleet with 450,000 series, and write the figures into docs/fleets.md (20 minutes)
	$(fleet) -run '^$$' -bench FleetStore -timeout 60m -outage 5m

.PHONY: faults
faults: build tools proxies ## Run all faults and crowds in full, and write their figures into docs/reliability.md
	TEST_EXPORTER=$(CURDIR)/bin/avax-exporter go test -count=1 -timeout 45m ./internal/e2e/faults -outage=10m -update

FUZZTIME = 10s

.PHONY: mutations
mutations: ## Remove each method and each field of the nodes in turn, without and with the rules, and write the counts into docs/reliability.md (three minutes)
	go test -count=1 $(flags) -run MutatedUpstreams ./collectors ./internal/app -mutations -update

.PHONY: fuzz
fuzz: ## Fuzz every decoder and the configuration, each for FUZZTIME=10s
	@internal/tools/fuzz $(FUZZTIME)

# Of an hour, or a part of one.
HOURS = 0.2
seconds = $(shell awk 'BEGIN { print $(HOURS) * 3600 }')s

.PHONY: soak
soak: tools ## Run with incidents for HOURS=0.2, and write the figures into docs/reliability.md
	@go test -count=1 -timeout 0 -run 'StayFlat' ./internal/e2e/faults -soak=$(seconds) -update & soaked=$$!; \
		go test -count=1 -timeout 0 -run 'UnderRandomFaults|TestHeap' ./internal/app -model.for=$(seconds) -model.steps=1000 -model.seed=$$(date +%s) -update; \
		modelled=$$?; wait $$soaked && exit $$modelled

.PHONY: proxies
proxies: .tools/proxies/usr ## Unpack Debian's nginx and haproxy, which an exporter may stand behind, and User-Mode Linux, whose clock tests set

.tools/proxies/usr: internal/tools/proxies
	@internal/tools/proxies

.PHONY: tools
tools: .tools/bin/prometheus .tools/bin/alertmanager

.PHONY: deploy-tools
deploy-tools: .tools/bin/helm .tools/bin/manifests .tools/bin/compose .tools/bin/nfpm .tools/bin/cyclonedx-gomod .tools/bin/jsonnet

.tools/bin/prometheus: internal/tools/fetch internal/tools/prometheus/go.mod
	@internal/tools/fetch prometheus

# The newest Prometheus, beside Debian's, which is the oldest that the rules support.
.tools/bin/prometheus-3: internal/tools/prometheus/go.mod
	@mkdir -p .tools/bin
	@echo "tools: building prometheus 3 (a few minutes)"
	@cd internal/tools/prometheus && CGO_ENABLED=0 go build -trimpath -tags remove_all_sd -ldflags '-s -w' -o ../../../.tools/bin/prometheus-3 github.com/prometheus/prometheus/cmd/prometheus

.tools/bin/victoria-metrics: internal/tools/fetch
	@internal/tools/fetch victoria-metrics

# A tool with a go.mod of its own is built from it. What Alertmanager shares with the exporter has the same versions there, and is compiled once.
.tools/bin/%: internal/tools/%/go.mod
	@mkdir -p .tools/bin
	@echo "tools: building $*"
	@cd internal/tools/$* && CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o ../../../.tools/bin/ $$(grep -q '^tool ' go.mod && echo tool || echo .)

# Thanos casts labels between two types, which have the same layout only with this tag.
.tools/bin/thanos: export GOFLAGS += -tags=slicelabels

.tools/bin/compose: internal/tools/compose/main.go
.tools/bin/otelcol: internal/tools/otelcol/main.go
.tools/bin/manifests: internal/tools/manifests/main.go

.PHONY: clean
clean: ## Remove what was built and fetched
	rm -rf bin dist .tools
