package collectors_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

const (
	opRewards   = "GET /v1/networks/{network}/rewards"
	opBlock     = "GET /v1/chains/{chainId}/blocks/{blockId}"
	opMessages  = "GET /v1/icm/addresses/{address}/messages"
	opBalance   = "GET /v1/chains/{chainId}/addresses/{address}/balances:getNative"
	opSignature = "GET /v1/signatureAggregator/{network}/aggregateSignatures/{txHash}"
)

// restart simulates a new process that uses the state directory of the previous one.
func (w *world) restart(t *testing.T, path string) {
	t.Helper()
	dir := must.Get(state.Open(path))(t)
	w.ups = upstreams(t, w, w.network)
	w.ups.State = dir
}

// runJob runs a collector's job for a target once and returns its samples and notes. The run must succeed.
func (w *world) runJob(ctx context.Context, t *testing.T, name, target string) (samples string, notes []string) {
	t.Helper()
	spec, j := w.job(t, name, target)
	samples, batch, err := once(ctx, spec, j)
	if err != nil {
		t.Errorf("%s of %s: %v", name, target, err)
	}
	return samples, batch.Notes()
}

// sum returns the sum of a family's series. It counts only series whose labels contain all the words.
func sum(t *testing.T, samples, family string, words ...string) (total float64) {
	t.Helper()
next:
	for line := range strings.Lines(samples) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(series, family+"{") {
			continue
		}
		for _, word := range words {
			if !strings.Contains(series, word+`"`) {
				continue next
			}
		}
		n := must.Get(strconv.ParseFloat(value, 64))(t)
		total += n
	}
	return total
}

func TestRewardTotalsContinueAfterARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		path := t.TempDir()
		w.restart(t, path)
		before, _ := w.runJob(t.Context(), t, "rewards", "alpha")
		if n := sum(t, before, "avax_rewards_total"); n != 8 {
			t.Fatalf("%v rewards", n)
		}
		for paid := range 5 {
			for range 2 {
				w.restart(t, path)
				w.network.ResetCalls()
				now, notes := w.runJob(t.Context(), t, "rewards", "alpha")
				if got, want := sum(t, now, "avax_rewards_total"), 8+float64(2*paid); got != want {
					t.Errorf("%v rewards, want %v", got, want)
				}
				if got := sum(t, now, "avax_rewards_avax_total", `"DELEGATOR`) - sum(t, before, "avax_rewards_avax_total", `"DELEGATOR`); got != float64(2*paid) {
					t.Errorf("%v AVAX, want %v", got, 2*paid)
				}
				if calls := w.callCount("data", opRewards); calls != 1 || len(notes) > 0 {
					t.Errorf("%d calls, want 1, notes %q: the history was read again", calls, notes)
				}
			}
			w.network.PayReward("alpha", data.RewardDelegator, 1_000_000_000)
			w.network.PayReward("alpha", data.RewardDelegator, 1_000_000_000) // two rewards in the same second
			time.Sleep([]time.Duration{time.Minute, time.Hour, 5 * 24 * time.Hour, 10 * 24 * time.Hour, time.Hour}[paid])
		}
	})
}

// The Data service does not document the order of its list of rewards.
func TestRewardsCountOnceInAnyOrder(t *testing.T) {
	for name, order := range map[string]simnet.RewardOrder{
		"by end": simnet.RewardsByEnd, "by start": simnet.RewardsByStart, "unordered": simnet.RewardsUnordered,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				w.network.OrderRewards(order)
				counted := func() float64 {
					t.Helper()
					samples, _ := w.runJob(t.Context(), t, "rewards", "alpha")
					return sum(t, samples, "avax_rewards_total")
				}
				if n := counted(); n != 8 {
					t.Fatalf("%v rewards, want 8", n)
				}
				for i := range 10 { // if the list is sorted by start, a reward for a longer stake is at another place
					w.network.PayRewardOf("alpha", data.RewardDelegator, 1_000_000_000, time.Now().Add(-time.Duration(40+40*i)*24*time.Hour))
					time.Sleep(24 * time.Hour)
				}
				if n := counted(); n != 18 {
					t.Errorf("%v rewards, want 18", n)
				}
				for range 250 { // three pages
					w.network.PayReward("alpha", data.RewardDelegator, 1_000_000_000)
					time.Sleep(time.Hour)
				}
				if counted(); counted() != 268 {
					t.Errorf("%v rewards, want 268", counted())
				}
				w.network.PayRewardOf("alpha", data.RewardDelegator, 1_000_000_000, time.Now().Add(-1000*24*time.Hour)) // listed on the last page
				for range 25 {
					time.Sleep(time.Hour)
					counted()
				}
				if n := counted(); n != 269 {
					t.Errorf("%v rewards after a day, want 269", n)
				}
			})
		})
	}
}

func TestItemsOnOverlappingPagesCountOnce(t *testing.T) {
	counted := func(overlap int) (page string) {
		synctest.Test(t, func(t *testing.T) {
			network := simnet.New(simnet.Options{Seed: 1, PageOverlap: overlap})
			w := world{network: network, otherwise: new(func(string, string, []any) string)}
			w.ups = upstreams(t, w, network)
			for range 150 {
				network.PayReward("alpha", data.RewardDelegator, 1_000_000_000)
				network.Deploy("C", simnet.Account)
			}
			network.SetBlockPeriod("X", time.Minute)
			time.Sleep(time.Minute)
			for range 2 {
				for _, collector := range []string{"rewards", "deployments", "transfers", "internal_transactions", "asset_transactions", "icm", "data_blockchains"} {
					page += w.page(t, collector)
				}
				time.Sleep(25 * time.Hour)
			}
		})
		return page
	}
	want := counted(0)
	if got := counted(3); got != want {
		t.Errorf("with overlapping pages:\n%s", cmp.Diff(want, got))
	}
	if n := sum(t, want, "avax_address_deployments_total", `chain="C`); n < 150 {
		t.Errorf("%v deployments, want more than one page of them", n)
	}
}

// longHistory pays so many rewards to alpha that a short run cannot read them all.
func longHistory(w world) (rewards int) {
	for range 450 {
		w.network.PayReward("alpha", data.RewardDelegator, 1_000_000_000)
		time.Sleep(time.Hour)
	}
	return 458
}

func TestLongRewardHistoryIsReadInParts(t *testing.T) {
	for name, c := range map[string]struct{ pause, enough time.Duration }{
		"at once":                      {time.Hour, 10 * time.Second},
		"after the page token expired": {25 * time.Hour, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				path, rewards := t.TempDir(), longHistory(w)
				for run := 1; ; run++ {
					w.restart(t, path)
					enough := c.enough
					if run <= 2 {
						enough = 10 * time.Second
					}
					ctx, cancel := context.WithTimeout(t.Context(), enough)
					samples, notes := w.runJob(ctx, t, "rewards", "alpha")
					cancel()
					if samples == "" && run < 10 {
						if len(notes) != 1 || !strings.Contains(notes[0], "takes several runs") {
							t.Errorf("run %d: %q", run, notes)
						}
						w.network.PayReward("alpha", data.RewardDelegator, 1_000_000_000)
						rewards++
						time.Sleep(c.pause)
						continue
					}
					if n := sum(t, samples, "avax_rewards_total"); n != float64(rewards) || run < 3 {
						t.Errorf("%v rewards after %d runs, want %d after several runs", n, run, rewards)
					}
					break
				}
			})
		})
	}
}

func TestRewardHistoryLeavesBudgetToOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		longHistory(w)
		w.network.ResetCalls()
		w.ups.Watch.Validators.IDs = []string{w.network.NodeID("alpha"), w.network.NodeID("bravo")}
		if page := w.page(t, "rewards"); sum(t, page, "avax_rewards_total", w.network.NodeID("alpha")) != 458 {
			t.Errorf("history not read completely:\n%s", page)
		}
		inMinute := 0
		calls := w.network.Calls()
		for i, c := range calls {
			n := 0
			for _, other := range calls[i:] {
				if other.At.Sub(c.At) < time.Minute {
					n += 100
				}
			}
			inMinute = max(inMinute, n)
		}
		if inMinute > 1500 {
			t.Errorf("%d compute units in a minute", inMinute)
		}
	})
}

func TestRewardGetsItsValueWhenThePriceIsKnown(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		before, _ := w.run(t, "rewards", "alpha")
		w.network.PayReward("alpha", data.RewardDelegator, 10_000_000_000)
		time.Sleep(time.Hour)
		fresh, _ := w.run(t, "rewards", "alpha")
		w.network.PayReward("alpha", "ANOTHER", 10_000_000_000)
		time.Sleep(time.Hour)
		w.page(t, "rewards")
		time.Sleep(23 * time.Hour)
		priced, _ := w.run(t, "rewards", "alpha")
		const family = "avax_rewards_value"
		if a, b := sum(t, before, family, "usd"), sum(t, fresh, family, "usd"); a != b || a == 0 {
			t.Errorf("value %v after a reward without a price, %v before", b, a)
		}
		if more := sum(t, priced, family, `DELEGATOR",currency="usd`) - sum(t, fresh, family, `DELEGATOR",currency="usd`); more < 10*20 || more > 10*40 {
			t.Errorf("value of 10 AVAX: %v", more)
		}
	})
}

func TestLateRewardsAreCounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.page(t, "rewards")
		w.network.SetIndexLag("P", 30*24*time.Hour) // no further blocks are indexed
		for range 9 {
			w.network.PayReward("alpha", data.RewardDelegator, 1_000_000_000)
			time.Sleep(24 * time.Hour)
			w.page(t, "rewards")
		}
		w.network.SetIndexLag("P", 2*time.Second)
		if samples, _ := w.runJob(t.Context(), t, "rewards", "alpha"); sum(t, samples, "avax_rewards_total") != 8+9 {
			t.Errorf("rewards missing:\n%s", samples)
		}
	})
}

// damage calls spoil for every file of a directory.
func damage(t *testing.T, path string, spoil func(file string) error) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		must.Do(t, spoil(f))
	}
}

func TestDamagedOrLostTotalsAreRebuilt(t *testing.T) {
	for name, spoil := range map[string]func(file string) error{
		"damaged": func(file string) error { return os.WriteFile(file, []byte(`{"Since`), 0o600) },
		"lost":    os.Remove,
		"edited":  func(file string) error { return os.WriteFile(file, []byte(`{}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				path := t.TempDir()
				w.restart(t, path)
				before, _ := w.runJob(t.Context(), t, "rewards", "alpha")
				damage(t, path, spoil)
				time.Sleep(time.Hour)
				w.restart(t, path)
				for run := range 2 {
					after, notes := w.runJob(t.Context(), t, "rewards", "alpha")
					if after != before {
						t.Errorf("run %d:\n%s\nwant\n%s", run, after, before)
					}
					if len(notes) > 0 {
						t.Errorf("run %d: notes %q", run, notes)
					}
				}
			})
		})
	}
}

func TestAnyStoredContentCausesNoPanic(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		path := t.TempDir()
		run := func() {
			w.restart(t, path)
			w.ups.Watch.EVM = w.ups.Watch.EVM[:1]
			w.ups.SetChains(w.ups.Chains()[:1])
			for _, collector := range []string{"rewards", "transfers", "internal_transactions", "asset_transactions", "icm", "nft_metadata"} {
				w.page(t, collector)
			}
		}
		run()
		for _, content := range []string{`null`, `{}`, `[]`, `7`,
			`{"Complete":true,"Events":7,"Rescanned":"x"}`,
			`{"Complete":{"Sums":{"VALIDATOR":null},"Counted":"AAAA","Malformed":-1},"Next":{"Sums":null},"Token":"x","Gap":true}`,
			`{"Events":{"Counted":null,"Pass":{"Seen":null,"From":-1},"Heads":[{}],"Newest":-1,"LowWater":-1},"Recent":{"x":null},"Lanes":[null,{}],"Counts":null}`,
		} {
			damage(t, path, func(file string) error { return os.WriteFile(file, []byte(content), 0o600) })
			run()
		}
	})
}

func TestTotalsGrowWithAnUnwritableDisk(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		full := filepath.Join(t.TempDir(), "file")
		must.Do(t, os.WriteFile(full, nil, 0o600))
		w.ups.State, _ = state.Open(full)
		_, first := w.runJob(t.Context(), t, "rewards", "alpha")
		w.network.PayReward("alpha", data.RewardDelegator, 1_000_000_000)
		time.Sleep(time.Hour)
		samples, second := w.runJob(t.Context(), t, "rewards", "alpha")
		if sum(t, samples, "avax_rewards_total") != 9 || len(second) != 1 || !slices.Contains(first, second[0]) {
			t.Errorf("%s\nnotes %q, then %q", samples, first, second)
		}
	})
}

func TestNodesWithOneIDShareTotals(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		var pool []*nodes.Node
		for _, name := range []string{"one", "other"} {
			up := must.Get(scrape.New(scrape.Options{Name: name, URL: "http://alpha.sim", Transport: w}))(t)
			pool = append(pool, nodes.New(node.New(up)))
		}
		w.ups.SetNodes(pool)
		for range 2 {
			if page := w.page(t, "rewards"); strings.Count(page, `type="VALIDATOR"}`) != 5 {
				t.Errorf("not exported once:\n%s", page)
			}
		}
		w.ups.SetNodes(pool[1:])
		if page := w.page(t, "rewards"); strings.Count(page, `type="VALIDATOR"}`) != 5 {
			t.Errorf("removed with the other node:\n%s", page)
		}
	})
}

func TestSubnetOfTwoMonitoredChainsIsExportedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		l1 := w.network.Chain("examplel1").ID
		w.ups.SetChains([]nodes.Chain{{Name: "one", Ref: l1}, {Name: "other", Ref: l1}, {Name: "C", Ref: "C"}})
		for range 2 {
			if page := w.page(t, "subnets"); strings.Count(page, "\navax_subnet_info{") != 1 {
				t.Errorf("not exported once:\n%s", page)
			}
		}
		w.ups.SetChains(w.ups.Chains()[1:])
		if page := w.page(t, "subnets"); strings.Count(page, "\navax_subnet_info{") != 1 {
			t.Errorf("removed with the other chain:\n%s", page)
		}
	})
}

func TestNewSubnetOwnerReplacesThePreviousOne(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetOwner("examplel1", []string{"custom1new", "custom1newer", "custom1new"}, 2)
		w.network.SetManager("examplel1", "C", "0x00000000000000000000000000000000000000ff")
		time.Sleep(10 * time.Second)
		samples := must.Get(w.run(t, "subnets", "examplel1"))(t)
		id := w.network.Chain("examplel1").SubnetID
		wantNoSeries(t, samples, simnet.Owner)
		wantSeries(t, samples, `avax_subnet_owner_info{subnet_id="`+id+`",address="P-custom1new"}`, "1")
		wantSeries(t, samples, `avax_subnet_owner_info{subnet_id="`+id+`",address="P-custom1newer"}`, "1")
		wantSeries(t, samples, `avax_subnet_owner_threshold{subnet_id="`+id+`"}`, "2")
		wantSeries(t, samples, `avax_subnet_info{subnet_id="`+id+`",is_l1="true",manager_blockchain_id="`+w.network.Chain("C").ID+
			`",manager_address="0x00000000000000000000000000000000000000ff"}`, "1")
	})
}

func TestEqualCallsOfOneTransactionAllCount(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		head := 1_250_000
		calls := 2
		w.data(func(r *http.Request) string {
			if !strings.HasSuffix(r.URL.Path, ":listInternals") {
				return ""
			}
			var items []string
			for i := range calls {
				items = append(items, fmt.Sprintf(`{"blockNumber":"%d","blockTimestamp":1,"blockHash":"0x1","txHash":"0x2","from":{"address":"%s"},"to":{"address":"%s"},
					"internalTxType":"CALL","value":"5","isReverted":%v,"gasUsed":"7","gasLimit":"8"}`, head, strings.ToLower(simnet.Account), simnet.Partner, i == 0))
			}
			return `{"transactions":[` + strings.Join(items, ",") + `]}`
		})
		for _, c := range []struct{ calls, head, want int }{{3, 1_250_010, 2}, {3, 1_250_010, 2}, {5, 1_250_010, 4}, {2, 1_250_011, 5}} {
			calls, head = c.calls, c.head
			samples, _ := w.runJob(t.Context(), t, "internal_transactions", simnet.Account+"/C")
			if n := sum(t, samples, "avax_address_internal_transactions_total", "out"); n != float64(c.want) {
				t.Errorf("%+v: counted %v", c, n)
			}
		}
	})
}

// data answers calls to the Data service in place of the network, unless it returns an empty text.
func (w *world) data(answer func(r *http.Request) string) {
	w.ups.Data.Client = data.New(func() *scrape.Upstream {
		up, err := scrape.New(scrape.Options{Name: "data", URL: "http://data.sim", Transport: promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
			words := answer(r)
			if words == "" {
				return w.network.Transport().RoundTrip(r)
			}
			status := http.StatusOK
			if rest, fails := strings.CutPrefix(words, `{"statusCode":`); fails {
				status, _ = strconv.Atoi(rest[:3])
			}
			return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(words))}, nil
		})})
		if err != nil {
			panic(err)
		}
		return up
	}())
}

func TestICMMessagesOfAllFormsCountOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		path := t.TempDir()
		count := func(status string) float64 {
			t.Helper()
			w.restart(t, path)
			samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
			return sum(t, samples, "avax_icm_messages", `source="C`, `"`+status)
		}
		all := func() float64 {
			return count(data.ICMDelivered) + count(data.ICMPending) + count(data.ICMDeliveredSourceNotIndexed)
		}
		began := all() // a message is sent every ten minutes and delivered within a minute
		time.Sleep(5 * time.Minute)
		if n := count(data.ICMPending); n != 0 {
			t.Errorf("%v pending", n)
		}

		w.network.SetIndexLag("C", 24*time.Hour) // no further blocks are indexed
		time.Sleep(time.Hour)
		if n := count(data.ICMDeliveredSourceNotIndexed); n != 6 {
			t.Errorf("%v messages with an unknown source transaction, want 6", n)
		}
		w.network.SetIndexLag("C", 2*time.Second)
		if n := count(data.ICMDeliveredSourceNotIndexed); n != 0 {
			t.Errorf("%v messages still have an unknown source transaction", n)
		}

		w.network.HoldICM(true)
		held := time.Now()
		time.Sleep(3 * time.Hour)
		if n := count(data.ICMPending); n != 18 {
			t.Errorf("%v pending", n)
		}
		samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
		const lane = `{address="` + simnet.Account + `",source="C",destination="examplel1"}`
		if oldest := sum(t, samples, "avax_icm_oldest_pending_timestamp_seconds", `source="C`); oldest < float64(held.Unix()) || oldest > float64(held.Unix())+600 {
			t.Errorf("oldest pending message sent at %v, relayer stopped at %v", oldest, held.Unix())
		}
		w.network.HoldICM(false)
		time.Sleep(time.Minute)
		if n := count(data.ICMPending); n != 0 {
			t.Errorf("%v still pending", n)
		}
		samples, _ = w.runJob(t.Context(), t, "icm", simnet.Account)
		wantNoSeries(t, samples, "avax_icm_oldest_pending_timestamp_seconds"+lane)
		if n := all() - began; n != 25 { // the first was sent at the start
			t.Errorf("%v messages in four hours", n)
		}
		w.restart(t, path)
		w.page(t, "icm")
		w.network.ResetCalls()
		if w.page(t, "icm"); w.callCount("data", opMessages) != 2 {
			t.Errorf("%d calls for two addresses", w.callCount("data", opMessages))
		}
	})
}

// message returns a message from chain S, as the service returns it.
func message(id, status, destination string, sent time.Time) string {
	source, delivery := "", ""
	if !sent.IsZero() {
		source = fmt.Sprintf(`,"sourceTransaction":{"txHash":"0x3","timestamp":%d,"gasSpent":"1"}`, sent.Unix())
	}
	if status == data.ICMDelivered && !sent.IsZero() {
		delivery = fmt.Sprintf(`,"destinationTransaction":{"txHash":"0x4","timestamp":%d,"gasSpent":"1"}`, sent.Unix()+9)
	}
	return fmt.Sprintf(`{"messageId":"%s","status":"%s","sourceBlockchainId":"S","destinationBlockchainId":"%s","messageNonce":"1",
		"from":"0x1","to":"0x2","messageExecuted":%t,"receiptDelivered":false%s%s}`, id, status, destination, status != data.ICMPending, source, delivery)
}

// One NFT is malformed. The other NFTs of the address still count.
func TestMalformedItemIsSkippedAndNoted(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		const good = `{"address":"0x1","tokenId":"1","ercType":"ERC-721"}`
		w.data(func(r *http.Request) string {
			if !strings.HasSuffix(r.URL.Path, ":listCollectibles") {
				return ""
			}
			return `{"collectibleBalances":[` + good + `,{"address":"0x1","tokenId":"2","ercType":"ERC-1155","metadata":{"indexStatus":7}},` +
				strings.ReplaceAll(good, `"1"`, `"3"`) + `]}`
		})
		samples, notes := w.runJob(t.Context(), t, "collectibles", simnet.Account+"/C")
		if n := sum(t, samples, "avax_address_collectibles", "ERC-721"); n != 2 || len(notes) != 1 || !strings.Contains(notes[0], "skipped malformed items") {
			t.Errorf("%v, %q\n%s", n, notes, samples)
		}
	})
}

// Some messages are never delivered.
func TestPendingICMMessageIsGivenUpAfterAWeek(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		const (
			family = "avax_icm_messages"
			every  = 2 * time.Hour
			week   = int(7 * 24 * time.Hour / every)
		)
		sent, began := 0, time.Now()
		w.data(func(r *http.Request) string {
			var list []string
			for i := sent; i >= 0; i-- {
				status := data.ICMDelivered
				if i == 0 {
					status = data.ICMPending
				}
				list = append(list, message(strconv.Itoa(i), status, "T", began.Add(time.Duration(i)*every)))
			}
			return `{"messages":[` + strings.Join(list, ",") + `]}`
		})
		for sent = range week + 12 {
			samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
			status := "pending"
			if sent >= week {
				status = "given_up"
			}
			if delivered := sum(t, samples, family, `"delivered`); delivered != float64(sent) || sum(t, samples, family, status) != 1 ||
				sum(t, samples, family) != float64(sent)+1 {
				t.Fatalf("after %d messages:\n%s", sent, samples)
			}
			if monitored := strings.Contains(samples, "avax_icm_oldest_pending"); monitored != (sent < week) {
				t.Fatalf("after %d messages: oldest pending message exported: %v", sent, monitored)
			}
			time.Sleep(every)
		}
	})
}

func TestICMDeliveryWithAFailedCallCountsAsFailed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		count := func(status string) float64 {
			t.Helper()
			samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
			return sum(t, samples, "avax_icm_messages", `source="C`, `"`+status)
		}
		delivered, failed := count("delivered"), count("execution_failed")
		w.network.FailICM(true)
		time.Sleep(time.Hour)
		w.network.FailICM(false)
		time.Sleep(time.Minute)
		if d, f := count("delivered")-delivered, count("execution_failed")-failed; d > 1 || f < 5 {
			t.Errorf("%v delivered, %v failed", d, f)
		}
		time.Sleep(8 * 24 * time.Hour)
		if f := count("execution_failed") - failed; f < 5 {
			t.Errorf("%v failed after a week", f)
		}
		samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
		all := sum(t, samples, "avax_icm_messages", `source="C`)
		if by := sum(t, samples, "avax_icm_deliveries", `source="C`, `deliverer="`+simnet.Relayer); by != all {
			t.Errorf("%v deliveries of %v messages", by, all)
		}
		if n := sum(t, samples, "avax_icm_receipts", `source="C`); n == 0 || n >= all {
			t.Errorf("%v receipts of %v messages", n, all)
		}
	})
}

func TestRemovedICMMessageIsNotPending(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		began, list := time.Now(), ""
		w.data(func(r *http.Request) string {
			if strings.Contains(r.URL.Path, "/icm/messages/") {
				return "" // the network does not know the message
			}
			return `{"messages":[` + list + `]}`
		})
		list = message("2", data.ICMPending, "T", began) + "," + message("1", data.ICMDelivered, "T", began.Add(-time.Minute))
		if samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account); sum(t, samples, "avax_icm_messages", "pending") != 1 {
			t.Errorf("message not pending:\n%s", samples)
		}
		list = message("1", data.ICMDelivered, "T", began.Add(-time.Minute))
		if samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account); sum(t, samples, "avax_icm_messages", "pending") != 0 ||
			sum(t, samples, "avax_icm_messages") != 1 {
			t.Errorf("message still pending:\n%s", samples)
		}
	})
}

// A pending message about which the service now answers what nobody can read may have been delivered: it does not count as waiting.
func TestUnreadableICMMessageDoesNotWait(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		began, answer := time.Now(), ""
		pending := message("2", data.ICMPending, "T", began)
		w.data(func(r *http.Request) string {
			if strings.Contains(r.URL.Path, "/icm/messages/") {
				return answer
			}
			return `{"messages":[` + answer + `]}`
		})
		for _, step := range []struct {
			answer string
			waits  bool
		}{
			{pending, true},
			{strings.Replace(message("2", data.ICMDelivered, "T", began), `"timestamp":`, `"timestamp":-`, 2), false},
			{pending, true},
		} {
			time.Sleep(10 * time.Minute)
			answer = step.answer
			samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
			for _, family := range []string{"avax_icm_oldest_pending_timestamp_seconds{", "avax_icm_oldest_message_timestamp_seconds{"} {
				if strings.Contains(samples, family) != step.waits {
					t.Errorf("%s: want it %t:\n%s", answer, step.waits, samples)
				}
			}
		}
	})
}

// It is not documented whether a time range includes its start.
func TestAssetTransactionsCountOnceAtRangeStart(t *testing.T) {
	for _, inclusive := range []bool{true, false} {
		inWorld(t, func(t *testing.T, w world) {
			var times []time.Time
			w.data(func(r *http.Request) string {
				start, err := strconv.ParseInt(r.URL.Query().Get("startTimestamp"), 10, 64)
				if err != nil {
					t.Error(err)
				}
				var list []string
				for i, at := range slices.Backward(times) {
					if at.Unix() > start || inclusive && at.Unix() == start {
						list = append(list, fmt.Sprintf(`{"txHash":"%d","txType":"BaseTx","timestamp":%d,"consumedUtxos":[],"emittedUtxos":[],"amountUnlocked":[],`+
							`"amountCreated":[]}`, i, at.Unix()))
					}
				}
				return `{"transactions":[` + strings.Join(list, ",") + `],"chainInfo":{"chainName":"x-chain","network":"mainnet"}}`
			})
			for range 20 {
				now := time.Now()
				times = append(times, now.Add(-time.Second), now, now)
				samples, _ := w.runJob(t.Context(), t, "asset_transactions", exm)
				if n := sum(t, samples, "avax_asset_transactions_total"); n != float64(len(times)) {
					t.Errorf("counted %v of %d", n, len(times))
				}
				times = append(times, now) // a transaction of the same second, which the service indexes later
				time.Sleep(time.Second + time.Duration(len(times)%2)*time.Minute)
			}
		})
	}
}

func TestUnknownICMStatusIsExportedUnchanged(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.data(func(r *http.Request) string {
			if !strings.HasSuffix(r.URL.Path, "/messages") {
				return ""
			}
			return `{"messages":[` + message("1", "delivered", "T", time.Time{}) + "," + message("2", "lost", w.network.Chain("C").ID, time.Now()) + `]}`
		})
		samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
		wantSeries(t, samples, `avax_icm_messages{address="`+simnet.Account+`",source="S",destination="C",status="lost"}`, "1")
		if n := sum(t, samples, "avax_icm_messages"); n != 1 {
			t.Errorf("%v messages, want only the one with a known transaction:\n%s", n, samples)
		}
	})
}

func TestTokenIsReindexedAtMostOnceAnHour(t *testing.T) {
	const contract = "0x00000000000000000000000000000000000000aa"
	for name, c := range map[string]struct {
		reindex bool
		status  string
		want    int
	}{
		"enabled":         {true, "UNREACHABLE_TOKEN_URI", 4},
		"disabled":        {false, "UNREACHABLE_TOKEN_URI", 0},
		"already indexed": {true, "indexed", 0},
		"full disk":       {true, "UNINDEXED", 4},
		"rejected":        {true, "UNINDEXED", 4},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				path, asked := t.TempDir(), []time.Time(nil)
				full, err := state.Open(filepath.Join(os.DevNull, "x"))
				if err == nil {
					t.Fatal("opened")
				}
				for range 20 { // every ten minutes; reindex requests at 0:00, 1:00, 2:00 and 3:00
					w.restart(t, path)
					if strings.Contains(name, "disk") {
						w.ups.State = full
					}
					w.ups.Watch.Tokens = []collector.Token{{Chain: "C", Contract: contract, ID: "7", Reindex: c.reindex}}
					w.data(func(r *http.Request) string {
						if strings.HasSuffix(r.URL.Path, ":reindex") {
							asked = append(asked, time.Now())
							if name == "rejected" {
								return "{" // malformed
							}
							return " "
						}
						return `{"collectibleBalances":[{"address":"` + contract + `","tokenId":"7","ercType":"ERC-721","chainId":"1","metadata":{"indexStatus":"` + c.status +
							`"}}]}`
					})
					samples, _ := w.runJob(t.Context(), t, "nft_metadata", contract+"/7/C")
					wantSeries(t, samples, `avax_nft_metadata_indexed{chain="C",contract="`+contract+`",token="7"}`,
						map[bool]string{true: "1", false: "0"}[c.status == "indexed"])
					time.Sleep(10 * time.Minute)
				}
				if len(asked) != c.want {
					t.Errorf("%d requests, want %d: %v", len(asked), c.want, asked)
				}
				for i := range max(0, len(asked)-1) {
					if asked[i+1].Sub(asked[i]) < time.Hour {
						t.Errorf("requests at %v and %v", asked[i], asked[i+1])
					}
				}
			})
		})
	}
}

func TestTokenWithoutMonitoredHolderIsNoted(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.Tokens = []collector.Token{{Chain: "C", Contract: simnet.Collection, ID: "12345", Reindex: true}}
		samples, notes := w.runJob(t.Context(), t, "nft_metadata", simnet.Collection+"/12345/C")
		if samples != "" || len(notes) != 1 || !strings.Contains(notes[0], "add the holder") {
			t.Errorf("%s, %q", samples, notes)
		}
	})
}

// newestOf returns the newest indexed block. It tries every block, which needs many calls.
func (w world) newestOf(t *testing.T, chain string, from uint64) uint64 {
	t.Helper()
	id := w.network.Chain(chain).ID
	for n := from; ; n++ {
		if _, err := w.ups.Data.Block(t.Context(), id, strconv.FormatUint(n+1, 10)); scrape.OutcomeOf(err) == scrape.NotFound {
			return n
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// Two of five that are ahead may claim any height. The index is compared with what most have reached.
func TestAFewThatAreAheadDoNotDecideWhatIsIndexed(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha", "bravo", "charlie", "foxtrot") // and an observer
		for _, behind := range []string{"bravo", "charlie", "foxtrot"} {
			w.network.Node(behind).FallBehind("C")
		}
		w.network.SetIndexLag("C", 0)
		time.Sleep(20 * time.Minute)
		stuck, err := w.ups.Nodes()[1].EthBlockByNumber(t.Context(), "C", nil)
		if err != nil {
			t.Fatal(err)
		}
		reached := float64(stuck.Number)
		for range 5 {
			if found := sum(t, w.page(t, "data_index"), "avax_data_indexed_height", `chain="C`); found > reached {
				t.Errorf("indexed height %.0f, most nodes have reached %.0f", found, reached)
			}
			time.Sleep(time.Minute)
		}
	})
}

func TestNewestIndexedBlockIsFoundWithFewCalls(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		height := func(limit int) (found uint64, calls int) {
			t.Helper()
			w.network.ResetCalls()
			samples, err := w.run(t, "data_index", "C")
			if err == nil {
				found = uint64(sum(t, samples, "avax_data_indexed_height"))
			}
			if calls = w.callCount("data", opBlock); calls > limit {
				t.Errorf("%d calls, want at most %d", calls, limit)
			}
			return found, calls
		}
		testLag := func(lag time.Duration, runs, limit int) {
			t.Helper()
			w.network.SetIndexLag("C", lag)
			for range runs {
				height(4)
				time.Sleep(time.Minute)
			}
			for range 5 {
				found, _ := height(limit)
				if want := w.newestOf(t, "C", max(found, 1)); found != want {
					t.Errorf("lag %v: found %d, want %d", lag, found, want)
				}
				time.Sleep(time.Minute)
			}
		}
		testLag(2*time.Second, 3, 4)
		testLag(48*time.Hour, 1, 4) // the service indexes no new block between runs
		testLag(2*time.Second, 4, 4)
		testLag(40*time.Minute, 48, 4) // the service lags and indexes new blocks
		testLag(2*time.Second, 6, 4)
		w.restart(t, t.TempDir())
		w.network.SetIndexLag("C", 48*time.Hour)
		time.Sleep(2 * time.Hour)
		testLag(48*time.Hour, 10, 4) // the service lags when the exporter starts
	})
}

func TestCallsForAnUnindexedChainBecomeRare(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.SetChains(slices.DeleteFunc(w.ups.Chains(), func(c nodes.Chain) bool { return c.Name != "examplel1" }))
		const state = `avax_data_chain_indexed{chain="examplel1"}`
		w.network.DataService().Inject(simnet.Refused(http.StatusNotFound, "Chain not found"), opBlock, opBalance)
		began := time.Now()
		var asked []time.Duration
		for time.Since(began) < 5*time.Hour {
			w.network.ResetCalls()
			page := w.page(t, "data_index")
			wantSeries(t, page, state, "0")
			wantNoSeries(t, page, "avax_data_indexed_height")
			if w.callCount("data", opBlock) > 0 {
				asked = append(asked, time.Since(began)/time.Minute)
			}
			time.Sleep(time.Minute)
		}
		if want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183, 243}; !slices.Equal(asked, want) {
			t.Errorf("called after minutes %d, want %d", asked, want)
		}
		w.network.DataService().Recover()
		time.Sleep(time.Hour)
		wantSeries(t, w.page(t, "data_index"), state, "1")
	})
}

// A gateway may answer 404 while the service starts.
func TestInitial404IsRetriedWithinMinutes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		names := []string{"data_index", "native_balances", "collectibles", "transfers", "internal_transactions", "deployments", "subnets"}
		w.network.DataService().Inject(simnet.Refused(http.StatusNotFound, "no healthy upstream"))
		for _, name := range names {
			w.page(t, name)
		}
		w.network.DataService().Recover()
		time.Sleep(time.Minute)
		for _, name := range names {
			if page := w.page(t, name); strings.Count(page, "\navax_") == 0 || name == "data_index" && strings.Contains(page, "_indexed{chain=\"C\"} 0") {
				t.Errorf("%s: no samples after a minute:\n%s", name, page)
			}
		}
	})
}

func TestDataServiceCallsUseTheNodesNetwork(t *testing.T) {
	const rewards = "rewards"
	for name, c := range map[string]struct {
		id         uint64
		configured string
		want       string // network in the path, or the error
	}{
		"mainnet from the nodes":      {1, "", "mainnet"},
		"fuji from the nodes":         {5, "", "fuji"},
		"fuji from both":              {5, "fuji", "fuji"},
		"testnet is fuji":             {5, "testnet", "testnet"},
		"private network":             {1337, "mainnet", "mainnet"},
		"fuji nodes, mainnet":         {5, "mainnet", "mainnet is configured, but the nodes belong to fuji: correct AVAX_NETWORK"},
		"mainnet nodes, fuji":         {1, "fuji", "fuji is configured, but the nodes belong to mainnet: correct AVAX_NETWORK"},
		"network that is not indexed": {1337, "", "the nodes belong to network 1337, which the Data service does not know: correct AVAX_NETWORK"},
	} {
		inWorld(t, func(t *testing.T, w world) {
			onNetwork(w, c.id)
			w.ups.Data.Network = c.configured
			var paths []string
			w.data(func(r *http.Request) string {
				paths = append(paths, r.URL.Path)
				return `{"historicalRewards":[]}`
			})
			_, err := w.run(t, rewards, "alpha")
			if err != nil {
				if !strings.HasSuffix(err.Error(), c.want) || len(paths) > 0 {
					t.Errorf("%s: %v, requested %q", name, err, paths)
				}
				return
			}
			if want := "/v1/networks/" + c.want + "/rewards"; !slices.Equal(paths, []string{want}) {
				t.Errorf("%s: requested %q, want %s", name, paths, want)
			}
			for _, n := range w.network.Nodes() {
				n.Stop()
			}
			time.Sleep(time.Hour)
			if got, err := w.ups.FindNetwork(t.Context()); got != c.want || err != nil {
				t.Errorf("%s: %q, %v while the nodes are down", name, got, err)
			}
		})
	}
}

func TestAnswerForAnotherSubjectIsRejected(t *testing.T) {
	for name, c := range map[string]struct{ collector, target, path, was, is string }{
		"another chain's balance":     {"native_balances", simnet.Account + "/C", ":getNative", `"chainId":"43112"`, `"chainId":"43114"`},
		"another chain's collectible": {"collectibles", simnet.Account + "/C", ":listCollectibles", `"chainId":"43112"`, `"chainId":"43114"`},
		"another chain's block":       {"data_index", "C", "/blocks/", `"chainId":"43112"`, `"chainId":"43114"`},
		"another block":               {"data_index", "C", "/blocks/", `"blockNumber":"1`, `"blockNumber":"2`},
		"another subnet":              {"subnets", "examplel1", "/subnets/", `"subnetId":"`, `"subnetId":"2`},
		"another validator":           {"rewards", "alpha", "/rewards", `"nodeId":"NodeID-`, `"nodeId":"NodeID-2`},
		"another network":             {"asset_transactions", exm, "/transactions", `"network":"mainnet"`, `"network":"fuji"`},
	} {
		inWorld(t, func(t *testing.T, w world) {
			changed := false
			w.refuseOnNodes("eth_getBalance", "platform.getSubnet")
			w.data(func(r *http.Request) string {
				if !strings.Contains(r.URL.Path, c.path) {
					return ""
				}
				answer := must.Get(w.network.Transport().RoundTrip(r))(t)
				body := must.Get(io.ReadAll(answer.Body))(t)
				if answer.StatusCode != http.StatusOK {
					return ""
				}
				changed = changed || strings.Contains(string(body), c.was)
				return strings.ReplaceAll(string(body), c.was, c.is)
			})
			samples, err := w.run(t, c.collector, c.target)
			if scrape.OutcomeOf(err) != scrape.Malformed || !strings.Contains(err.Error(), "requested ") || !changed {
				t.Errorf("%s: %v, changed: %t\n%s", name, err, changed, samples)
			}
			for _, n := range w.network.Nodes() {
				n.Stop()
			}
			time.Sleep(time.Hour)
			if _, err := w.run(t, c.collector, c.target); strings.Contains(name, "chain's") && err == nil {
				t.Errorf("%s is accepted while the nodes are down", name)
			}
		})
	}
}

// The service has returned data of the chain before, so it indexes the chain. A later 404 is an outage:
// the run fails, and the samples stay until they expire.
func TestNotFoundAfterAnAnswerFailsTheRun(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.refuseOnNodes("eth_getBalance")
		w.page(t, "native_balances")
		w.network.DataService().Inject(simnet.Refused(http.StatusNotFound, "no healthy upstream"), opBalance)
		if _, err := w.run(t, "native_balances", simnet.Account+"/C"); scrape.OutcomeOf(err) != scrape.NotFound || errors.Is(err, metric.ErrNotOffered) {
			t.Errorf("%v", err)
		}
	})
}

func TestAmountsAreExactToTheNearestFloat64(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		wei, _ := new(big.Int).SetString("123456789012345678901234567", 10)
		w.network.SetNativeBalance("C", simnet.Account, wei)
		samples, _ := w.runJob(t.Context(), t, "native_balances", simnet.Account+"/C")
		wantSeries(t, samples, `avax_address_balance_tokens{chain="C",address="`+simnet.Account+`"}`, "1.2345678901234567e+08")
	})
}

func TestFailingItemLeavesOtherItems(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.Watch.Signatures = append(w.ups.Watch.Signatures, collector.Item{Name: "mistyped", Value: exm})
		_, err := w.run(t, "signatures", "mistyped")
		if err == nil || !strings.HasPrefix(err.Error(), opSignature+": not_found: ") || !strings.HasSuffix(err.Error(), ": correct AVAX_WATCH_SIGNATURES") {
			t.Errorf("%v", err)
		}
		samples, _ := w.runJob(t.Context(), t, "signatures", "conversion")
		wantSeries(t, samples, `avax_signature_aggregation_up{probe="conversion"}`, "1")
	})
}

// A service that is down says nothing about the validators.
func TestProbeIsAbsentWhileTheServiceIsDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.DataService().Inject(simnet.Unavailable())
		if samples, err := w.run(t, "signatures", "conversion"); err == nil || samples != "" {
			t.Errorf("%v\n%s", err, samples)
		}
	})
}

func TestProbeFailsWithTooFewSigners(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		ctx := scrape.MaxAge(t.Context(), time.Hour)
		w.runJob(ctx, t, "signatures", "conversion")
		for _, name := range []string{"alpha", "bravo"} {
			w.network.SetSigning(name, false)
		}
		samples, notes := w.runJob(ctx, t, "signatures", "conversion")
		wantSeries(t, samples, `avax_signature_aggregation_up{probe="conversion"}`, "0")
		wantNoSeries(t, samples, "avax_signature_aggregation_seconds")
		if len(notes) != 1 || !strings.Contains(notes[0], "signature weight is insufficient") {
			t.Errorf("%q", notes)
		}
	})
}

func TestRejectedKeyIsNotAnOutage(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden} {
			w.network.DataService().SetKey("good", status)
			up := must.Get(scrape.New(scrape.Options{Name: "data", URL: "http://data.sim", Transport: w, Header: http.Header{"X-Service-Api-Key": {"bad"}}}))(t)
			w.ups.Data.Client = data.New(up)
			samples, notes := w.runJob(t.Context(), t, "data_up", "data")
			wantSeries(t, samples, "avax_data_up", "1")
			if len(notes) != 1 || !strings.Contains(notes[0], "the service rejects the key") {
				t.Errorf("%q", notes)
			}
			if _, err := w.run(t, "collectibles", simnet.Account+"/C"); !data.IsKeyRejected(err) {
				t.Errorf("%v", err)
			}
		}
	})
}

func TestDataUpIsZeroDuringARequestedPause(t *testing.T) {
	for name, fault := range map[string]simnet.Fault{"429": simnet.RateLimited(time.Hour), "503": simnet.Refused(503, "no healthy node")} {
		inWorld(t, func(t *testing.T, w world) {
			up := must.Get(scrape.New(scrape.Options{Name: "data", URL: "http://data.sim", Transport: w, MaxWait: 5 * time.Minute}))(t)
			w.ups.Data.Client = data.New(up)
			w.network.DataService().Inject(fault)
			notes := map[string]bool{}
			for range 20 {
				samples, said := w.runJob(t.Context(), t, "data_up", "data")
				wantSeries(t, samples, "avax_data_up", "0")
				for _, note := range said {
					notes[note] = true
				}
				time.Sleep(time.Minute)
			}
			if len(notes) > 1 {
				t.Errorf("%s: %d different notes: %v", name, len(notes), notes)
			}
			w.network.DataService().Recover()
			time.Sleep(5 * time.Minute)
			samples, _ := w.runJob(t.Context(), t, "data_up", "data")
			wantSeries(t, samples, "avax_data_up", "1")
		})
	}
}

func TestDataUpIsAbsentWhenTheBudgetIsSpent(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		budget := &data.Budget{PerMinute: 10}
		up := must.Get(scrape.New(scrape.Options{Name: "data", URL: "http://data.sim", Transport: w, Admit: budget.Admit}))(t)
		w.ups.Data.Client = data.New(up)
		if samples, err := w.run(t, "data_up", "data"); !data.IsOverBudget(err) || samples != "" {
			t.Errorf("%s, %v", samples, err)
		}
	})
}

func TestDataServiceIsCalledWhileNodesAreDown(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		names := []string{"subnets", "native_balances", "collectibles", "deployments", "icm", "rewards", "transfers"}
		for _, name := range names {
			w.page(t, name)
		}
		for _, n := range w.network.Nodes() {
			n.Stop()
		}
		time.Sleep(time.Hour)
		for _, name := range names {
			if page := w.page(t, name); !strings.Contains(page, "avax_") {
				t.Errorf("%s: no samples", name)
			}
		}
	})
}

// The command check and the budget use Cost to estimate the calls of a day.
func TestDataCallsStayWithinCost(t *testing.T) {
	for _, spec := range collectors.All() {
		inWorld(t, func(t *testing.T, w world) {
			w.page(t, spec.Name)
			time.Sleep(spec.Every)
			w.network.ResetCalls()
			w.page(t, spec.Name)
			if spec.Cost == nil {
				if slices.ContainsFunc(w.network.Calls(), func(c simnet.Call) bool { return c.Upstream == "data" }) {
					t.Errorf("%s calls the Data service but has no Cost", spec.Name)
				}
				return
			}
			cost := spec.Cost(w.ups.Watch, len(spec.Bind(w.ups)))
			for op := range cost {
				if !slices.Contains(spec.Calls, op) || !slices.ContainsFunc(data.Methods(), func(m *scrape.Method) bool { return m.Op() == op }) {
					t.Errorf("%s: cost for the undeclared call %s", spec.Name, op)
				}
			}
			for _, op := range spec.Calls {
				if strings.HasPrefix(op, "GET /v1/") && cost[op] == 0 {
					t.Errorf("%s: no cost for %s", spec.Name, op)
				}
				if n := w.callCount("data", op); n > cost[op] {
					t.Errorf("%s: %d calls of %s, cost %d", spec.Name, n, op, cost[op])
				}
			}
			w.ups.Data = nil
			if slices.Contains([]string{"delegations", "payouts", "subnets", "native_balances"}, spec.Name) { // also run with the nodes alone
				return
			}
			if jobs := len(spec.Bind(w.ups)); jobs != 0 {
				t.Errorf("%s: %d jobs without the service", spec.Name, jobs)
			}
			for op, n := range spec.Cost(w.ups.Watch, len(spec.Bind(w.ups))) {
				if n != 0 {
					t.Errorf("%s: cost of %d calls of %s without the service", spec.Name, n, op)
				}
			}
		})
	}
}

// An exporter whose nodes were removed from the configuration still has the stored periods of their validators.
func TestPayoutsWithoutNodesOmitTheValidators(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.page(t, "payouts")
		time.Sleep(2 * 365 * 24 * time.Hour)
		w.setNodes(t)
		w.ups.Data.Network = data.Mainnet
		wantNoSeries(t, w.page(t, "payouts"), "avax_payout_paid_avax")
	})
}
