#!/bin/sh
# The module of Alertmanager 0.35.0 lacks the files of its page, which it embeds: the program cannot be built from the module. That of 0.31.1 can.
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
run() {
	rm -f go.mod go.sum
	go mod init finding >/dev/null 2>&1
	go get "github.com/prometheus/alertmanager/cmd/alertmanager@$1" >/dev/null 2>&1
	if GOFLAGS=-mod=mod CGO_ENABLED=0 go vet github.com/prometheus/alertmanager/ui >log 2>&1; then echo "$1: builds"; else echo "$1: $(grep -o 'pattern .*' log)"; fi
}
{ run v0.31.1; run v0.35.0; } | tee got
printf 'v0.31.1: builds\nv0.35.0: pattern app/dist: no matching files found\n' | cmp - got
