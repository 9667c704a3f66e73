package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// printedLedger is a ledger with what its reader must know.
type printedLedger struct {
	ledger.Query
	payments   []ledger.Payment
	incomplete []string
	at         time.Time // of the run
	network    string
}

func (l printedLedger) write(w io.Writer, format string) error {
	switch format {
	case "csv":
		return l.csv(w, ',', ".")
	case "csv-comma":
		return l.csv(w, ';', ",")
	case "json":
		return l.json(w)
	case "koinly":
		return l.koinly(w)
	case "cointracking":
		return l.coinTracking(w)
	}
	return l.text(w)
}

// selection describes what was selected.
func (l printedLedger) selection() string {
	var parts []string
	for name, ids := range map[string][]string{"--address": l.Addresses, "--node": l.Nodes, "--subnet": l.Subnets} {
		for _, id := range ids {
			parts = append(parts, name+" "+id)
		}
	}
	slices.Sort(parts)
	if !l.From.IsZero() {
		parts = append(parts, "from "+l.From.In(l.Location).Format(time.RFC3339))
	}
	if !l.To.IsZero() {
		parts = append(parts, "to "+l.To.In(l.Location).Format(time.RFC3339))
	}
	return cmp.Or(strings.Join(parts, ", "), "what the configuration monitors, all times")
}

// What the numbers mean.
const (
	timeMeaning  = "end of the stake, at which the P-Chain pays the reward"
	priceMeaning = "of the Data service, of the day of the payment"
	roundMeaning = "amounts are exact; the value of each line is rounded to 0.01, and totals add rounded values"
)

// zone returns the name of the location for a heading.
func (l printedLedger) zone() string { return l.Location.String() }

// table writes a row for each payment. No spreadsheet program runs a text as a formula.
func (l printedLedger) table(w io.Writer, separator rune, payments []ledger.Payment, header []string, row func(ledger.Payment) []string) error {
	table := csv.NewWriter(w)
	table.Comma = separator
	_ = table.Write(header) // the writer keeps the error
	for _, p := range payments {
		cells := row(p)
		for i, cell := range cells {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				cells[i] = "'" + cell
			}
		}
		_ = table.Write(cells)
	}
	table.Flush()
	return table.Error()
}

// csv writes the payments for a spreadsheet program.
func (l printedLedger) csv(w io.Writer, separator rune, point string) error {
	number := func(text string) string { return strings.Replace(text, ".", point, 1) }
	at := "time_utc"
	if l.Location != time.UTC {
		at = "time"
	}
	header := []string{
		at, "node_id", "subnet_id", "validation_id", "addresses", "kind", "staking_tx", "reward_tx", "asset", "amount", "amount_whole", "price_" + l.Currency,
		"value_" + l.Currency, "note", "owner", "own_amount", "own_amount_whole", "own_value_" + l.Currency, "utxo_id", "staked_whole", "begin",
	}
	return l.table(w, separator, l.payments, header, func(p ledger.Payment) []string {
		staked, begin := "", ""
		if p.Staked > 0 {
			staked = decimal(new(big.Int).SetUint64(p.Staked), 9)
		}
		if !p.Begin.IsZero() {
			begin = l.local(p.Begin)
		}
		return []string{
			l.local(p.Time), p.Node, p.Subnet, p.Validation, strings.Join(p.Addresses, " "), p.Kind, p.Staking, p.RewardTx, p.Asset,
			p.Amount.String(), number(decimal(p.Amount, int(p.Decimals))), number(price(p)), number(hundredths(p.ValueHundredth)), p.Note(),
			p.Owner, p.Own.String(), number(decimal(p.Own, int(p.Decimals))), number(hundredths(p.ValueOf(p.Own))), p.UTXOID, number(staked), begin,
		}
	})
}

func (l printedLedger) local(t time.Time) string {
	return t.In(l.Location).Format("2006-01-02T15:04:05")
}

// koinly writes the own rewards and fees in the columns of Koinly's universal file. Its times are in UTC.
func (l printedLedger) koinly(w io.Writer) error {
	header := []string{"Date", "Sent Amount", "Sent Currency", "Received Amount", "Received Currency", "Fee Amount", "Fee Currency", "Net Worth Amount",
		"Net Worth Currency", "Label", "Description", "TxHash"}
	return l.table(w, ',', l.exported(), header, func(p ledger.Payment) []string {
		amount, worth, currency := decimal(p.Own, int(p.Decimals)), hundredths(p.ValueOf(p.Own)), ""
		if worth != "" {
			currency = strings.ToUpper(l.Currency)
		}
		sent, received, label := []string{"", ""}, []string{amount, p.Asset}, "reward"
		if p.IsCost() {
			sent, received, label = received, sent, "cost"
		}
		return []string{p.Time.UTC().Format("2006-01-02 15:04:05 UTC"), sent[0], sent[1], received[0], received[1], "", "", worth, currency, label,
			p.Kind + " " + p.Node, p.RewardTx}
	})
}

// coinTracking writes the own rewards and fees in the columns of CoinTracking's CSV import.
func (l printedLedger) coinTracking(w io.Writer) error {
	header := []string{"Type", "Buy Amount", "Buy Currency", "Sell Amount", "Sell Currency", "Fee", "Fee Currency", "Exchange", "Trade-Group", "Comment",
		"Date", "Tx-ID"}
	return l.table(w, ',', l.exported(), header, func(p ledger.Payment) []string {
		kind, buy, sell := "Staking", []string{decimal(p.Own, int(p.Decimals)), p.Asset}, []string{"", ""}
		if p.IsCost() {
			kind, buy, sell = "Other Fee", sell, buy
		}
		return []string{kind, buy[0], buy[1], sell[0], sell[1], "", "", "Avalanche P-Chain", "", p.Kind + " " + p.Node,
			p.Time.In(l.Location).Format(time.DateTime), cmp.Or(p.UTXOID, p.RewardTx)}
	})
}

// exported returns the own rewards and fees. Top-ups and refunds move money between own balances.
func (l printedLedger) exported() []ledger.Payment {
	return slices.DeleteFunc(slices.Clone(l.payments), func(p ledger.Payment) bool {
		return p.Own.Sign() == 0 || p.Kind == ledger.Restaked || p.Kind == ledger.L1TopUp || p.Kind == ledger.L1Refund
	})
}

func (l printedLedger) json(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{
		"currency": l.Currency, "payments": append([]ledger.Payment{}, l.payments...), "incomplete": append([]string{}, l.incomplete...),
		"months": l.totals(byMonth), "years": l.totals(byYear), "addresses": l.totals(byAddress), "validators": l.totals(byValidator),
		"about": map[string]string{"read_at": l.at.Format(time.RFC3339), "network": l.network, "selection": l.selection(), "timezone": l.zone(),
			"time": timeMeaning, "price": priceMeaning, "rounding": roundMeaning},
	})
}

func (l printedLedger) text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "Rewards and costs of L1 validators on %s, read at %s: %s.\n", l.network, l.at.Format("2006-01-02 15:04:05 UTC"), l.selection())
	fmt.Fprintf(w, "Time: %s. Price: %s.\nRounding: %s.\n\n", timeMeaning, priceMeaning, roundMeaning)
	fmt.Fprintf(t, "TIME (%s)\tVALIDATOR\tKIND\tAMOUNT\t\tPRICE\tVALUE, %s\t\n", l.zone(), strings.ToUpper(l.Currency))
	for _, p := range l.payments {
		note := p.Note()
		switch p.Owner {
		case ledger.OwnerOthers:
			note = strings.TrimPrefix(note+"; of others", "; ")
		case ledger.OwnerShared:
			note = strings.TrimPrefix(fmt.Sprintf("%s; your part: %s", note, decimal(p.Own, int(p.Decimals))), "; ")
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Time.In(l.Location).Format(time.DateTime), p.Node, p.Kind, decimal(p.Amount, int(p.Decimals)), p.Asset,
			price(p), hundredths(p.ValueHundredth), note)
	}
	for _, by := range []struct {
		name string
		key  func(*total) *string
	}{{"MONTH", byMonth}, {"YEAR", byYear}, {"ADDRESS", byAddress}, {"VALIDATOR", byValidator}} {
		fmt.Fprintf(t, "\t\t\t\t\t\t\t\n%s\tL1\tTOTAL OF\tAMOUNT\t\t\tVALUE, %s\t\n", by.name, strings.ToUpper(l.Currency))
		for _, m := range l.totals(by.key) {
			note := ""
			if m.Unpriced > 0 {
				note = fmt.Sprintf("without %d payments that have no price", m.Unpriced)
			}
			fmt.Fprintf(t, "%s\t%s\t%d %s\t%s\t%s\t\t%s\t%s\n", *by.key(m), m.Subnet, m.Payments, m.Kind, decimal(m.Amount, m.decimals), m.Asset,
				hundredths(m.ValueHundredth), note)
		}
	}
	err := t.Flush()
	for _, line := range l.incomplete {
		fmt.Fprintf(w, "incomplete: %s\n", line)
	}
	return err
}

// total is the sum of one kind of money in one asset: of all own rewards, of those of others, or of one kind of costs of an L1.
type total struct {
	Month          string   `json:"month,omitempty"`
	Year           string   `json:"year,omitempty"`
	Address        string   `json:"address,omitempty"`
	Node           string   `json:"node_id,omitempty"`
	Kind           string   `json:"kind"` // REWARDS, or the kind of the payments; with _OF_OTHERS
	Subnet         string   `json:"subnet_id,omitempty"`
	Asset          string   `json:"asset"`
	Payments       int      `json:"payments"`
	Amount         *big.Int `json:"amount"`
	ValueHundredth *big.Int `json:"value_hundredth"` // of the payments with a price; nil if none has one
	Unpriced       int      `json:"unpriced"`        // payments without a price

	decimals int
}

// The keys of totals: a total has only its own.
func byMonth(t *total) *string     { return &t.Month }
func byYear(t *total) *string      { return &t.Year }
func byAddress(t *total) *string   { return &t.Address }
func byValidator(t *total) *string { return &t.Node }

// ofOthers ends the kind of a total of what the user does not own.
const ofOthers = "_OF_OTHERS"

// totals returns the totals by a key, in its order, and then by kind and L1. What has no such key is left out: a fee has no address.
func (l printedLedger) totals(key func(*total) *string) []*total {
	found, index := []*total{}, map[string]*total{}
	var one total
	ofAddresses := key(&one) == &one.Address
	add := func(p ledger.Payment, address, suffix string, amount *big.Int) {
		if amount.Sign() == 0 && p.Amount.Sign() != 0 {
			return
		}
		local := p.Time.In(l.Location)
		of := *key(&total{Month: local.Format("2006-01"), Year: local.Format("2006"), Address: address, Node: p.Node})
		if of == "" {
			return
		}
		kind := p.Kind
		if !p.IsCost() {
			kind = "REWARDS"
		}
		kind += suffix
		id := strings.Join([]string{of, kind, p.Subnet, p.Asset, strconv.FormatUint(p.Decimals, 10)}, " ")
		m := index[id]
		if m == nil {
			m = &total{Kind: kind, Subnet: p.Subnet, Asset: p.Asset, Amount: new(big.Int), decimals: int(p.Decimals)}
			*key(m) = of
			index[id] = m
			found = append(found, m)
		}
		m.Payments++
		m.Amount.Add(m.Amount, amount)
		worth := p.ValueOf(amount)
		if worth == nil {
			m.Unpriced++
			return
		}
		if m.ValueHundredth == nil {
			m.ValueHundredth = new(big.Int)
		}
		m.ValueHundredth.Add(m.ValueHundredth, worth)
	}
	for _, p := range l.payments {
		switch {
		case p.Kind == ledger.Restaked, p.Kind == ledger.TxFee && p.Owner == ledger.OwnerShared:
		case ofAddresses && p.Kind == ledger.TxFee && len(p.Addresses) > 1: // which of them paid what is unknown
		case ofAddresses:
			for i, address := range p.Addresses {
				if p.IsOwn(address) {
					add(p, data.BareAddress(address), "", p.Share(i))
				}
			}
		default:
			add(p, "", "", p.Own)
			add(p, "", ofOthers, new(big.Int).Sub(p.Amount, p.Own))
		}
	}
	slices.SortStableFunc(found, func(a, b *total) int {
		return cmp.Or(strings.Compare(*key(a), *key(b)), -strings.Compare(a.Kind, b.Kind), strings.Compare(a.Subnet, b.Subnet))
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
