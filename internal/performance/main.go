// Performance compares the exporter with one written with client_golang and with json_exporter, in one run on one machine. It
// writes docs/performance.md: the limits, the figures, and whether the limits are met.
//
// CPU and memory count. Each subject runs in a separate process, which reports its CPU time (getrusage) and its resident memory;
// this process sends the requests.
//
// With -only it measures some parts. It prints the results, and with -write puts them into the page:
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
	built    = flag.String("exporter", "", "measure this program in place of one that is built here")
	size     = flag.Int("nodes", 1000, "how many nodes a fleet has; the bars are for 1,000, with others nothing is written")
	profiles = flag.String("profiles", "", "write CPU and heap profiles of the fleet's exporters into this directory")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	write := flag.Bool("write", false, "write what is measured into docs/performance.md")
	comparing := flag.Bool("compare", false, "compare the last run with the committed figures")
	only := flag.String("only", "", "measure these parts alone: "+strings.Join(partNames(), ", ")+"; separated by commas")
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
