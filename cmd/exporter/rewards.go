package main

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/ledger"
)

const rewardsArgs = "[--from TIME] [--to TIME] [--node ID] [--subnet ID] [--address P-…] [--currency CODE] [--verify] [--csv|--json]"

const rewardsHelp = `
Prints the staking rewards that were paid and the costs of L1 validators, as
the Data service lists them: a line for each payment, and the totals of each
month. Amounts are whole nAVAX, without rounding. The value of a payment is its
amount at the price of its day. The service has prices of rewards only.

A line of kind RESTAKED is what an auto-renewed validator staked again. It is
paid with the last reward of the validator, so the totals do not include it.

L1_FEE is the fee that an L1 validator paid out of its balance in a month.
L1_TOP_UP was added to the balance, and L1_REFUND returned from it: do not add
them to the fees. The fees of transactions are not included. The fee between
two transactions of a validator is exact. Its division among months is exact
too if the fee per second did not change in between; the note says if it did.

Options:
  --from TIME      begin: a duration before now, such as 365d, or a time such as
                   2026-01-01T00:00:00Z (default: the first payment)
  --to TIME        end, not included (default: now)
  --node ID        only this validator. May be repeated.
                   (default: AVAX_VALIDATORS, or else your nodes)
  --subnet ID      only the validators of this L1. May be repeated.
                   (default: the L1s in AVAX_CHAINS)
  --address P-…    only payments to this P-Chain address, and what its
                   transactions added to balances of L1 validators, without
                   fees. May be repeated. (default: AVAX_WATCH_DELEGATORS)
  --currency CODE  such as eur (default: AVAX_CURRENCY)
  --verify         compare each reward with a node or an observer. The note of
                   a reward says "confirmed", or what the node lists instead.
                   The exit code is 1 if a reward is not confirmed.
  --csv            print comma-separated values: the payments without totals
  --json           print JSON

Examples:
  avax-exporter rewards --from 2026-01-01T00:00:00Z --csv >rewards.csv
  avax-exporter rewards --address P-avax1… --currency eur
`

// runRewards prints the ledger of rewards.
func runRewards(ctx context.Context, args []string, stdout, _ io.Writer) error {
	var q ledger.Query
	var from, to string
	var asCSV, asJSON bool
	list := func(into *[]string) func(string) error {
		return func(item string) error { *into = append(*into, item); return nil }
	}
	err := parseFlags(args, func(flags *flag.FlagSet) {
		flags.StringVar(&from, "from", "", "")
		flags.StringVar(&to, "to", "0s", "")
		flags.BoolVar(&asCSV, "csv", false, "")
		flags.BoolVar(&asJSON, "json", false, "")
		flags.Func("node", "", list(&q.Nodes))
		flags.Func("subnet", "", list(&q.Subnets))
		flags.Func("address", "", list(&q.Addresses))
		flags.StringVar(&q.Currency, "currency", "", "")
		flags.BoolVar(&q.Verify, "verify", false, "")
	})
	now := time.Now()
	if err == nil && asCSV && asJSON {
		err = errors.New("write --csv or --json, not both")
	}
	if err == nil && from != "" {
		q.From, err = timeBefore("--from", from, now)
	}
	if err == nil {
		q.To, err = timeBefore("--to", to, now)
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
	q.Currency = cmp.Or(q.Currency, string(cfg.Currency))
	payments, err := ledger.Read(ctx, ups, q)
	if err != nil {
		return fmt.Errorf("rewards: %w", err)
	}
	switch {
	case asCSV:
		err = rewardsCSV(stdout, payments, q.Currency)
	case asJSON:
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(map[string]any{"currency": q.Currency, "payments": append([]ledger.Payment{}, payments...), "months": monthsOf(payments)})
	default:
		err = rewardsText(stdout, payments, q.Currency)
	}
	unconfirmed := 0
	for _, p := range payments {
		if p.Verified != "" && p.Verified != ledger.Confirmed {
			unconfirmed++
		}
	}
	if err == nil && unconfirmed > 0 {
		err = fmt.Errorf("rewards: the node does not confirm %d of %d payments: see their notes, and run the command again in an hour", unconfirmed, len(payments))
	}
	return err
}

// rewardsCSV writes the payments for a spreadsheet program.
func rewardsCSV(w io.Writer, payments []ledger.Payment, currency string) error {
	table := csv.NewWriter(w)
	_ = table.Write([]string{"time_utc", "node_id", "subnet_id", "validation_id", "addresses", "kind", "staking_tx", "reward_tx", "asset", "amount",
		"amount_whole", "price_" + currency, "value_" + currency, "note"})
	for _, p := range payments {
		row := []string{
			p.Time.Format("2006-01-02T15:04:05"), p.Node, p.Subnet, p.Validation, strings.Join(p.Addresses, " "), p.Kind, p.Staking, p.Transaction, p.Asset,
			p.Amount.String(), decimal(p.Amount, int(p.Decimals)), price(p), hundredths(p.Hundredths), p.Note(),
		}
		for i, cell := range row { // a spreadsheet program must not run a text of the service as a formula
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				row[i] = "'" + cell
			}
		}
		_ = table.Write(row)
	}
	table.Flush()
	return table.Error()
}

func rewardsText(w io.Writer, payments []ledger.Payment, currency string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "TIME (UTC)\tVALIDATOR\tKIND\tAMOUNT\t\tPRICE\tVALUE, %s\t\n", strings.ToUpper(currency))
	for _, p := range payments {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Time.Format(time.DateTime), p.Node, p.Kind, decimal(p.Amount, int(p.Decimals)), p.Asset, price(p),
			hundredths(p.Hundredths), p.Note())
	}
	fmt.Fprintf(t, "\t\t\t\t\t\t\t\nMONTH\tL1\tTOTAL OF\tAMOUNT\t\t\tVALUE, %s\t\n", strings.ToUpper(currency))
	for _, m := range monthsOf(payments) {
		note := ""
		if m.Unpriced > 0 {
			note = fmt.Sprintf("without %d payments that have no price", m.Unpriced)
		}
		fmt.Fprintf(t, "%s\t%s\t%d %s\t%s\t%s\t\t%s\t%s\n", m.Month, m.Subnet, m.Payments, m.Kind, decimal(m.Amount, m.decimals), m.Asset, hundredths(m.Hundredths),
			note)
	}
	return t.Flush()
}

// month is the total of a month in one asset: of all rewards, or of one kind of costs of an L1.
type month struct {
	Month      string   `json:"month"`
	Kind       string   `json:"kind"` // REWARDS, or the kind of the payments
	Subnet     string   `json:"subnet_id,omitempty"`
	Asset      string   `json:"asset"`
	Payments   int      `json:"payments"`
	Amount     *big.Int `json:"amount"`
	Hundredths *big.Int `json:"value_hundredth"` // of the payments with a price; nil if none has one
	Unpriced   int      `json:"unpriced"`        // payments without a price

	decimals int
}

// monthsOf returns the totals: months in order, and in a month by kind and L1.
func monthsOf(payments []ledger.Payment) []*month {
	found := []*month{}
	for _, p := range payments {
		if p.Kind == ledger.Restaked {
			continue
		}
		kind := "REWARDS"
		if p.IsL1() {
			kind = p.Kind
		}
		var m *month
		for _, known := range found {
			if known.Month == p.Time.Format("2006-01") && known.Asset == p.Asset && known.Kind == kind && known.Subnet == p.Subnet {
				m = known
			}
		}
		if m == nil {
			m = &month{Month: p.Time.Format("2006-01"), Kind: kind, Subnet: p.Subnet, Asset: p.Asset, Amount: new(big.Int), decimals: int(p.Decimals)}
			found = append(found, m)
		}
		m.Payments++
		m.Amount.Add(m.Amount, p.Amount)
		if p.Hundredths == nil {
			m.Unpriced++
			continue
		}
		if m.Hundredths == nil {
			m.Hundredths = new(big.Int)
		}
		m.Hundredths.Add(m.Hundredths, p.Hundredths)
	}
	slices.SortStableFunc(found, func(a, b *month) int {
		return cmp.Or(strings.Compare(a.Month, b.Month), -strings.Compare(a.Kind, b.Kind), strings.Compare(a.Subnet, b.Subnet))
	})
	return found
}

// decimal writes an integer with a decimal point before the last digits, exactly.
func decimal(n *big.Int, digits int) string {
	text := fmt.Sprintf("%0*d", digits+1, n)
	if digits == 0 {
		return text
	}
	return text[:len(text)-digits] + "." + text[len(text)-digits:]
}

// hundredths writes a value; empty if there is none.
func hundredths(n *big.Int) string {
	if n == nil {
		return ""
	}
	return decimal(n, 2)
}

func price(p ledger.Payment) string {
	if p.Price == nil {
		return ""
	}
	return strconv.FormatFloat(*p.Price, 'f', -1, 64)
}
