package collectors_test

import (
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// counts returns the sums of a page over all lanes, by status.
func counts(page string) map[string]int {
	all := map[string]int{}
	for line := range strings.Lines(page) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), " "); found && strings.HasPrefix(name, "avax_icm_messages{") {
			_, status, _ := strings.Cut(name, `status="`)
			n, _ := strconv.Atoi(value)
			all[strings.TrimSuffix(status, `"}`)] += n
		}
	}
	return all
}

// restartWith replaces the upstreams as a restart does: only what is in the directory is kept.
func (w *world) restartWith(t *testing.T, dir string, names ...string) {
	t.Helper()
	w.ups = upstreams(t, w, w.network)
	w.ups.State = must.Get(state.Open(dir))(t)
	w.setNodes(t, names...)
}

// 10,000 messages between three chains, while nodes limit the range of a query, the exporter restarts, is killed with an old state, and nodes show blocks
// that are not accepted: each message is counted once, none is lost, and none that was delivered is reported as waiting.
func TestICMChainsCountsEachMessageOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		names := []string{"foxtrot"}
		dir, old := t.TempDir(), t.TempDir()
		for _, c := range []string{"C", "examplel1", "examplepoa"} {
			w.network.SetBlockPeriod(c, 2*time.Second)
		}
		w.restartWith(t, dir, names...)
		began := time.Now()
		first := w.page(t, "icm_chains")
		if n := counts(first); len(n) > 0 {
			t.Errorf("before the first message: %v", n)
		}
		time.Sleep(time.Minute)
		for _, lane := range [][2]string{{"C", "examplel1"}, {"examplel1", "C"}, {"C", "examplepoa"}, {"examplepoa", "examplel1"}, {"examplel1", "examplepoa"}} {
			w.network.SendICM(lane[0], lane[1], 4*time.Second)
		}
		w.network.ResetCalls()
		runs := 0
		for minute := range icmMinutes {
			time.Sleep(time.Minute)
			switch {
			case minute == 20: // gateways
				w.network.Node("foxtrot").LimitLogs(9)
			case minute == 40:
				w.network.Node("foxtrot").LimitLogs(0)
			case minute%10 == 3: // a node shows other blocks, and the exporter restarts meanwhile
				w.network.Node("foxtrot").Fork("C")
				w.network.Node("foxtrot").Fork("examplel1")
				time.Sleep(20 * time.Second)
				w.page(t, "icm_chains")
				w.restartWith(t, dir, names...)
			case minute%10 == 4:
				w.network.Node("foxtrot").CatchUp("C")
				w.network.Node("foxtrot").CatchUp("examplel1")
			case minute%10 == 6:
				copyFiles(t, dir, old)
			case minute%10 == 8: // killed, and the last two runs were not written
				copyFiles(t, old, dir)
				w.restartWith(t, dir, names...)
				continue
			case minute == 75: // off for a while
				w.restartWith(t, dir, names...)
				time.Sleep(15 * time.Minute)
			}
			wantNoSeries(t, w.page(t, "icm_chains"), "avax_icm_oldest_message_timestamp_seconds") // a relayer needs seconds
			runs++
		}
		w.network.StopICM()
		time.Sleep(3 * time.Minute)
		page := w.page(t, "icm_chains")
		sent, delivered := w.network.CountICM(began)
		got := counts(page)
		t.Logf("%d messages sent, %d delivered: %v", sent, delivered, got)
		if sent < 10_000 || sent != delivered {
			t.Fatalf("%d sent, %d delivered: the test needs 10,000, all delivered", sent, delivered)
		}
		if got["delivered"] != delivered || got["pending"]+got["given_up"]+got["execution_failed"] > 0 {
			t.Errorf("%d delivered: counted %v", delivered, got)
		}
		calls := map[string]int{}
		for _, c := range w.network.Calls() {
			if strings.HasPrefix(c.Method, "eth_") {
				calls[c.Method]++
			}
		}
		files, size := must.Get(filepath.Glob(filepath.Join(dir, "*.json")))(t), int64(0)
		for _, file := range files {
			size += must.Get(os.Stat(file))(t).Size()
		}
		t.Logf("%d runs over three chains: calls %v; state of %d KiB", runs, calls, size>>10)
		if size > 256<<10 {
			t.Error("the state keeps what no run reads again")
		}
	})
}

func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(from, "*.json"))
	for _, file := range files {
		must.Do(t, os.WriteFile(filepath.Join(to, filepath.Base(file)), must.Get(os.ReadFile(file))(t), 0o600))
	}
}

const icmMinutes = 125

// lane is a part of the labels of the messages from the C-Chain to examplel1.
const lane = `{address="` + simnet.Messenger + `",source="C",destination="examplel1"`

// later lets time pass, with a run each minute, and returns the samples of the last.
func (w world) later(t *testing.T, minutes int) (page string) {
	t.Helper()
	for range minutes {
		time.Sleep(time.Minute)
		page = w.page(t, "icm_chains")
	}
	return page
}

// icmWorld runs the collector once over the nodes, and sends messages from the C-Chain to examplel1.
func icmWorld(t *testing.T, names []string, test func(t *testing.T, w world)) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, names...)
		w.page(t, "icm_chains")
		time.Sleep(10 * time.Second)
		w.network.SendICM("C", "examplel1", 20*time.Second)
		test(t, w)
	})
}

// Without a relayer, messages wait. Their age is that of the oldest one, and its ID and block are exported.
func TestICMChainsWaitWithoutARelayer(t *testing.T) {
	icmWorld(t, []string{"alpha", "foxtrot"}, func(t *testing.T, w world) {
		wantNoSeries(t, w.later(t, 3), "avax_icm_oldest_message_timestamp_seconds")
		w.network.HoldICM(true)
		began := time.Now()
		page := w.later(t, 10)
		oldest := valueOf(t, page, "avax_icm_oldest_pending_timestamp_seconds"+lane+"}")
		if age := float64(began.Unix()) - oldest; age < -20 || age > 60 {
			t.Errorf("the oldest message was sent %g s before the relayer stopped", age)
		}
		if !strings.Contains(page, `status="pending",why="waiting",message="0x`) {
			t.Errorf("no message is named:\n%s", page)
		}
		w.network.HoldICM(false)
		page = w.later(t, 2)
		wantNoSeries(t, page, "avax_icm_oldest_message_timestamp_seconds")
		if n := counts(page); n["pending"] > 3 || n["delivered"] < 30 {
			t.Errorf("after the relayer has resumed: %v", n)
		}
	})
}

// A call that fails counts as failed until it is repeated with success.
func TestICMChainsFailedCallsUntilRepeated(t *testing.T) {
	icmWorld(t, []string{"alpha", "foxtrot"}, func(t *testing.T, w world) {
		w.network.FailICM(true)
		w.later(t, 5)
		w.network.FailICM(false)
		page := w.later(t, 10)
		if n := counts(page); n["execution_failed"] < 10 || !strings.Contains(page, `status="execution_failed",why="",message="0x`) {
			t.Errorf("no failed calls: %v", n)
		}
		w.network.RetryICM()
		page = w.later(t, 3)
		if n := counts(page); n["execution_failed"] != 0 {
			t.Errorf("after the repetition: %v", n)
		}
		wantNoSeries(t, page, `status="execution_failed",why="",message=`)
		sent, _ := w.network.CountICM(time.Now().Add(-18*time.Minute - 10*time.Second))
		if n := counts(page); n["delivered"]+n["pending"] != sent {
			t.Errorf("%d sent, counted %v", sent, n)
		}
	})
}

// If only messages that paid more were delivered later, a message waits because of its fee. Otherwise later ones have overtaken it.
func TestICMChainsMessageWithoutAFee(t *testing.T) {
	icmWorld(t, []string{"alpha", "foxtrot"}, func(t *testing.T, w world) {
		w.network.StopICM()
		w.later(t, 3)
		w.network.PaidICM(true)
		w.network.SendICM("C", "examplel1", 20*time.Second)
		page := w.later(t, 9)
		if !strings.Contains(page, `why="fee",message="0x`) {
			t.Errorf("no message waits because of its fee:\n%s", page)
		}
		w.network.PaidICM(false)
		if page = w.later(t, 5); !strings.Contains(page, `why="overtaken",message="0x`) {
			t.Errorf("no message was overtaken:\n%s", page)
		}
	})
}

// A message that nobody delivers does not hide that the relayer stops: the first message after the last delivered one is exported too.
func TestICMChainsRelayerStopsBehindAnOvertakenMessage(t *testing.T) {
	icmWorld(t, []string{"alpha", "foxtrot"}, func(t *testing.T, w world) {
		w.network.StopICM()
		w.later(t, 3)
		w.network.PaidICM(true)
		w.network.SendICM("C", "examplel1", 20*time.Second)
		page := w.later(t, 15)
		wantNoSeries(t, page, `why="waiting"`)
		w.network.HoldICM(true)
		stopped := time.Now()
		page = w.later(t, 10)
		const family = "avax_icm_oldest_message_timestamp_seconds"
		ages := map[string]time.Duration{}
		for line := range strings.Lines(page) {
			if name, value, found := strings.Cut(strings.TrimSpace(line), " "); found && strings.HasPrefix(name, family+lane) {
				_, why, _ := strings.Cut(name, `why="`)
				why, _, _ = strings.Cut(why, `"`)
				ages[why] = stopped.Sub(time.Unix(int64(must.Get(strconv.ParseFloat(value, 64))(t)), 0))
			}
		}
		if w, f := ages["waiting"], ages["fee"]; len(ages) != 2 || w < -2*time.Minute || w > 2*time.Minute || f < 14*time.Minute {
			t.Errorf("sent before the relayer stopped: %v, want one that waits since then, and one that paid too little", ages)
		}
	})
}

// A message that may have arrived before its destination was read does not wait: the messenger of one chain was another one for a while, and the source
// chain is read again.
func TestICMChainsMessageFromBeforeTheDestinationWasRead(t *testing.T) {
	const other = "0x00000000000000000000000000000000000000aa"
	icmWorld(t, []string{"foxtrot"}, func(t *testing.T, w world) {
		w.later(t, 3)
		w.ups.Watch.Messengers = []collector.Item{{Name: "examplel1", Value: other}}
		w.later(t, 1)
		w.ups.Watch.Messengers = nil
		w.network.StopICM()
		if n := counts(w.later(t, 3)); n["pending"] > 0 {
			t.Errorf("messages that have arrived count as waiting: %v", n)
		}
	})
}

// Anybody may send a message again until its receipt arrives. A delivered message does not wait because of that.
func TestICMChainsMessageSentAgainDoesNotWait(t *testing.T) {
	icmWorld(t, []string{"foxtrot"}, func(t *testing.T, w world) {
		began := time.Now()
		w.later(t, 10)
		w.network.StopICM()
		w.later(t, 5)
		w.network.ResendICM(14 * time.Minute)
		page := w.later(t, 3)
		_, delivered := w.network.CountICM(began.Add(-time.Second))
		if n := counts(page); n["pending"] > 0 || n["delivered"] != delivered {
			t.Errorf("%d delivered, counted %v", delivered, n)
		}
	})
}

// A receipt counts although its message is no longer stored, and once.
func TestICMChainsReceipts(t *testing.T) {
	icmWorld(t, []string{"foxtrot"}, func(t *testing.T, w world) {
		page := w.later(t, 90)
		receipts := valueOf(t, page, "avax_icm_receipts"+lane+"}")
		if receipts < 88 || receipts > 105 {
			t.Errorf("%g receipts, want those of the messages of the first half hour and some from before", receipts)
		}
	})
}

// While it is not known what the destination has received, no message waits there.
func TestICMChainsUnreadDestinationIsNotBlamed(t *testing.T) {
	icmWorld(t, []string{"alpha", "foxtrot"}, func(t *testing.T, w world) {
		w.later(t, 3)
		w.network.Node("alpha").SetChain("examplel1", simnet.Untracked)
		w.network.Node("foxtrot").Inject(simnet.Refused(-32000, "internal"), "eth_getLogs")
		time.Sleep(20 * time.Minute)
		spec, job := w.job(t, "icm_chains", "network")
		page, _, err := once(t.Context(), spec, job)
		if err == nil || !strings.Contains(err.Error(), "examplel1") {
			t.Errorf("the run does not name the chain: %v", err)
		}
		wantNoSeries(t, page, "avax_icm_oldest_pending_timestamp_seconds"+lane)
		wantNoSeries(t, page, `destination="examplel1",status="pending",why=`)
		if n := counts(page); n["pending"] < 30 {
			t.Errorf("the messages of the last minutes are not counted: %v", n)
		}
		w.network.Node("foxtrot").Recover()
		if n := counts(w.later(t, 2)); n["pending"] > 4 {
			t.Errorf("after the node answers again: %v", n)
		}
	})
}

// A node that lacks its logs takes nothing away, whether it is the only one or one of three.
func TestICMChainsNodeWithoutLogs(t *testing.T) {
	for _, names := range [][]string{{"foxtrot"}, {"foxtrot", "alpha", "bravo"}} {
		icmWorld(t, names, func(t *testing.T, w world) {
			before := counts(w.later(t, 5))
			w.network.Node("foxtrot").Lose("C", simnet.Logs)
			w.network.Node("foxtrot").Lose("examplel1", simnet.Logs)
			now := counts(w.later(t, 1))
			if now["delivered"] < before["delivered"] || now["delivered"]+now["pending"] < before["delivered"]+before["pending"] {
				t.Errorf("%v: %v became %v", names, before, now)
			}
			w.network.Node("foxtrot").Restore()
			page := w.later(t, 2)
			sent, _ := w.network.CountICM(time.Now().Add(-8*time.Minute - 1*time.Second))
			if n := counts(page); n["delivered"]+n["pending"] != sent {
				t.Errorf("%v: %d sent, counted %v", names, sent, n)
			}
		})
	}
}

// A node whose data are deleted syncs its state, and has no logs of the blocks before: others are asked. If there are no others, the messages are counted from then on,
// and the run says so. None is lost without a word.
func TestICMChainsNodeThatSyncedItsState(t *testing.T) {
	for _, away := range []time.Duration{10 * time.Minute, 3 * time.Hour} { // it fetches all blocks of this time, or not
		for _, names := range [][]string{{"foxtrot"}, {"foxtrot", "alpha", "bravo"}} {
			icmWorld(t, names, func(t *testing.T, w world) {
				counted := time.Now()
				w.later(t, 5)
				time.Sleep(away)
				w.network.Node("foxtrot").Lose("C", simnet.Past)
				w.network.Node("foxtrot").Lose("examplel1", simnet.Past)
				spec, j := w.job(t, "icm_chains", "network")
				_, _, err := once(t.Context(), spec, j)
				if alone := len(names) == 1; alone {
					if counted = time.Now().Add(time.Minute); err == nil || !strings.Contains(err.Error(), "synced the state") || !strings.Contains(err.Error(), "counted from now on") {
						t.Errorf("%s, %v: %v", away, names, err)
					}
				} else if err != nil {
					t.Errorf("%s, %v: %v", away, names, err)
				}
				n := counts(w.later(t, 5))
				sent, _ := w.network.CountICM(counted.Add(-time.Second))
				if got := n["delivered"] + n["pending"]; got > sent || got < sent-1 { // one may be in a block before
					t.Errorf("%s, %v: %d sent, counted %v", away, names, sent, n)
				}
			})
		}
	}
}

// The range that a gateway accepts is learned, and doubled in each run while it accepts more.
func TestICMChainsRangeGrowsAgain(t *testing.T) {
	icmWorld(t, []string{"foxtrot"}, func(t *testing.T, w world) {
		for _, c := range []string{"C", "examplel1"} {
			w.network.SetBlockPeriod(c, 2*time.Second)
		}
		queries := func() (n int) {
			w.network.ResetCalls()
			w.later(t, 5)
			for _, c := range w.network.Calls() {
				if c.Method == "eth_getLogs" {
					n++
				}
			}
			return n
		}
		w.network.Node("foxtrot").LimitLogs(9)
		w.later(t, 3)
		limited := queries()
		w.network.Node("foxtrot").LimitLogs(0)
		w.later(t, 10)
		if n := queries(); n > limited/4 {
			t.Errorf("%d queries in five minutes with a limit, %d ten minutes after it", limited, n)
		}
	})
}

// After a pause, a slow node has no time for as many blocks as it usually accepts: the runs ask for fewer, and reach the newest block.
func TestICMChainsSlowNodeAfterAPause(t *testing.T) {
	icmWorld(t, []string{"foxtrot"}, func(t *testing.T, w world) {
		w.network.SetBlockPeriod("C", 2*time.Second)
		w.later(t, 3)
		*w.otherwise = func(_, method string, params []any) string {
			if filter, is := params[0].(map[string]any); is && method == "eth_getLogs" {
				from := must.Get(strconv.ParseUint(filter["fromBlock"].(string), 0, 64))(t)
				to := must.Get(strconv.ParseUint(filter["toBlock"].(string), 0, 64))(t)
				time.Sleep(time.Duration(to-from) * 10 * time.Millisecond)
			}
			return ""
		}
		time.Sleep(90 * time.Minute)
		spec, j := w.job(t, "icm_chains", "network")
		var err error
		for range 20 {
			time.Sleep(time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			_, _, err = once(ctx, spec, j)
			cancel()
		}
		if err != nil {
			t.Errorf("after 20 runs: %v", err)
		}
	})
}

// Another messenger is configured for all chains or for one. Its messages are others.
func TestICMChainsOtherMessenger(t *testing.T) {
	const other = "0x00000000000000000000000000000000000000aa"
	icmWorld(t, []string{"foxtrot"}, func(t *testing.T, w world) {
		if n := counts(w.later(t, 3)); n["delivered"] == 0 {
			t.Errorf("the usual messenger: %v", n)
		}
		w.ups.Watch.Messengers = []collector.Item{{Name: "C", Value: other}}
		w.network.ResetCalls()
		w.later(t, 3)
		found := false
		for _, c := range w.network.Calls() {
			found = found || c.Method == "eth_getLogs"
		}
		if n := counts(w.later(t, 3)); !found || n["pending"]+n["delivered"] > 0 {
			t.Errorf("logs asked: %t; the messages of the usual messenger are counted: %v", found, n)
		}
	})
}

// Where both sources know a message, a lasting difference is counted and named.
func TestICMChainsAndDataServiceAreCompared(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.EVM = collector.Unnamed(simnet.Account)
		both := func(minutes int) (page string) {
			for range minutes {
				time.Sleep(time.Minute)
				page = w.page(t, "icm_chains")
				w.page(t, "icm")
			}
			return page
		}
		series := `avax_icm_contradicted_messages{address="` + simnet.Account + `"}`
		wantSeries(t, both(30), series, "0")
		w.network.SetIndexLag("examplel1", 3*time.Hour)
		if n := valueOf(t, both(45), series); n == 0 {
			t.Error("the Data service does not know deliveries, and nothing differs")
		}
	})
}

// An endpoint adds a log to each log, or writes logs in another way: what is no event of the messenger in these blocks changes nothing, and no message with
// data that the messenger does not write waits.
func TestICMChainsForgedLogsChangeNothing(t *testing.T) {
	const noID = "0x01"
	// also returns a log, and one like it about another message that differs in a field.
	also := func(field string, value func(log map[string]any) any) func(log map[string]any) []any {
		return func(log map[string]any) []any {
			one := maps.Clone(log)
			topics := slices.Clone(log["topics"].([]any))
			topics[1] = "0x" + strings.Repeat("ab", 32)
			one["topics"] = topics
			one[field] = value(one)
			return []any{one, log}
		}
	}
	is := func(v any) func(map[string]any) any { return func(map[string]any) any { return v } }
	topics := func(change func(of []any) []any) func(map[string]any) any {
		return func(log map[string]any) any { return change(slices.Clone(log["topics"].([]any))) }
	}
	lies := map[string]func(log map[string]any) []any{
		"":                   nil,
		"another contract":   also("address", is("0x"+strings.Repeat("66", 20))),
		"removed":            also("removed", is(true)),
		"a block ahead":      also("blockNumber", is("0xffffff")),
		"a block long ago":   also("blockNumber", is("0x1")),
		"another block hash": also("blockHash", is("0x"+strings.Repeat("99", 32))),
		"no topics":          also("topics", is([]any{})),
		"one topic":          also("topics", topics(func(of []any) []any { return of[:1] })),
		"a hundred topics":   also("topics", topics(func(of []any) []any { return slices.Repeat(of, 50) })),
		"another event":      also("topics", topics(func(of []any) []any { return slices.Replace(of, 0, 1, of[1]) })),
		"an ID of one byte":  also("topics", topics(func(of []any) []any { return slices.Replace(of, 1, 2, any(noID)) })),
		"no chain":           also("topics", topics(func(of []any) []any { return slices.Replace(of, 2, 3, any(noID)) })),
		"a chain of nobody":  also("topics", topics(func(of []any) []any { return slices.Replace(of, 2, 3, of[1]) })),
		"twice":              func(log map[string]any) []any { return []any{log, log} },
		"upper case":         func(log map[string]any) []any { return []any{upper(log)} },
	}
	word := func(n string) string { return strings.Repeat("0", 64-len(n)) + n }
	for name, data := range map[string]string{
		"data of no byte": "0x", "data of half a byte": "0x0", "data of 31 bytes": "0x" + word("60")[2:], "data without hex digits": "0x" + strings.Repeat("zz", 96),
		"data that begins far behind its end": "0x" + word("ffffffffffffffff") + word("1") + word("1"), "data that begins at 2^255": "0x8" + word("")[1:] + word("1") + word("1"),
		"data of 32 KiB": "0x" + strings.Repeat("f", 1<<16),
	} {
		lies[name] = also("data", is(data))
	}
	truth := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(lies)) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				lying := wiretest.Between(w, func(c *wiretest.Call) (*http.Response, error) {
					if name == "" || c.Method != "eth_getLogs" {
						return c.Ask()
					}
					return c.Changed(func(answer map[string]any) {
						logs, _ := answer["result"].([]any)
						all := []any{}
						for _, log := range logs {
							all = append(all, lies[name](log.(map[string]any))...)
						}
						answer["result"] = all
					})
				})
				w.ups.SetNodes([]*nodes.Node{nodes.New(node.New(open(t, lying, "foxtrot")))})
				w.page(t, "icm_chains")
				time.Sleep(10 * time.Second)
				w.network.SendICM("C", "examplel1", 20*time.Second)
				w.later(t, 20)
				w.network.StopICM()
				got := counts(w.later(t, 10))
				if name == "" {
					truth = got
				}
				if strings.HasPrefix(name, "data") { // the delivery of a message has no need of data: only its sending is not known
					delete(got, "delivered")
					delete(got, "delivered_source_not_indexed")
				}
				for status, n := range got {
					if n != truth[status] || truth["delivered"] < 50 {
						t.Errorf("%v, the truth is %v", got, truth)
					}
				}
			})
		})
	}
}

// upper writes the digits of a log in upper case.
func upper(log map[string]any) map[string]any {
	one := maps.Clone(log)
	of := func(v any) any { return "0x" + strings.ToUpper(strings.TrimPrefix(v.(string), "0x")) }
	for _, name := range []string{"address", "data"} {
		one[name] = of(log[name])
	}
	var topics []any
	for _, topic := range log["topics"].([]any) {
		topics = append(topics, of(topic))
	}
	one["topics"] = topics
	return one
}
