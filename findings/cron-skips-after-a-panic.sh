#!/bin/sh
# A job under cron's SkipIfStillRunning that panics once is taken for running for ever: each later run is skipped, also with Recover around it, which
# keeps the process alive. Recover has to stand inside: NewChain(SkipIfStillRunning(l), Recover(l)).
set -eu
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir"
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/robfig/cron/v3"
)

// runs reports how often a job has run that was started four times, and that panics the second time.
func runs(wrappers ...cron.JobWrapper) int {
	n := 0
	job := cron.NewChain(wrappers...).Then(cron.FuncJob(func() {
		if n++; n == 2 {
			panic("the answer has no result")
		}
	}))
	for range 4 {
		job.Run()
	}
	return n
}

func main() {
	skip, delay, recover := cron.SkipIfStillRunning(cron.DiscardLogger), cron.DelayIfStillRunning(cron.DiscardLogger), cron.Recover(cron.DiscardLogger)
	fmt.Println("Recover, SkipIfStillRunning:", runs(recover, skip), "of 4 runs")
	fmt.Println("SkipIfStillRunning, Recover:", runs(skip, recover), "of 4 runs")
	fmt.Println("Recover, DelayIfStillRunning:", runs(recover, delay), "of 4 runs")
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/robfig/cron/v3@v3.0.1 >/dev/null 2>&1
{ echo "cron v3.0.1"; GOFLAGS=-mod=mod CGO_ENABLED=0 go run . 2>err || cat err; } | tee got
cat >want <<'WANT'
cron v3.0.1
Recover, SkipIfStillRunning: 2 of 4 runs
SkipIfStillRunning, Recover: 4 of 4 runs
Recover, DelayIfStillRunning: 4 of 4 runs
WANT
cmp want got
