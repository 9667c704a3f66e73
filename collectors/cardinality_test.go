package collectors_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// answered returns an answer of a node with this result.
func answered(result string) string { return `{"jsonrpc":"2.0","id":1,"result":` + result + `}` }

// A peer chooses the version that it reports, and may report another version each time.
func TestInventedPeerVersionsAreOneSeries(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		now := time.Now().UTC().Format(time.RFC3339)
		var list []string
		peer := func(id, version, benched string) {
			list = append(
				list,
				fmt.Sprintf(`{"nodeID":"%s","ip":"","publicIP":"","version":"%s","lastSent":"%s","lastReceived":"%[3]s","benched":["%s"]}`, id, version, now, benched),
			)
		}
		for i := range 10 {
			peer(fmt.Sprint("common", i), "avalanchego/1.14.0", "C")
			peer(fmt.Sprint("also", i), "avalanchego/1.14.1", "C")
		}
		for i := range 3000 {
			peer(fmt.Sprint("stranger", i), fmt.Sprintf("v%04d", i), fmt.Sprint("chain", i))
		}
		for range 5 {
			peer(fmt.Sprint("long", len(list)), strings.Repeat("x", metric.MaxValue+1), "C")
		}
		peer(w.network.NodeID("bravo"), "avalanchego/1.13.0", "C")
		w.replies("info.peers", fmt.Sprintf(`{"numPeers":"%d","peers":[%s]}`, len(list), strings.Join(list, ",")))
		page := must.Get(w.run(t, "peers", "alpha"))(t)
		const family = "avax_node_peers_by_version"
		if n := strings.Count(page, family+"{"); n != 21 {
			t.Errorf("%d versions", n)
		}
		wantSeries(t, page, family+`{node="alpha",version="avalanchego/1.14.0"}`, "10")
		wantSeries(t, page, family+`{node="alpha",version="avalanchego/1.14.1"}`, "10")
		if n := sum(t, page, family); n != float64(len(list)) {
			t.Errorf("%v of %d peers", n, len(list))
		}
		const benched = "avax_node_peers_benched"
		if n := strings.Count(page, benched+"{"); n != 21+2+len(w.ups.Chains()) {
			t.Errorf("%d chains with benched peers", n)
		}
		wantSeries(t, page, benched+`{node="alpha",chain="C"}`, "26")
		wantSeries(t, page, benched+`{node="alpha",chain="other"}`, "2980")

		*w.otherwise = nil
		page = must.Get(w.run(t, "peers", "alpha"))(t)
		wantNoSeries(t, page, `"other"`)
	})
}

// A node chooses the names of its checks, ACPs and upgrades, and may report any number of them.
func TestTooManyNamesFailTheRun(t *testing.T) {
	for method, c := range map[string]struct{ collector, family, entry, around string }{
		"info.acps": {"upgrades", "avax_acp_stake_avax", `"%d":{"supportWeight":"1","supporters":[],"objectWeight":"0","objectors":[],"abstainWeight":"0"}`,
			`{"acps":{%s}}`},
		"info.upgrades": {"upgrades", "avax_upgrade_timestamp_seconds", `"u%dTime":"2025-01-01T00:00:00Z"`, `{%s}`},
	} {
		inWorld(t, func(t *testing.T, w world) {
			w.setNodes(t, "alpha")
			var entries []string
			for i := range 5000 {
				entries = append(entries, fmt.Sprintf(c.entry, i))
			}
			w.replies(method, fmt.Sprintf(c.around, strings.Join(entries, ",")))
			page, err := w.run(t, c.collector, "alpha")
			if !errors.Is(err, metric.ErrTooMany) || !strings.Contains(err.Error(), c.family) {
				t.Errorf("%s: %v", method, err)
			}
			wantNoSeries(t, page, c.family)
		})
	}
}

// A version of 1 MB is too long for a label. The other samples of the node must still be exported.
func TestTooLongVersionDropsOnlyItsOwnSamples(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		w.replies("info.getNodeVersion",
			`{"version":"`+strings.Repeat("x", 1e6)+`","databaseVersion":"v1","rpcProtocolVersion":"44","gitCommit":"","vmVersions":{"evm":"v1"}}`)
		page, err := w.run(t, "identity", "alpha")
		if err == nil || err.Error() != "avax_node_info: a value of the label version is longer than 256 bytes" {
			t.Errorf("%.200v", err)
		}
		wantNoSeries(t, page, "avax_node_info")
		wantSeries(t, page, `avax_node_vm_info{node="alpha",vm="evm",version="v1"}`, "1")
	})
}

// Anyone can create a chain and send messages from it.
func TestICMLanesAreLimitedWithoutLosingMessages(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		const chains = 500
		began := time.Now()
		w.data(func(*http.Request) string {
			var list []string
			for i := range chains {
				list = append(list, strings.Replace(message(strconv.Itoa(i), data.ICMPending, "T", began.Add(-time.Duration(i)*time.Second)), `"S"`,
					fmt.Sprintf(`"S%d"`, i), 1))
			}
			return `{"messages":[` + strings.Join(list, ",") + `]}`
		})
		samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
		if n := sum(t, samples, "avax_icm_messages"); n != chains {
			t.Errorf("%v messages", n)
		}
		if n := strings.Count(samples, "avax_icm_oldest_pending_timestamp_seconds{"); n != 101 {
			t.Errorf("%d lanes", n)
		}
		way := `{address="` + simnet.Account + `",source="other",destination="other"`
		wantSeries(t, samples, "avax_icm_messages"+way+`,status="pending"}`, strconv.Itoa(chains-100))
		if at := valueOf(t, samples, "avax_icm_oldest_pending_timestamp_seconds"+way+"}"); at > float64(began.Unix()-100) {
			t.Errorf("oldest other message sent %v before", float64(began.Unix())-at)
		}
	})
}

func TestOldestPendingICMMessagesAreGivenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		const each = 1900
		began, run := time.Now(), 0
		w.data(func(*http.Request) string {
			var list []string
			for i := range each {
				list = append(list, message(fmt.Sprintf("%d-%d", run, i), data.ICMPending, "T", time.Now().Add(-time.Duration(i)*time.Millisecond)))
			}
			return `{"messages":[` + strings.Join(list, ",") + `]}`
		})
		const pending = "avax_icm_oldest_pending_timestamp_seconds"
		way := pending + `{address="` + simnet.Account + `",source="S",destination="T"}`
		for run = range 8 {
			samples, _ := w.runJob(t.Context(), t, "icm", simnet.Account)
			if n := sum(t, samples, "avax_icm_messages"); n != float64((run+1)*each) {
				t.Errorf("run %d: %v messages counted", run+1, n)
			}
			// 4,000 messages stay pending: those of two runs and some of a third run.
			oldest := time.Unix(int64(valueOf(t, samples, way)), 0)
			if want := began.Add(time.Duration(max(0, run-2)) * 2 * time.Hour); oldest.Sub(want).Abs() > time.Minute {
				t.Errorf("run %d: oldest pending %v, want %v", run+1, oldest.Sub(began), want.Sub(began))
			}
			time.Sleep(2 * time.Hour)
		}
	})
}

// A node may list any number of chains that do not exist.
func TestDiscoveredChainsAreLimited(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		var list []string
		for i := range nodes.MaxChains + 500 {
			list = append(list, fmt.Sprintf(`{"id":"id%04d","name":"chain%[1]d","subnetID":"s","vmID":"v"}`, i))
		}
		w.blockHealthAPI()
		*w.otherwise = func(_, method string, _ []any) string {
			switch method {
			case "platform.getBlockchains":
				return answered(`{"blockchains":[` + strings.Join(list, ",") + `]}`)
			case "platform.getBlockchainStatus":
				return answered(`{"status":"Validating"}`)
			}
			return ""
		}
		for range 2 {
			known := w.ups.Chains()
			found, err := w.ups.Discover(t.Context(), known)
			if err == nil && len(found) != nodes.MaxChains || !slices.Equal(found[:len(known)], known) {
				t.Fatalf("%d chains, %v", len(found), err)
			}
			w.ups.SetChains(found)
		}
		if n := len(w.ups.Chains()); n != nodes.MaxChains {
			t.Errorf("%d chains", n)
		}
	})
}

func TestInventedTransactionTypesAreSummedAsOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.data(func(*http.Request) string {
			var list []string
			for i := range 1000 {
				list = append(list, fmt.Sprintf(`{"txHash":"%d","txType":"T%d","timestamp":%d,"consumedUtxos":[],"emittedUtxos":[],"amountUnlocked":[],`+
					`"amountCreated":[]}`, i, i, time.Now().Unix()))
			}
			return `{"transactions":[` + strings.Join(list, ",") + `],"chainInfo":{"chainName":"x-chain","network":"mainnet"}}`
		})
		samples, _ := w.runJob(t.Context(), t, "asset_transactions", exm)
		if n := sum(t, samples, assetsFamily, `"other`); n != 1000 || strings.Count(samples, assetsFamily+"{") != 6 {
			t.Errorf("%v transactions of other types:\n%s", n, samples)
		}
	})
}
