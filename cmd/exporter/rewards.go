package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // --timezone works in the image too, which has no time zones

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/internal/words"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

const rewardsArgs = "[--from TIME] [--to TIME] [--node ID] [--subnet ID] [--address P-…] [--currency CODE] [--timezone ZONE] [--format FORMAT]"

const rewardsHelp = `
Prints the staking rewards that were paid and the costs of L1 validators, as
the Data service lists them. It prints a line for each payment, and totals of
months, years, addresses and validators. Amounts are whole nAVAX, without
rounding. The value of a payment is its amount at the price of its day. The
service has prices of rewards only.

Totals are of your own money. Your addresses are those of --address, or else
those in AVAX_WATCH_DELEGATORS and the reward owners of your nodes. Without
AVAX_WATCH_DELEGATORS, all selected validators count as yours. What others
own, such as your delegators, is a total of its own: REWARDS_OF_OTHERS. Of an
output with several owners, each owner has an equal part.

A line of kind RESTAKED is what an auto-renewed validator staked again. It is
paid with the last reward of the validator, so the totals do not include it.

L1_FEE is the fee that an L1 validator paid out of its balance in a month.
L1_TOP_UP was added to the balance, and L1_REFUND returned from it: do not add
them to the fees. The fee between two transactions of a validator is exact. Its
division among months is exact too with the Metrics service (AVAX_METRICS_URL),
or if the fee per second did not change in between. Otherwise the note says
that the month is estimated. The first run after the end of a month stores the
estimate, and later runs on this machine print the same.

TX_FEE is the fee of a transaction that your addresses paid, if the service
says it. Listed are the transactions of AVAX_WATCH_DELEGATORS or --address, and
those of L1 validators.

The command waits for the compute units of AVAX_DATA_BUDGET, and says so. It
reads each list until two readings agree. What could not be read is a line
"incomplete:". The exit code is then 1, and all other lines are right. The
command stores estimates in AVAX_STATE_DIR, or else in the cache directory of
the user.

Options:
  --from TIME      begin: a duration before now, such as 365d, or a time such as
                   2026-01-01 (default: the first payment)
  --to TIME        end, not included (default: the newest payment)
  --node ID        only this validator. May be repeated.
                   (default: AVAX_VALIDATORS, or else your nodes)
  --subnet ID      only the validators of this L1. May be repeated.
                   (default: the L1s in AVAX_CHAINS; with auto, those of your
                   nodes too)
  --address P-…    only payments to this P-Chain address, and what its
                   transactions added to balances of L1 validators, without
                   fees. May be repeated. (default: AVAX_WATCH_DELEGATORS)
  --currency CODE  such as eur (default: AVAX_CURRENCY)
  --timezone ZONE  of times and months, such as Europe/Berlin (default: UTC)
  --format FORMAT  text, json, csv, csv-comma (with decimal commas), koinly or
                   cointracking. --csv and --json are short forms.

Examples:
  avax-exporter rewards --from 2026-01-01 --csv >rewards.csv
  avax-exporter rewards --address P-avax1… --timezone Europe/Berlin
`

// runRewards prints the ledger of rewards.
func runRewards(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var q ledger.Query
	var from, to, zone, format string
	list := func(into *[]string) func(string) error {
		return func(item string) error { *into = append(*into, item); return nil }
	}
	var asCSV, asJSON bool
	err := parseFlags(args, func(flags *flag.FlagSet) {
		flags.StringVar(&from, "from", "", "")
		flags.StringVar(&to, "to", "", "")
		flags.StringVar(&zone, "timezone", "UTC", "")
		flags.StringVar(&format, "format", "", "")
		flags.BoolVar(&asCSV, "csv", false, "")
		flags.BoolVar(&asJSON, "json", false, "")
		flags.Func("node", "", list(&q.Nodes))
		flags.Func("subnet", "", list(&q.Subnets))
		flags.Func("address", "", list(&q.Addresses))
		flags.StringVar(&q.Currency, "currency", "", "")
	})
	if err == nil {
		format, err = formatOf(format, asCSV, asJSON)
	}
	if err == nil {
		if q.Location, err = time.LoadLocation(zone); err != nil {
			err = fmt.Errorf("--timezone %q: write a name such as Europe/Berlin", zone)
		}
	}
	now := time.Now()
	if err == nil && from != "" {
		q.From, err = ledgerTime("--from", from, now, q.Location)
	}
	if err == nil && to != "" {
		q.To, err = ledgerTime("--to", to, now, q.Location)
	}
	if q.Currency = strings.ToLower(q.Currency); err == nil && q.Currency != "" && !slices.Contains(data.Currencies(), q.Currency) {
		err = fmt.Errorf("--currency %q: write one of %s", q.Currency, strings.Join(data.Currencies(), ", "))
	}
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return usageError{err}
	}
	cfg, err := configured(config.Load())
	if err != nil {
		return err
	}
	ups, err := app.Upstreams(cfg)
	if err != nil {
		return err
	}
	q.Currency, q.Dir, q.Progress = cmp.Or(q.Currency, string(cfg.Currency)), ledgerDir(string(cfg.StateDir)), progressTo(stderr)
	q.Auto = cfg.Chains.Auto
	payments, err := ledger.Read(ctx, ups, q)
	var incomplete *ledger.IncompleteError
	if err != nil && !errors.As(err, &incomplete) {
		return fmt.Errorf("rewards: %w", err)
	}
	l := printedLedger{Query: q, payments: payments, at: now.UTC(), network: ups.Data.NetworkName()}
	if incomplete != nil {
		l.incomplete = incomplete.Lines
	}
	if err := l.write(stdout, format); err != nil {
		return err
	}
	if err != nil {
		err = fmt.Errorf("rewards: %w", err)
	}
	return err
}

// formats are the values of --format.
var formats = []string{"text", "json", "csv", "csv-comma", "koinly", "cointracking"}

func formatOf(format string, asCSV, asJSON bool) (string, error) {
	var asked []string
	for name, on := range map[string]bool{"csv": asCSV, "json": asJSON, format: format != ""} {
		if on {
			asked = append(asked, name)
		}
	}
	switch {
	case asCSV && asJSON:
		return "", errors.New("write --csv or --json, not both")
	case len(asked) > 1:
		return "", errors.New("write --format, or --csv or --json, not both")
	case len(asked) == 0:
		return formats[0], nil
	case !slices.Contains(formats, asked[0]):
		return "", fmt.Errorf("--format %q: write one of %s", asked[0], strings.Join(formats, ", "))
	}
	return asked[0], nil
}

// ledgerTime parses a time of an option: a date is the begin of a day in the location.
func ledgerTime(option, text string, now time.Time, location *time.Location) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, location); err == nil {
		return day, nil
	}
	return timeBefore(option, text, now)
}

// ledgerDir returns the directory of what the ledger stores; empty if there is none.
func ledgerDir(stateDir string) string {
	if stateDir != "" {
		return app.CommandDir(stateDir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "avax-exporter")
}

// progressTo writes what a command does to a terminal or log, at most every five seconds. A short command writes nothing.
func progressTo(w io.Writer) func(string) {
	const every = 5 * time.Second
	last := time.Now()
	return func(text string) {
		if strings.HasPrefix(text, "waiting ") || time.Since(last) >= every {
			last = time.Now()
			fmt.Fprintln(w, words.Printable(text))
		}
	}
}
