package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	amconfig "github.com/prometheus/alertmanager/config"
	httpconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/backtest"
	"github.com/avax-exporter/avax-exporter/internal/secret"
)

const backtestArgs = "--prometheus URL [--from 30d] [--to TIME] [--set ALERT/SEVERITY=VALUE] [--list] [--json]"

const backtestHelp = `
Evaluates the alert rules over the history of a Prometheus, and prints which
alerts would have fired, and how many notifications Alertmanager would have
sent. Mimir, Thanos and VictoriaMetrics work too.

Options:
  --prometheus URL      server with the history, without /api/v1
  --http-config FILE    credentials, in Prometheus' format of http_config
  --from TIME           begin: a duration before now, such as 30d, or a time
                        such as 2026-10-01T00:00:00Z (default: 30d)
  --to TIME             end (default: now)
  --interval DURATION   time between two evaluations (default: 15s)
  --labels MATCHERS     only series with these labels, such as job="avax"
  --rules FILE          rules to evaluate (default: the built-in rules)
  --set ALERT/SEVERITY=VALUE
                        evaluate with another threshold. May be repeated.
                        Without /SEVERITY: a threshold without the label
                        severity. For other labels of a threshold, write them
                        as ALERT/within=7d=VALUE.
  --alertmanager FILE   routes and inhibition, in Alertmanager's format, such as
                        AVAX_NOTIFY_FILE. Without inhibit_rules in FILE, those
                        of deploy/alertmanager apply, as in the exporter.
                        (default: the configuration in deploy/alertmanager)
  --list                print each alert with its time and summary
  --json                print JSON

Examples:
  avax-exporter backtest --prometheus http://localhost:9090 --from 30d
  avax-exporter backtest --prometheus http://localhost:9090 \
      --set AvaxHeadLag/warn=100
`

// maxBacktestAnswer is the maximum size of an answer of Prometheus in bytes. Decoded samples need about nine times as much memory.
const maxBacktestAnswer = 64 << 20

// backtestRequest holds the arguments of the command backtest.
type backtestRequest struct {
	prometheus, httpConfig, rules, alertmanager string
	from, to                                    time.Time
	interval                                    time.Duration
	matchers                                    []string
	thresholds                                  []backtest.Threshold
	list, json                                  bool
}

// parseBacktest parses the arguments. The error is flag.ErrHelp, or it contains a remedy.
func parseBacktest(args []string, now time.Time) (r backtestRequest, err error) {
	var from, to, interval, matchers string
	err = parseFlags(args, func(flags *flag.FlagSet) {
		flags.StringVar(&r.prometheus, "prometheus", "", "")
		flags.StringVar(&r.httpConfig, "http-config", "", "")
		flags.StringVar(&r.rules, "rules", "", "")
		flags.StringVar(&r.alertmanager, "alertmanager", "", "")
		flags.BoolVar(&r.list, "list", false, "")
		flags.BoolVar(&r.json, "json", false, "")
		flags.StringVar(&from, "from", "30d", "")
		flags.StringVar(&to, "to", "0s", "")
		flags.StringVar(&interval, "interval", "15s", "")
		flags.StringVar(&matchers, "labels", "", "")
		flags.Func("set", "", func(text string) error {
			t, err := backtest.ParseThreshold(text)
			r.thresholds = append(r.thresholds, t)
			return err
		})
	})
	switch {
	case err != nil:
		return r, err
	case r.prometheus == "":
		return r, errors.New("--prometheus is missing: write the URL of the server with the history, such as http://localhost:9090")
	}
	if r.to, err = timeBefore("--to", cmp.Or(to, "0s"), now); err != nil {
		return r, err
	}
	if r.from, err = timeBefore("--from", from, now); err != nil {
		return r, err
	}
	if !r.from.Before(r.to) {
		return r, errors.New("--from must be before --to")
	}
	every, err := model.ParseDuration(interval)
	if r.interval = time.Duration(every); err != nil || r.interval < time.Second {
		return r, fmt.Errorf("--interval: invalid duration %q: write one of at least 1s, such as 15s", interval)
	}
	if matchers != "" {
		parsed, err := backtest.ParseMatchers(matchers)
		if err != nil {
			return r, fmt.Errorf("--labels: %w", err)
		}
		r.matchers = parsed
	}
	return r, nil
}

// runBacktest evaluates the rules over history and prints the report.
func runBacktest(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	r, err := parseBacktest(args, time.Now())
	if err != nil {
		return usageError{err}
	}
	rules, err := r.ruleFile()
	if err != nil {
		return inputError("backtest: %w", err)
	}
	routes, err := r.routes(stderr)
	if err != nil {
		return inputError("backtest: Alertmanager's configuration: %w", err)
	}
	var requests *httpconfig.HTTPClientConfig
	if r.httpConfig != "" {
		if requests, _, err = httpconfig.LoadHTTPConfigFile(r.httpConfig); err != nil {
			return inputError("backtest: --http-config: %s", secret.HideQuoted(err.Error()))
		}
	}
	source, err := alerting.NewPrometheus(alerting.PrometheusConfig{URL: r.prometheus, HTTP: requests, Timeout: 5 * time.Minute, MaxBody: maxBacktestAnswer}, nil)
	if err != nil {
		return inputError("backtest: %w", err)
	}
	groups, err := backtest.ParseRules(rules, r.thresholds)
	if err != nil {
		return inputError("backtest: %w", err)
	}
	result, err := backtest.Run(ctx, backtest.Options{
		Source: source, Groups: groups, From: r.from, To: r.to, Interval: r.interval, Matchers: r.matchers, Progress: progress(stderr),
	})
	if err != nil {
		return fmt.Errorf("backtest: %w", err)
	}
	result.Notify(routes)
	if r.json {
		return result.WriteJSON(stdout)
	}
	return result.Print(stdout, r.list)
}

// ruleFile returns the rules to evaluate.
func (r backtestRequest) ruleFile() ([]byte, error) {
	if r.rules == "" {
		return alerts.Rules, nil
	}
	return os.ReadFile(r.rules)
}

// routes returns Alertmanager's configuration. Like the exporter, it adds the shipped inhibit rules to a file without any.
func (r backtestRequest) routes(stderr io.Writer) (*amconfig.Config, error) {
	shipped, err := amconfig.Load(string(alertmanager.Config))
	if err != nil || r.alertmanager == "" {
		return shipped, err
	}
	c, err := amconfig.LoadFile(r.alertmanager)
	if err == nil && len(c.InhibitRules) == 0 {
		c.InhibitRules = shipped.InhibitRules
		fmt.Fprintf(stderr, "%s has no inhibit_rules: using those of deploy/alertmanager, as the exporter does\n", r.alertmanager)
	}
	return c, err
}

// progress returns a function that shows on a terminal how far the evaluation is. It returns nil if stderr is no terminal.
func progress(stderr io.Writer) func(time.Time, float64) {
	file, ok := stderr.(*os.File)
	if !ok || !isTerminal(file) {
		return nil
	}
	return func(until time.Time, share float64) {
		end := "\r"
		if share == 1 {
			end = "\r\033[K"
		}
		fmt.Fprintf(stderr, "evaluated %.0f %%, until %s%s", 100*share, until.UTC().Format("2006-01-02 15:04"), end)
	}
}
