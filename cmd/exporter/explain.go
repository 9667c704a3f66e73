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

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/explain"
)

const explainArgs = "[--from URL] ALERT|FAMILY [TARGET]"

const explainHelp = `
Prints the samples behind it as the running exporter serves them now, the formula
with the numbers put in, the calls that were made for them, and the runbook. The
target is a node, a chain, an ID or any other value of a label.

  --from URL  the exporter to ask, such as http://monitoring:9865 (default the
              one on this machine, at AVAX_LISTEN)
`

// wanted is what the command explain was given.
type wanted struct{ from, name, target string }

// parseExplain reads the arguments of the command explain. Its error is
// flag.ErrHelp or says what to write instead.
func parseExplain(args []string) (w wanted, err error) {
	flags := flag.NewFlagSet("explain", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&w.from, "from", "", "")
	words, err := parseAnywhere(flags, args)
	switch {
	case err != nil:
		return w, err
	case len(words) == 0:
		return w, errors.New("name an alert or a family, and a target if one is meant")
	case len(words) > 2:
		return w, errors.New("name one target at most")
	}
	if u, err := url.Parse(w.from); w.from != "" && (err != nil || u.Host == "") {
		return w, errors.New("--from: no address: write one like http://127.0.0.1:9865") // it may hold a password
	}
	w.name = words[0]
	if len(words) == 2 {
		w.target = words[1]
	}
	return w, nil
}

// runExplain asks the running exporter for its samples and prints what is behind the name.
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
	base := strings.TrimSuffix(w.from, "/")
	if base == "" {
		base = app.OwnURL(cfg.Listen, cfg.TLS)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	resp, err := askExporter(ctx, base+"/metrics")
	if err != nil {
		return fmt.Errorf("%w; start the exporter, or name another one with --from", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s; name an exporter that serves it, with --from", resp.Request.URL.Redacted(), resp.Status)
	}
	page, err := explain.Read(resp.Body, time.Now())
	if err != nil {
		return fmt.Errorf("%s: %w", resp.Request.URL.Redacted(), err)
	}
	if err := explain.Name(out, page, w.name, w.target); err != nil {
		return config.InputError{Err: err}
	}
	return nil
}

// askExporter asks an exporter. The caller closes the body.
func askExporter(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}
