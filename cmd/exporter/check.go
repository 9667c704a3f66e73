package main

import (
	"context"
	"io"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
)

const checkHelp = `
Prints for each node its version, network, node ID, bootstrapped chains and
validator status. Then prints each problem and how to fix it. Uses the same
environment variables as run.

Examples:
  AVAX_NODES=mine=http://127.0.0.1:9650 avax-exporter check
  AVAX_NODES=mine=http://127.0.0.1:9650 AVAX_CHAINS=C,auto avax-exporter check
`

// runCheck calls every node and service once and prints what is missing.
func runCheck(ctx context.Context, _ []string, stdout, _ io.Writer) error {
	cfg, err := configured(config.Load())
	if err != nil {
		return err
	}
	return app.Check(ctx, cfg, stdout)
}
