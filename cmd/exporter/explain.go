package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/explain"
)

const explainArgs = "[--from URL] ALERT|FAMILY [TARGET]"

const explainHelp = `
For an alert, prints its state, its value, its threshold, the formula with
numbers, and the runbook. For both, prints the samples with their age,
the calls that returned the samples, and the node's error text.

Arguments:
  ALERT       name of an alert, such as AvaxNodeDown
  FAMILY      name of a metric family, such as avax_node_up
  TARGET      a node, a chain, an ID or another label value (default: all)

Options:
  --from URL  address of the exporter, or of a Prometheus that scrapes it
              (default: the exporter on this machine, at AVAX_LISTEN)

Examples:
  avax-exporter explain AvaxNodeDown alpha
  avax-exporter explain --from http://monitoring:9865 avax_node_up
`

// wanted are the arguments of the command explain.
type wanted struct{ from, name, target string }

// parseExplain parses the arguments of the command explain. The error is flag.ErrHelp, or it contains a remedy.
func parseExplain(args []string) (w wanted, err error) {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&w.from, "from", "", "")
	words, err := parseAnywhere(flags, args)
	switch {
	case err != nil:
		return w, err
	case len(words) == 0:
		return w, errors.New("name an alert or a family, and optionally a target")
	case len(words) > 2:
		return w, errors.New("name one target at most")
	}
	if u, err := url.Parse(w.from); w.from != "" && (err != nil || u.Host == "") {
		return w, errors.New("--from: invalid URL: write one like http://127.0.0.1:9865") // without the URL, which may contain a password
	}
	w.name = words[0]
	if len(words) == 2 {
		w.target = words[1]
	}
	return w, nil
}

// runExplain reads the samples of the running exporter and explains an alert or a family.
func runExplain(ctx context.Context, args []string, out, _ io.Writer) error {
	w, err := parseExplain(args)
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	if err != nil {
		return inputError("explain: %w: see avax-exporter help explain", err)
	}
	cfg, err := configured(config.LoadServing())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	exporter, err := askedExporter(ctx, exporterURL(w.from, cfg))
	if err != nil {
		return err
	}
	err = explain.Name(ctx, out, exporter, w.name, w.target, time.Now())
	var unknown explain.UnknownError
	switch {
	case errors.As(err, &unknown):
		return config.InputError{Err: err}
	case err != nil:
		return fmt.Errorf("call the exporter: %w: start it, or set another address with --from", err)
	}
	return nil
}

// askedExporter requests the tables and the collector errors of the exporter at that address. A Prometheus does not
// have them.
func askedExporter(ctx context.Context, base string) (e explain.Exporter, err error) {
	source, err := alerting.NewPrometheus(alerting.PrometheusConfig{URL: base, Timeout: time.Minute, MaxBody: maxAnswer}, nil)
	if err != nil {
		return e, err
	}
	e.Source = source
	var targets struct {
		Data struct {
			ActiveTargets []struct {
				Labels    map[string]string
				LastError string
			}
		}
	}
	if err := getJSON(ctx, base+"/api/v1/targets", &targets); err != nil {
		return e, err
	}
	for _, t := range targets.Data.ActiveTargets {
		e.Jobs = append(e.Jobs, explain.Job{Collector: t.Labels["collector"], Target: t.Labels["target"], Err: t.LastError})
	}
	var tables struct{ Data []explain.Table }
	if err := getJSON(ctx, base+"/api/v1/tables", &tables); err != nil {
		return e, err
	}
	e.Tables = tables.Data
	return e, nil
}
