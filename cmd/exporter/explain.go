package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/config"
)

const explainArgs = "[--from URL] ALERT|FAMILY [TARGET]"

const explainHelp = `
For an alert, prints its state, its value and threshold, the part of its
expression that is true, and the runbook. For a family, prints its help and
the collector. For both, prints the samples.

Arguments:
  ALERT       name of an alert, such as AvaxNodeDown
  FAMILY      name of a metric family, such as avax_node_up
  TARGET      a node, a chain, an ID or another label value (default: all)

Options:
  --from URL  address of the exporter
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

// runExplain prints the running exporter's explanation of an alert or a family.
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
	resp, err := askURL(ctx, exporterURL(w.from, cfg)+"/explain?"+url.Values{"name": {w.name}, "target": {w.target}}.Encode())
	if err != nil {
		return unreachable(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNotFound:
		return config.InputError{Err: errors.New(strings.TrimSpace(string(text)))}
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %s; name an exporter with --from", resp.Request.URL.Redacted(), resp.Status)
	}
	_, err = out.Write(text)
	return err
}
