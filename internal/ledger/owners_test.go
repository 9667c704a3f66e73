package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// service is a Data service of its own, without the simulated network: lists of JSON objects and how they are cut into pages.
type service struct {
	rewards, pending, validators, transactions []map[string]any
	height                                     int
	currency                                   string // of every answer; empty: as requested

	units    int                                                  // spent
	requests int                                                  // number of requests
	answer   func(r *http.Request, rows []map[string]any) *string // replaces an answer; nil: none
	order    func(rows []map[string]any, sortOrder string)        // nil: by endTimestamp in the requested order
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	s.requests++
	var rows []map[string]any
	name, status := "", 200
	listed := func(name string) []string {
		return strings.FieldsFunc(strings.ReplaceAll(query.Get(name), "P-", ""), func(c rune) bool { return c == ',' })
	}
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/rewards"), strings.HasSuffix(path, ":listPending"):
		name, rows = "historicalRewards", slices.Clone(s.rewards)
		if strings.HasSuffix(path, ":listPending") {
			name, rows = "pendingRewards", slices.Clone(s.pending)
		}
		s.units += 100
		addresses, ids := listed("addresses"), listed("nodeIds")
		rows = slices.DeleteFunc(rows, func(row map[string]any) bool {
			owners, _ := row["addresses"].([]string)
			return len(ids) > 0 && !slices.Contains(ids, fmt.Sprint(row["nodeId"])) ||
				len(addresses) > 0 && !slices.ContainsFunc(owners, func(o string) bool { return slices.Contains(addresses, o) })
		})
	case strings.HasSuffix(path, "/l1Validators"):
		name, rows = "validators", slices.Clone(s.validators)
		s.units += 20
	case strings.HasSuffix(path, "/transactions"):
		name, rows = "transactions", slices.Clone(s.transactions)
		s.units += 100
	default:
		status = 404
	}
	if s.order != nil {
		s.order(rows, query.Get("sortOrder"))
	} else {
		byEnd := func(a, b map[string]any) int {
			x, _ := a["endTimestamp"].(int64)
			y, _ := b["endTimestamp"].(int64)
			return int(x - y)
		}
		if !slices.IsSortedFunc(rows, byEnd) {
			slices.SortStableFunc(rows, byEnd)
		}
		if query.Get("sortOrder") == "desc" {
			slices.Reverse(rows)
		}
	}
	from, _ := strconv.Atoi(query.Get("pageToken"))
	size, _ := strconv.Atoi(query.Get("pageSize"))
	to := min(len(rows), from+max(size, 1))
	page := append([]map[string]any{}, rows[min(from, to):to]...)
	for i, row := range page { // prices in the requested currency
		if reward, ok := row["reward"].(map[string]any); ok {
			currency := s.currency
			if currency == "" {
				currency = query.Get("currency")
			}
			page[i] = maps.Clone(row)
			page[i]["reward"] = map[string]any{"assetId": "a", "name": "Avalanche", "symbol": "AVAX", "denomination": 9, "type": "secp256k1",
				"amount": reward["amount"], "historicalPrice": map[string]any{"currencyCode": currency, "value": reward["price"]}}
		}
	}
	body := map[string]any{name: page}
	if to < len(rows) {
		body["nextPageToken"] = strconv.Itoa(to)
	}
	if s.height > 0 && name == "validators" {
		body["blockHeight"] = strconv.Itoa(s.height)
	}
	text, err := json.Marshal(body)
	if s.answer != nil {
		if other := s.answer(r, rows); other != nil {
			text = []byte(*other)
		}
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(text)))}, err
}

// env configures the service only.
func (s *service) env() config.Environment {
	return config.Environment{"NODES": "", "CHAINS": "", "DATA_URL": "http://data.sim", "NETWORK": "mainnet"}
}

func (s *service) read(t *testing.T, env config.Environment, q ledger.Query) ([]ledger.Payment, error) {
	t.Helper()
	return s.readContext(t.Context(), t, env, q)
}

func (s *service) readContext(ctx context.Context, t *testing.T, env config.Environment, q ledger.Query) ([]ledger.Payment, error) {
	t.Helper()
	cfg := must.Get(env.Parse())(t)
	cfg.Transport = s
	ups := must.Get(app.Upstreams(cfg))(t)
	if q.Currency == "" {
		q.Currency = "usd"
	}
	return ledger.Read(ctx, ups, q)
}

// id returns a valid ID of 32 bytes, or of a node, which depends on a number.
func id(prefix string, n int) string {
	return testworld.CB58(prefix, n)
}

// row is a reward.
func row(n int, kind, nodeID string, owners []string, end time.Time, amount uint64) map[string]any {
	return map[string]any{
		"addresses": owners, "txHash": id("", n), "amountStaked": "25000000000", "nodeId": nodeID, "startTimestamp": end.Add(-14 * 24 * time.Hour).Unix(),
		"endTimestamp": end.Unix(), "rewardType": kind, "utxoId": id("", 1_000_000+n), "outputIndex": 1, "rewardTxHash": id("", 2_000_000+n),
		"reward": map[string]any{"amount": strconv.FormatUint(amount, 10), "price": 20.5},
	}
}

// history is three years of rewards of validators and their delegators, with what belongs to whom, computed without the ledger.
type history struct {
	service
	operator, treasury, partner string
	nodes                       []string            // of the operator
	paid                        map[string]*big.Int // by address and month; an output of two owners pays each a half
	strangers                   *big.Int
}

func newHistory(seed uint64, begin time.Time) *history {
	random := rand.New(rand.NewPCG(seed, 1))
	h := &history{
		operator: testworld.Wallet("avax", 1), treasury: testworld.Wallet("avax", 2), partner: testworld.Wallet("avax", 3),
		nodes: []string{id("NodeID-", 1), id("NodeID-", 2)}, paid: map[string]*big.Int{}, strangers: new(big.Int),
	}
	add := func(owner string, at time.Time, amount uint64) {
		key := owner + at.UTC().Format(" 2006-01")
		if h.paid[key] == nil {
			h.paid[key] = new(big.Int)
		}
		h.paid[key].Add(h.paid[key], new(big.Int).SetUint64(amount))
	}
	n := 0
	pay := func(kind, node string, at time.Time, owners ...string) {
		n++
		amount := 1 + random.Uint64N(1<<45)
		h.rewards = append(h.rewards, row(n, kind, node, owners, at, amount))
		rest := amount
		for i, owner := range owners {
			share := (rest + uint64(len(owners)-i) - 1) / uint64(len(owners)-i)
			add(owner, at, share)
			rest -= share
		}
	}
	for day := range 3*365 + 10 {
		at := begin.Add(time.Duration(day)*24*time.Hour + time.Duration(random.IntN(86400))*time.Second)
		node := h.nodes[day%2]
		stranger := testworld.Wallet("avax", byte(10+random.IntN(200)))
		switch random.IntN(6) {
		case 0:
			pay(data.RewardValidator, node, at, h.operator)
		case 1:
			pay(data.RewardValidatorFee, node, at, h.operator)
		case 2:
			pay(data.RewardDelegator, node, at, h.treasury)
		case 3:
			pay(data.RewardDelegator, id("NodeID-", 3), at, h.treasury, h.partner)
		default:
			pay(data.RewardDelegator, node, at, stranger)
		}
	}
	random.Shuffle(len(h.rewards), func(i, j int) { h.rewards[i], h.rewards[j] = h.rewards[j], h.rewards[i] })
	return h
}

// The sums of three years are those of the own addresses, to the nAVAX, for every asker, however the service orders its list, and whatever
// strangers were paid. What others own is a separate sum.
func TestSumsAreOfOwnMoneyOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
		time.Sleep(4 * 365 * 24 * time.Hour)
		for seed := range uint64(4) {
			h := newHistory(seed, begin)
			if seed%2 == 1 {
				h.order = func(rows []map[string]any, _ string) {
					slices.SortFunc(rows, func(a, b map[string]any) int {
						return strings.Compare(fmt.Sprint(a["utxoId"]), fmt.Sprint(b["utxoId"]))
					})
				}
			}
			for name, c := range map[string]struct {
				env   map[string]string
				query ledger.Selection
				own   []string
			}{
				"operator by nodes":      {nil, ledger.Selection{Nodes: h.nodes}, []string{h.operator}},
				"operator by validators": {map[string]string{"VALIDATORS": strings.Join(h.nodes, ",")}, ledger.Selection{}, []string{h.operator}},
				"delegator by address":   {nil, ledger.Selection{Addresses: []string{"P-" + h.treasury}}, []string{h.treasury}},
				"delegator as in README": {map[string]string{"VALIDATORS": strings.Join(h.nodes, ","), "WATCH_DELEGATORS": "t=P-" + h.treasury}, ledger.Selection{},
					[]string{h.treasury}},
				"both owners": {nil, ledger.Selection{Addresses: []string{"P-" + h.treasury, "P-" + h.partner}}, []string{h.treasury, h.partner}},
				"everything":  {nil, ledger.Selection{Addresses: []string{h.operator, h.treasury, h.partner}}, []string{h.operator, h.treasury, h.partner}},
			} {
				env := h.env()
				for k, v := range c.env {
					env[k] = v
				}
				payments, err := h.read(t, env, ledger.Query{Selection: c.query})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got, all := map[string]*big.Int{}, new(big.Int)
				for _, p := range payments {
					key := p.Time.Format("2006-01")
					if got[key] == nil {
						got[key] = new(big.Int)
					}
					got[key].Add(got[key], p.Own)
					all.Add(all, p.Own)
					if (p.Owner == ledger.OwnerOthers) != (p.Own.Sign() == 0) || (p.Owner == ledger.OwnerSelf) != (p.Own.Cmp(p.Amount) == 0) {
						t.Errorf("%s: %s with %v of %v", name, p.Owner, p.Own, p.Amount)
					}
				}
				want, total := map[string]*big.Int{}, new(big.Int)
				for key, amount := range h.paid {
					owner, month, _ := strings.Cut(key, " ")
					if slices.Contains(c.own, owner) {
						if want[month] == nil {
							want[month] = new(big.Int)
						}
						want[month].Add(want[month], amount)
						total.Add(total, amount)
					}
				}
				if len(want) < 36 || all.Cmp(total) != 0 {
					t.Errorf("%s: %v nAVAX, want %v in %d months", name, all, total, len(want))
				}
				for month, amount := range want {
					if got[month] == nil || got[month].Cmp(amount) != 0 {
						t.Errorf("%s: %s: %v nAVAX, want %v", name, month, got[month], amount)
					}
				}
			}
		}
	})
}

// 20,000 rewards without a key take more than the budget of a minute. The ledger waits, shows that it waits, ends by itself, and is right.
func TestTwentyThousandRewardsOnTheFreeBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(5 * 365 * 24 * time.Hour)
		s, owner, want := &service{}, testworld.Wallet("avax", 7), new(big.Int)
		begin := time.Now().Add(-3 * 365 * 24 * time.Hour)
		for n := range 20_000 {
			amount := uint64(1_000_000_007 + n*n)
			want.Add(want, new(big.Int).SetUint64(amount))
			s.rewards = append(s.rewards, row(n, data.RewardDelegator, id("NodeID-", n%40), []string{owner}, begin.Add(time.Duration(n)*time.Minute), amount))
		}
		began, waits, perMinute, last := time.Now(), 0, map[int64]int{}, 0
		s.answer = func(*http.Request, []map[string]any) *string {
			perMinute[time.Now().Unix()/60] += s.units - last
			last = s.units
			return nil
		}
		payments, err := s.read(t, s.env(), ledger.Query{Selection: ledger.Selection{Addresses: []string{"P-" + owner}}, Progress: func(text string) {
			if strings.HasPrefix(text, "waiting ") {
				waits++
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := new(big.Int)
		for _, p := range payments {
			got.Add(got, p.Own)
		}
		if len(payments) != 20_000 || got.Cmp(want) != 0 || waits == 0 {
			t.Errorf("%d payments of %v nAVAX, want %v; %d waits", len(payments), got, want, waits)
		}
		if took := time.Since(began); took > 15*time.Minute {
			t.Errorf("took %v", took)
		}
		for minute, units := range perMinute {
			if units > 2*6000 {
				t.Errorf("minute %d: %d units", minute, units)
			}
		}
	})
}

// A list from which an item was deleted meanwhile, or with an empty last page in one order, is read again until two readings agree. If they never
// do, the ledger says so.
func TestIncompleteListIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		empty    func(r *http.Request, request int) bool // the page is empty and the last one
		complete bool
	}{
		"never":             {func(*http.Request, int) bool { return false }, true},
		"once":              {func(_ *http.Request, request int) bool { return request == 2 || request == 3 }, true},
		"always in the end": {func(r *http.Request, _ int) bool { return r.URL.Query().Get("pageToken") == "100" }, false},
		"every other time":  {func(r *http.Request, n int) bool { return n%2 == 0 && r.URL.Query().Get("pageToken") == "200" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(5 * 365 * 24 * time.Hour)
				s, owner := &service{}, testworld.Wallet("avax", 7)
				for n := range 948 {
					s.rewards = append(s.rewards, row(n, data.RewardDelegator, id("NodeID-", 1), []string{owner}, time.Now().Add(-time.Duration(n+1)*time.Hour), 5))
				}
				s.answer = func(r *http.Request, _ []map[string]any) *string {
					if strings.HasSuffix(r.URL.Path, "/rewards") && c.empty(r, s.requests) {
						text := `{"historicalRewards":[]}`
						return &text
					}
					return nil
				}
				payments, err := s.read(t, s.env(), ledger.Query{Selection: ledger.Selection{Addresses: []string{owner}}})
				var incomplete *ledger.IncompleteError
				switch {
				case c.complete && (err != nil || len(payments) != 948):
					t.Errorf("%d payments, %v", len(payments), err)
				case !c.complete && (!errors.As(err, &incomplete) || len(payments) == 0):
					t.Errorf("%d payments, %v", len(payments), err)
				}
			})
		})
	}
}

// Addresses and validators of which the service knows nothing are named. A known address without payments in the time is complete.
func TestUnknownSelectionIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(5 * 365 * 24 * time.Hour)
		s, owner, pending := &service{}, testworld.Wallet("avax", 7), testworld.Wallet("avax", 8)
		s.rewards = []map[string]any{row(1, data.RewardDelegator, id("NodeID-", 1), []string{owner}, time.Now().Add(-time.Hour), 5)}
		s.pending = []map[string]any{row(2, data.RewardDelegator, id("NodeID-", 2), []string{pending}, time.Now().Add(time.Hour), 5)}
		s.pending[0]["estimatedReward"] = map[string]any{"assetId": "a", "denomination": 9, "amount": "5"}
		for _, c := range []struct {
			of    ledger.Selection
			names string // that are unknown
		}{
			{ledger.Selection{Addresses: []string{"P-" + owner}}, ""},
			{ledger.Selection{Addresses: []string{owner, pending}}, ""},
			{ledger.Selection{Nodes: []string{id("NodeID-", 1), id("NodeID-", 2)}}, ""},
			{ledger.Selection{Addresses: []string{"P-" + testworld.Wallet("avax", 9)}}, "P-" + testworld.Wallet("avax", 9)},
			{ledger.Selection{Addresses: []string{owner, testworld.Wallet("avax", 9)}}, testworld.Wallet("avax", 9)},
			{ledger.Selection{Nodes: []string{id("NodeID-", 1), id("NodeID-", 5)}}, id("NodeID-", 5)},
			{ledger.Selection{Subnets: []string{id("", 5)}}, id("", 5)},
		} {
			_, err := s.read(t, s.env(), ledger.Query{Selection: c.of, From: time.Now().Add(-time.Minute)})
			if (err == nil) != (c.names == "") || err != nil && err.Error() != "incomplete: nothing known of "+c.names+": is it correct?" {
				t.Errorf("%v: %v", c.of, err)
			}
		}
	})
}

// A price in another currency than requested, and an impossible one, is not used, and the ledger says so. A reward dated after this machine's clock
// is a line.
func TestWrongPriceAndFutureReward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(5 * 365 * 24 * time.Hour)
		owner := testworld.Wallet("avax", 7)
		for _, c := range []struct {
			currency string
			price    float64
			right    bool
		}{{"", 20, true}, {"eur", 20, false}, {"usd", -3, false}, {"usd", 1e300, false}} {
			s := &service{currency: c.currency}
			s.rewards = []map[string]any{row(1, data.RewardDelegator, id("NodeID-", 1), []string{owner}, time.Now().Add(time.Hour), 5_000_000_000)}
			s.rewards[0]["reward"].(map[string]any)["price"] = c.price
			payments, err := s.read(t, s.env(), ledger.Query{Selection: ledger.Selection{Addresses: []string{owner}}})
			if (err == nil) != c.right || len(payments) != 1 || (payments[0].Price != nil) != c.right {
				t.Errorf("%+v: %+v, %v", c, payments, err)
			}
			if c.right && (payments[0].ValueHundredth.Int64() != 10_000 || payments[0].Note() != "dated after this machine's clock") {
				t.Errorf("%+v: %+v", c, payments[0])
			}
		}
	})
}
