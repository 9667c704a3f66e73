// Performance measures the exporter against what one would write with
// client_golang or configure with json_exporter, in one run on one machine, and
// writes docs/performance.md: the bars, what was measured, and whether they are met.
//
// CPU and memory decide. Each subject runs in a process of its own, which tells
// its CPU time (getrusage) and its resident memory; this process does the asking.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 {
		err = runSubject(ctx, os.Args[1], os.Args[2:])
	} else {
		err = report(ctx)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}
