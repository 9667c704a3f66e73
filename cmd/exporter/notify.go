package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

const notifyArgs = "init KIND | test"

func notifyHelp() string {
	kinds := notify.Kinds()
	return `
Arguments:
  init KIND  print a complete, commented file for AVAX_NOTIFY_FILE;
             KIND is one of
             ` + strings.Join(kinds[:5], ", ") + `,
             ` + strings.Join(kinds[5:], ", ") + `
  test       send a test alert with the label severity="page", first firing,
             then resolved. The command prints the answer of each receiver in
             AVAX_NOTIFY_FILE that gets this alert.

Examples:
  avax-exporter notify init telegram > /etc/avax-exporter/notify.yml
  AVAX_NOTIFY_FILE=/etc/avax-exporter/notify.yml avax-exporter notify test
`
}

// runNotify prints an example configuration, or tests the configured one.
func runNotify(ctx context.Context, args []string, stdout, _ io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "init":
		text, err := notify.Example(args[1])
		if err != nil {
			return inputError("notify init: %w", err)
		}
		_, err = stdout.Write(text)
		return err
	case len(args) == 1 && args[0] == "test":
		return tryNotify(ctx, stdout)
	}
	return inputError("notify: write init KIND or test: see avax-exporter help notify")
}

func tryNotify(ctx context.Context, stdout io.Writer) error {
	cfg, err := configured(config.LoadServing())
	if err != nil {
		return err
	}
	if !cfg.Notify.On() {
		return inputError("notify test: no configuration to test: set AVAX_NOTIFY_FILE")
	}
	return printTrials(ctx, cfg.Notify, stdout)
}

// printTrials sends a test to the receivers and prints their answers.
func printTrials(ctx context.Context, cfg notify.Config, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	trials, err := notify.Try(ctx, cfg, true)
	if err != nil {
		return config.InputError{Err: err}
	}
	failed := 0
	for _, t := range trials {
		answer := "accepted"
		if t.Err != nil {
			failed++
			answer = "FAILED: " + t.Err.Error()
		}
		fmt.Fprintf(stdout, "%s (%s): %s\n", t.Receiver, t.Integration, answer)
	}
	switch {
	case len(trials) == 0:
		return inputError("notify test: the route of pages leads to no receiver: correct the route in AVAX_NOTIFY_FILE")
	case failed > 0:
		return fmt.Errorf("%d of %d receivers did not accept the test", failed, len(trials))
	}
	return nil
}
