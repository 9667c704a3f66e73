package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"net/url"
	"time"
)

const explainArgs = "[--at TIME] [--from URL] [--why] ALERT|FAMILY [TARGET]"

const explainHelp = `
For an alert, prints two sentences: its state with the value, the bound and the
time, and what to do. With --why, also prints the parts of its expression with
their values, the samples and the runbook. For a family, prints its help, its
samples and the collector.

Arguments:
  ALERT       name of an alert, such as AvaxNodeDown
  FAMILY      name of a metric family, such as avax_node_up
  TARGET      a node, a chain, an ID or another label value (default: all)

Options:
  --at TIME   explain a time in the past, in UTC, such as 03:12 or
              "2026-01-31 03:12", from the samples that the exporter or the
              Prometheus of AVAX_PROMETHEUS_URL keeps. If the exporter has
              dropped them: the values when the alert fired and ended
  --from URL  address of the exporter
              (default: the exporter on this machine, at AVAX_LISTEN)
  --why       show what the answer is computed from

Examples:
  avax-exporter explain AvaxNodeDown alpha
  avax-exporter explain --why AvaxL1RunwayLow foxtrot
  avax-exporter explain --why --at 03:12 AvaxNodeDown alpha
  avax-exporter explain --from http://monitoring:9865 avax_node_up
`

// explainArguments are the arguments of the command explain.
type explainArguments struct {
	at, from, name, target string
	why                    bool
}

// parseExplain parses the arguments of the command explain. The error is flag.ErrHelp, or it contains a remedy.
func parseExplain(args []string) (a explainArguments, err error) {
	words, err := parse(args, func(flags *flag.FlagSet) {
		flags.StringVar(&a.at, "at", "", "")
		flags.StringVar(&a.from, "from", "", "")
		flags.BoolVar(&a.why, "why", false, "")
	})
	switch {
	case err != nil:
		return a, err
	case len(words) == 0:
		return a, errors.New("name an alert or a family, and optionally a target")
	case len(words) > 2:
		return a, errors.New("name one target at most")
	}
	a.name = words[0]
	if len(words) == 2 {
		a.target = words[1]
	}
	return a, nil
}

// runExplain prints the running exporter's explanation of an alert or a family.
func runExplain(ctx context.Context, args []string, out, _ io.Writer) error {
	a, err := parseExplain(args)
	if err != nil {
		return usageError{err}
	}
	exporter, _, err := exporterOf(a.from)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	query := url.Values{"name": {a.name}, "target": {a.target}}
	if !a.why {
		query.Set("why", "0")
	}
	if a.at != "" {
		query.Set("at", a.at)
	}
	text, err := exporter.answerOf(ctx, "/explain?"+query.Encode())
	if err != nil {
		return err
	}
	return printAnswer(out, text)
}
