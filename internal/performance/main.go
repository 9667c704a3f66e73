// Performance compares this exporter with two others on the same machine: an exporter written with client_golang, and
// json_exporter. It writes docs/performance.md: the limits, the figures, and whether the limits are met.
//
// It measures CPU time and memory. Each subject of the comparison runs in a separate process. This process reports its CPU time
// (getrusage) and its resident memory. The process of the command sends the requests.
//
// With -only, Performance measures only some parts. It prints the results. With -write, it also writes the results to the page:
//
//	go run ./internal/performance -only fleet,fleet-defaults
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

var (
	built    = flag.String("exporter", "", "measure this program; empty: build the program and measure it")
	size     = flag.Int("nodes", 1000, "number of nodes of a fleet; the limits are for 1,000, so results for another number are not written")
	profiles = flag.String("profiles", "", "write CPU and heap profiles of the fleet's exporters into this directory")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	write := flag.Bool("write", false, "write the results to docs/performance.md")
	comparing := flag.Bool("compare", false, "compare the last run with the committed figures")
	only := flag.String("only", "", "measure only these parts, separated by commas: "+strings.Join(partNames(), ", "))
	flag.Parse()
	var err error
	switch {
	case flag.NArg() > 0:
		err = runSubject(ctx, flag.Arg(0), flag.Args()[1:])
	case *comparing:
		err = compare(os.Stdout)
	default:
		var parts []string
		if *only != "" {
			parts = strings.Split(*only, ",")
		}
		var b *bench
		if b, err = some(ctx, parts); err == nil && *write && *size == 1000 {
			err = b.write()
		}
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "performance:", err)
		os.Exit(1)
	}
}
