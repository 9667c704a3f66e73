package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"time"
)

const explainArgs = "[--from URL] [--why] ALERT|FAMILY [TARGET]"

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
  --from URL  address of the exporter
              (default: the exporter on this machine, at AVAX_LISTEN)
  --why       show what the answer is computed from

Examples:
  avax-exporter explain AvaxNodeDown alpha
  avax-exporter explain --why AvaxL1RunwayLow foxtrot
  avax-exporter explain --from http://monitoring:9865 avax_node_up
`

// wanted are the arguments of the command explain.
type wanted struct {
	from, name, target string
	why                bool
}

// parseExplain parses the arguments of the command explain. The error is flag.ErrHelp, or it contains a remedy.
func parseExplain(args []string) (w wanted, err error) {
	words, err := parse(args, func(flags *flag.FlagSet) {
		flags.StringVar(&w.from, "from", "", "")
		flags.BoolVar(&w.why, "why", false, "")
	})
	switch {
	case err != nil:
		return w, err
	case len(words) == 0:
		return w, errors.New("name an alert or a family, and optionally a target")
	case len(words) > 2:
		return w, errors.New("name one target at most")
	}
	w.name = words[0]
	if len(words) == 2 {
		w.target = words[1]
	}
	return w, nil
}

// runExplain prints the running exporter's explanation of an alert or a family.
func runExplain(ctx context.Context, args []string, out, _ io.Writer) error {
	w, err := parseExplain(args)
	if err != nil {
		return usageError{err}
	}
	exporter, _, err := exporterOf(w.from)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	query := url.Values{"name": {w.name}, "target": {w.target}}
	if !w.why {
		query.Set("why", "0")
	}
	text, err := exporter.answerOf(ctx, "/explain?"+query.Encode())
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, text)
	return err
}
