package collectors_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// service is a Data service with lists of events that behave as the real ones may: indexed late, dated in the future, growing while
// they are read, in any order.
type service struct {
	events   []serviceEvent
	ofItem   map[string]string // answers by path, such as one message
	shuffled bool
	cursors  bool // a later page has no events that were indexed after the first page
}

type serviceEvent struct {
	position int64 // block or Unix seconds
	item     string
}

// answer answers a list with its events from startBlock or startTimestamp, 100 per page. The query of the first page counts for all
// pages, because a token stands for it.
func (s *service) answer(r *http.Request) string {
	if answer, ok := s.ofItem[r.URL.Path]; ok {
		return answer
	}
	lists := map[string]string{"/rewards": "historicalRewards", ":listErc721": "transactions", ":listInternals": "transactions", "/transactions": "transactions",
		"/messages": "messages"}
	var name string
	for suffix, list := range lists {
		if strings.HasSuffix(r.URL.Path, suffix) {
			name = list
		}
	}
	if name == "" {
		return ""
	}
	query, offset, indexed := r.URL.Query(), 0, len(s.events)
	if token := query.Get("pageToken"); token != "" {
		var saved struct {
			Offset, Indexed int
			Query           string
		}
		if json.Unmarshal([]byte(token), &saved) != nil {
			return ""
		}
		query, _ = url.ParseQuery(saved.Query)
		offset = saved.Offset
		if s.cursors {
			indexed = saved.Indexed
		}
	}
	from, _ := strconv.ParseInt(query.Get("startBlock")+query.Get("startTimestamp"), 10, 64)
	until, err := strconv.ParseInt(query.Get("endBlock"), 10, 64)
	var chosen []serviceEvent
	for _, e := range s.events[:indexed] {
		if e.position >= from && (err != nil || e.position < until) {
			chosen = append(chosen, e)
		}
	}
	slices.SortStableFunc(chosen, func(a, b serviceEvent) int { return int(b.position - a.position) })
	if s.shuffled {
		slices.SortStableFunc(chosen, func(a, b serviceEvent) int {
			return strings.Compare(fmt.Sprint(len(a.item)%7, a.item), fmt.Sprint(len(b.item)%7, b.item))
		})
	}
	page := chosen[min(offset, len(chosen)):min(offset+100, len(chosen))]
	var items []string
	for _, e := range page {
		items = append(items, e.item)
	}
	next := ""
	if offset+100 < len(chosen) {
		token, _ := json.Marshal(map[string]any{"Offset": offset + 100, "Indexed": indexed, "Query": query.Encode()})
		next = string(token)
	}
	quoted, _ := json.Marshal(next)
	return `{"` + name + `":[` + strings.Join(items, ",") + `],"nextPageToken":` + string(quoted) + `}`
}

func nftTransfer(n int, block uint64) serviceEvent {
	return serviceEvent{int64(block), fmt.Sprintf(`{"txHash":"0x%d","logIndex":0,"blockNumber":"%d","from":{"address":"%s"},"to":{"address":"%s"}}`, n, block,
		simnet.Partner, simnet.Account)}
}

func internalCall(tx string, block uint64) serviceEvent {
	return serviceEvent{int64(block),
		fmt.Sprintf(`{"txHash":"%s","blockNumber":"%d","from":{"address":"%s"},"to":{"address":"%s"},"internalTxType":"CALL","value":"5","isReverted":false,`+
			`"gasUsed":"7","gasLimit":"8"}`, tx, block, simnet.Partner, simnet.Account)}
}

func assetTransaction(n int, at time.Time) serviceEvent {
	return serviceEvent{at.Unix(), fmt.Sprintf(`{"txHash":"t%d","txType":"BaseTx","timestamp":%d}`, n, at.Unix())}
}

func (w world) head(t *testing.T) uint64 {
	t.Helper()
	b := must.Get(w.ups.Nodes()[0].EthBlockByNumber(t.Context(), "C", nil))(t)
	return uint64(b.Number)
}

const (
	transfersFamily = "avax_address_transfers_total"
	internalsFamily = "avax_address_internal_transactions_total"
	assetsFamily    = "avax_asset_transactions_total"
	onC             = simnet.Account + "/C"
)

// One event that is dated in the future counts, and the events after it count too.
func TestEventDatedInTheFutureBlindsNoList(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		var events []serviceEvent
		for run := range 5 {
			now := time.Now()
			lists := [][]serviceEvent{
				{nftTransfer(run, w.head(t))},
				{assetTransaction(run, now)},
				{{now.Unix(), message(fmt.Sprint("m", run), data.ICMPending, "T", now)}},
			}
			if run == 1 {
				lists[0] = append(lists[0], nftTransfer(99, w.head(t)+1_000_000))
				lists[1] = append(lists[1], assetTransaction(99, now.Add(24*time.Hour)))
				lists[2] = append(lists[2], serviceEvent{now.Add(2 * time.Hour).Unix(), message("m99", data.ICMPending, "T", now.Add(2*time.Hour))})
			}
			for _, more := range lists {
				events = append(events, more...)
			}
			var got []float64
			for kind, list := range []string{"transfers", "asset_transactions", "icm"} {
				only := &service{}
				for _, e := range events {
					if of(e) == kind {
						only.events = append(only.events, e)
					}
				}
				w.data(only.answer)
				samples, notes := w.runJob(t.Context(), t, list, []string{onC, exm, simnet.Account}[kind])
				got = append(got, sum(t, samples, []string{transfersFamily, assetsFamily, "avax_icm_messages"}[kind], []string{`in`, "", ""}[kind]))
				if run == 1 && !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, "dated in the future") }) {
					t.Errorf("%s: the future event is not reported: %q", list, notes)
				}
			}
			want := float64(run + 1)
			if run >= 1 {
				want++
			}
			if !slices.Equal(got, []float64{want, want, want}) {
				t.Errorf("run %d: counted %v, want %v each", run, got, want)
			}
			time.Sleep(10 * time.Minute)
		}
	})
}

// of returns the index of the list of an event.
func of(e serviceEvent) int {
	switch {
	case strings.Contains(e.item, "logIndex"):
		return 0
	case strings.Contains(e.item, "txType"):
		return 1
	}
	return 2
}

// Events that the service indexes hours late count, after newer events were counted.
func TestEventsIndexedHoursLateCount(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		path := t.TempDir()
		for _, c := range []struct {
			collector, target, family string
			event                     func(n int, at time.Time, block uint64) serviceEvent
		}{
			{"transfers", onC, transfersFamily, func(n int, _ time.Time, block uint64) serviceEvent { return nftTransfer(n, block) }},
			{"internal_transactions", onC, internalsFamily, func(n int, _ time.Time, block uint64) serviceEvent {
				return internalCall(fmt.Sprint("0x", n), block)
			}},
			{"asset_transactions", exm, assetsFamily, func(n int, at time.Time, _ uint64) serviceEvent { return assetTransaction(n, at) }},
			{"icm", simnet.Account, "avax_icm_messages", func(n int, at time.Time, _ uint64) serviceEvent {
				return serviceEvent{at.Unix(), message(fmt.Sprint(n), data.ICMPending, "T", at)}
			}},
		} {
			s := &service{shuffled: true}
			var late []serviceEvent
			for run := range 32 {
				w.restart(t, path)
				w.data(s.answer)
				if run == 1 {
					for n := range 5 {
						late = append(late, c.event(1000+n, time.Now(), w.head(t)))
					}
				}
				s.events = append(s.events, c.event(run, time.Now(), w.head(t)))
				if run == 25 { // four hours later
					s.events = append(s.events, late...)
				}
				samples, _ := w.runJob(t.Context(), t, c.collector, c.target)
				if n := sum(t, samples, c.family); run == 31 && n != 37 {
					t.Errorf("%s: counted %v events, want 37", c.collector, n)
				}
				time.Sleep(10 * time.Minute)
			}
		}
	})
}

// A service that indexes nothing for five days loses no event.
func TestServiceThatLagsForDaysLosesNoEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		s := &service{}
		w.data(s.answer)
		var unindexed []serviceEvent
		var samples string
		for run := range 5*24 + 3 {
			if event := nftTransfer(run, w.head(t)); run < 3 {
				s.events = append(s.events, event)
			} else {
				unindexed = append(unindexed, event)
			}
			if run == 5*24 {
				s.events = append(s.events, unindexed...)
			}
			samples, _ = w.runJob(t.Context(), t, "transfers", onC)
			time.Sleep(time.Hour)
		}
		if n := sum(t, samples, transfersFamily); n != 5*24+1 {
			t.Errorf("counted %v events, want %d", n, 5*24+1)
		}
	})
}

// A period with more events than one run reads loses none, also if the list grows meanwhile and the exporter is killed.
func TestBusyPeriodLosesNoEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		path := t.TempDir()
		for _, c := range []struct {
			collector, family string
			event             func(n int, block uint64) serviceEvent
		}{
			{"transfers", transfersFamily, nftTransfer},
			// 250 identical calls
			{"internal_transactions", internalsFamily, func(n int, block uint64) serviceEvent { return internalCall(fmt.Sprint("0x", n/250), block) }},
		} {
			s := &service{}
			w.restart(t, path)
			w.data(s.answer)
			w.runJob(t.Context(), t, c.collector, onC)
			time.Sleep(10 * time.Minute)
			for n := range 3000 {
				s.events = append(s.events, c.event(n, w.head(t)))
			}
			var counted float64
			behind := false
			for run := range 8 {
				w.restart(t, path) // as after kill -9: only the state directory remains
				w.data(s.answer)
				samples, _ := w.runJob(t.Context(), t, c.collector, onC)
				now := sum(t, samples, c.family)
				if now < counted || now > float64(len(s.events)) {
					t.Errorf("%s: run %d: %v after %v, of %d", c.collector, run, now, counted, len(s.events))
				}
				counted = now
				at := valueOf(t, samples, `avax_address_`+c.collector+`_read_timestamp_seconds{chain="C",address="`+simnet.Account+`"}`)
				behind = behind || at < float64(time.Now().Unix())
				time.Sleep(10 * time.Minute)
				if run < 4 {
					s.events = append(s.events, c.event(10_000+1000*run, w.head(t)))
				}
			}
			if counted != float64(len(s.events)) || !behind {
				t.Errorf("%s: counted %v of %d events; was behind: %v", c.collector, counted, len(s.events), behind)
			}
		}
	})
}

// A message that was pending for longer than the list is read again is delivered as soon as the service says so.
func TestDeliveryOfAnOldMessageIsSeenByID(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		sent := time.Now()
		s := &service{ofItem: map[string]string{"/v1/icm/messages/old": message("old", data.ICMPending, "T", sent)}}
		w.data(s.answer)
		s.events = []serviceEvent{{sent.Unix(), message("old", data.ICMPending, "T", sent)}}
		run := func() (pending, delivered float64) {
			samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
			return sum(t, samples, "avax_icm_messages", "pending"), sum(t, samples, "avax_icm_messages", `"delivered`)
		}
		run()
		for n := range 2000 {
			at := sent.Add(time.Duration(n+1) * time.Minute)
			s.events = append(s.events, serviceEvent{at.Unix(), message(fmt.Sprint("n", n), data.ICMDelivered, "T", at)})
		}
		time.Sleep(3 * 24 * time.Hour)
		run()
		time.Sleep(2 * time.Minute)
		if pending, delivered := run(); pending != 1 || delivered != 2000 {
			t.Errorf("before: %v pending, %v delivered", pending, delivered)
		}
		s.ofItem["/v1/icm/messages/old"] = message("old", data.ICMDelivered, "T", sent)
		time.Sleep(2 * time.Minute)
		if pending, delivered := run(); pending != 0 || delivered != 2001 {
			t.Errorf("after: %v pending, %v delivered", pending, delivered)
		}
	})
}

// A list of rewards has several assets, amounts beyond 64 bits and rewards that cannot be decoded, and the service corrects it.
func TestRewardsFollowTheServicesList(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		path, id := t.TempDir(), w.network.NodeID("alpha")
		list, fails := "", false
		reward := func(utxo, asset, amount, price string, index int) string {
			return fmt.Sprintf(`{"nodeId":"%s","rewardTxHash":"r","rewardType":"VALIDATOR","endTimestamp":%d,"utxoId":"%s","outputIndex":%d,
				"reward":{"assetId":"%s","symbol":"%[5]s","denomination":%d,"amount":"%s"%s}}`, id, time.Now().Unix(), utxo, index, asset, map[string]int{"AVAX": 9, "OTHER": 6}[asset], amount, price)
		}
		const price = `,"historicalPrice":{"currencyCode":"usd","value":2}`
		read := func() (samples string) {
			w.restart(t, path)
			w.data(func(r *http.Request) string {
				if fails {
					return "<html>"
				}
				return `{"historicalRewards":[` + list + `]}`
			})
			samples, _ = w.run(t, "rewards", "alpha")
			return samples
		}
		run := func(want map[string]float64) {
			t.Helper()
			samples := read()
			for family, n := range want {
				if got := sum(t, samples, family, `"VALIDATOR`); got != n {
					t.Errorf("%s: %v, want %v", family, got, n)
				}
			}
			if want := fmt.Sprintf(`avax_rewards_malformed{node_id="%s"} %d`, id, strings.Count(list, "[]")); !strings.Contains(samples, want) {
				t.Errorf("want %s:\n%s", want, samples)
			}
		}
		list = ""
		run(map[string]float64{"avax_rewards_total": 0, "avax_rewards_avax_total": 0})
		list = reward("a", "AVAX", "1000000000", price, 0) + "," + reward("b", "OTHER", "1000000", "", 0) + ",[]"
		run(map[string]float64{"avax_rewards_total": 2, "avax_rewards_avax_total": 1, "avax_rewards_other_assets_total": 1, "avax_rewards_value": 2,
			"avax_rewards_unpriced": 1})
		fails = true // after a restart, the totals are those of the state directory
		run(map[string]float64{"avax_rewards_total": 2, "avax_rewards_avax_total": 1})
		fails = false
		list = reward("a", "AVAX", "1000000000", strings.Replace(price, "2", "3", 1), 7) + "," + reward("c", "AVAX", "20000000000000000000000000000", "", 0)
		if got := sum(t, read(), "avax_rewards_total", `"VALIDATOR`); got != 3 {
			t.Errorf("%v rewards after one reading without b, want 3", got)
		}
		run(map[string]float64{"avax_rewards_total": 2, "avax_rewards_avax_total": 2e19 + 1, "avax_rewards_other_assets_total": 0, "avax_rewards_value": 3,
			"avax_rewards_unpriced": 1})
	})
}

// A service whose page tokens are wrong causes an error that blames no setting. Events that were counted stay counted.
func TestWrongPageTokensAreTheServicesError(t *testing.T) {
	for name, fails := range map[string]string{
		"repeats its token":   `{"messages":[],"nextPageToken":"same"}`,
		"its tokens expire":   `{"statusCode":400,"error":"Bad Request","message":"pageToken is expired"}`,
		"its tokens are lost": `{"statusCode":400,"error":"Bad Request","message":["invalid page token"]}`,
	} {
		inWorld(t, func(t *testing.T, w world) {
			w.data(func(r *http.Request) string {
				if r.URL.Query().Get("pageToken") == "" {
					return `{"messages":[` + message("m", data.ICMPending, "T", time.Now()) + `],"nextPageToken":"same"}`
				}
				return fails
			})
			for range 3 {
				_, err := w.run(t, "icm", simnet.Account)
				if do := remedy.Of(err).Do; scrape.OutcomeOf(err) != scrape.Malformed || !strings.HasPrefix(do, "The error is in the service: report it") ||
					strings.Contains(err.Error(), "AVAX_") {
					t.Errorf("%s: %v: %s", name, err, do)
				}
				time.Sleep(2 * time.Minute)
			}
			w.data((&service{events: []serviceEvent{{time.Now().Unix(), message("m", data.ICMPending, "T", time.Now())}}}).answer)
			samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
			if n := sum(t, samples, "avax_icm_messages"); n != 1 {
				t.Errorf("%s: %v messages after the recovery", name, n)
			}
		})
	}
}

// If the pages of a list of events repeat for ever, each time with a new token, the run fails after a few minutes with an error that names the list. No
// event counts twice, and after the recovery the next run is complete.
func TestPagesThatRepeatWithNewTokensEnd(t *testing.T) {
	for _, pages := range []int{1, 3, 17} {
		for name, list := range map[string]struct {
			target, family, op string
			event              func(n int, head uint64) serviceEvent
		}{
			"transfers": {onC, transfersFamily, ":listErc721", nftTransfer},
			"internal_transactions": {onC, internalsFamily, ":listInternals",
				func(n int, head uint64) serviceEvent { return internalCall(fmt.Sprint("0x", n), head) }},
			"asset_transactions": {"", assetsFamily, "/transactions", func(n int, _ uint64) serviceEvent { return assetTransaction(n, time.Now()) }},
			"icm": {simnet.Account, "avax_icm_messages", "icm", func(n int, _ uint64) serviceEvent {
				return serviceEvent{time.Now().Unix(), message(fmt.Sprint("m", n), data.ICMPending, "T", time.Now())}
			}},
		} {
			inWorld(t, func(t *testing.T, w world) {
				if list.target == "" {
					list.target = specOf(t, name).Bind(w.ups)[0].Target.String()
				}
				if _, err := w.run(t, name, list.target); err != nil { // the beginning of monitoring
					t.Fatal(name, err)
				}
				samples, _ := w.run(t, name, list.target)
				before, s, requests := sum(t, samples, list.family), &service{}, 0
				for n := range pages * 100 {
					s.events = append(s.events, list.event(n, w.head(t)))
				}
				good, endless := s.answer, true
				w.data(func(r *http.Request) string {
					if !endless {
						return good(r)
					}
					token, query := 0, r.URL.Query()
					if text := query.Get("pageToken"); text != "" {
						_, _ = fmt.Sscanf(text, "fresh%d", &token)
					}
					requests++
					first, ofPage := *r.URL, &service{events: s.events[token%pages*100 : (token%pages+1)*100]}
					query.Del("pageToken")
					first.RawQuery = query.Encode()
					answer := ofPage.answer(&http.Request{URL: &first})
					return strings.Replace(answer, `"nextPageToken":""`, fmt.Sprintf(`"nextPageToken":"fresh%d"`, token+1), 1)
				})
				var err error
				for range 30 {
					time.Sleep(5 * time.Minute)
					if _, err = w.run(t, name, list.target); err != nil {
						break
					}
				}
				if scrape.OutcomeOf(err) != scrape.Malformed || !strings.Contains(err.Error(), "the pages repeat") || !strings.Contains(err.Error(), list.op) {
					t.Fatalf("%s, %d pages: %v after %d requests", name, pages, err, requests)
				}
				endless = false
				time.Sleep(5 * time.Minute)
				samples, err = w.run(t, name, list.target)
				if got := sum(t, samples, list.family); err != nil || got != before+float64(pages*100) {
					t.Errorf("%s, %d pages: %v events after the recovery, want %v and %d: %v", name, pages, got, before, pages*100, err)
				}
			})
		}
	}
}

// increase() misses the first event of a series that is born with it. So each counter has a series at 0, or at the total of the state
// directory, before its first event: also if the service fails from the start, and for types that are not known.
func TestCountersAreThereBeforeTheirFirstEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		path := t.TempDir()
		lists := []struct {
			collector, target, family, kind string
			event                           serviceEvent // without a position: in the newest block
		}{
			{"transfers", onC, transfersFamily, "in", serviceEvent{}},
			{"internal_transactions", onC, internalsFamily, "in", serviceEvent{}},
			{"asset_transactions", exm, assetsFamily, "other", serviceEvent{time.Now().Unix(),
				fmt.Sprintf(`{"txHash":"t","txType":"FutureTx","timestamp":%d}`, time.Now().Unix())}},
			{
				"rewards",
				"alpha",
				"avax_rewards_total",
				"other",
				serviceEvent{0, fmt.Sprintf(`{"nodeId":"%s","rewardTxHash":"r","rewardType":"FUTURE","endTimestamp":%d,"utxoId":"u","outputIndex":1,
				"reward":{"assetId":"A","symbol":"AVAX","denomination":9,"amount":"1"}}`, w.network.NodeID("alpha"), time.Now().Unix())},
			},
		}
		for _, c := range lists {
			s := &service{}
			fails := c.collector != "rewards" // whose total is not known before the service answers
			run := func(want string) {
				t.Helper()
				w.data(func(r *http.Request) string {
					if fails {
						return `{"statusCode":500,"error":"Internal Server Error","message":"down"}`
					}
					return s.answer(r)
				})
				samples, err := w.run(t, c.collector, c.target)
				if i := strings.Index(samples, c.family+"{"); (err != nil) != fails || fails && !metric.HasSamples(err) || i < 0 {
					t.Fatalf("%s: %v\n%s", c.collector, err, samples)
				}
				if got := fmt.Sprint(sum(t, samples, c.family, `"`+c.kind)); got != want {
					t.Errorf("%s: %s, want %s", c.collector, got, want)
				}
			}
			w.restart(t, path)
			run("0")
			fails = false
			time.Sleep(time.Hour)
			run("0")
			switch c.collector {
			case "transfers":
				c.event = nftTransfer(1, w.head(t))
			case "internal_transactions":
				c.event = internalCall("0x1", w.head(t))
			}
			s.events = append(s.events, c.event)
			time.Sleep(time.Hour)
			run("1")
			w.restart(t, path)
			fails = true
			run("1")
		}
	})
}
