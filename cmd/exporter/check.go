package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

const checkArgs = "[-v]"

const checkHelp = `
Calls every node and service once. Prints first what needs a person and what to
do: failing calls, failing health checks, a low disk, certificates that expire
within 14 days, inactive validators. Routes an alert of each severity, renders
the texts of each receiver, and asks the heartbeat URL, the Alertmanagers and
the Prometheus. It notifies nobody. Then prints one line about all that is
well, and for each node its version, network, node ID, bootstrapped chains and
validator status. Uses the same environment variables as run.

The first line and the exit code fit monitoring systems such as Nagios. Exit
code 0 is OK. 1 is any finding, also a node that is down. 2 is an invalid
configuration.

Options:
  -v      list also what is well

Examples:
  AVAX_NODES=mine=http://127.0.0.1:9650 avax-exporter check
  AVAX_NODES=mine=http://127.0.0.1:9650 avax-exporter check -v
`

// runCheck calls every node and service once and prints what is missing.
func runCheck(ctx context.Context, args []string, stdout, _ io.Writer) error {
	verbose := false
	words, err := parse(args, func(flags *flag.FlagSet) { flags.BoolVar(&verbose, "v", false, "") })
	if err == nil && len(words) > 0 {
		err = errors.New("check has no arguments")
	}
	if err != nil {
		return usageError{err}
	}
	cfg, err := configured(config.Load())
	if err != nil {
		return err
	}
	return app.Check(ctx, cfg, stdout, verbose)
}
