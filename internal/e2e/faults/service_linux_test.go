package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// A Data service with invalid answers affects only its own samples.
func TestHostileDataServiceDoesNotAffectNodes(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	network.SetNetworkID(1)
	urls := testworld.Serve(t, network)
	service := newGate(t, network.Node("alpha")) // it knows none of the service's paths
	e := start(t, append(quickly("up", "data_up", "rewards", "collectibles", "transfers"), listed(urls, "alpha"), "AVAX_NETWORK=mainnet",
		"AVAX_DATA_URL="+service.url(), "AVAX_DATA_BUDGET=100000000/m,100000000000/d", "AVAX_WATCH_ADDRESSES="+simnet.Account, "AVAX_STATE_DIR="+t.TempDir())...)
	var pages atomic.Int64
	without := func(w http.ResponseWriter, _ *http.Request, _ func() answer) { // lists whose pages never end
		n := pages.Add(1)
		item := fmt.Sprintf(`{"txHash":"0x%x","nodeId":"x","id":"%d"}`, n, n)
		list := "[" + strings.Repeat(item+",", 99) + item + "]"
		static(
			200,
			"application/json",
			fmt.Sprintf(`{"nextPageToken":"%d","historicalRewards":%s,"erc721TokenBalances":%s,"nativeTransfers":%s,"transactions":%s}`, n, list, list, list, list),
		)(
			w,
			nil,
			nil,
		)
	}
	var peak int64
	for _, spoilt := range []struct {
		name string
		do   behaviour
	}{
		{"hung", hung}, {"endless body", raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[", "[")}, {"bomb", bomb(64)},
		{"no end of pages", without}, {"depth", static(200, "application/json", strings.Repeat(`{"a":`, 100_000))},
		{"an hour of patience", func(w http.ResponseWriter, _ *http.Request, _ func() answer) {
			w.Header().Set("Retry-After", "1000000000")
			w.WriteHeader(http.StatusTooManyRequests)
		}},
	} {
		service.behaveAs(spoilt.do)
		for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			p, err := e.Scrape()
			if err != nil {
				t.Fatalf("%s: %v", spoilt.name, err)
			}
			if value, there := p[`avax_node_up{node="alpha"}`]; there && value != 1 {
				t.Errorf("%s: alpha down", spoilt.name)
			}
			peak = max(peak, e.resident())
		}
		e.Until(spoilt.name+": the node is up", isUp("alpha"))
	}
	e.Until("the service is down", testworld.Is("avax_data_up", 0))
	e.needs("a Data service that hangs or sends endless answers", peak, 300<<20)
}

// A file of 100,000 nodes is rejected with an error, at the start and at a reload, which keeps the previous nodes.
func TestHugeNodesFileIsRejected(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	urls := testworld.Serve(t, network)
	file := filepath.Join(t.TempDir(), "nodes.json")
	entry := func(name, url string) string {
		return fmt.Sprintf(`{"targets":[%q],"labels":{"node":%q}}`, url, name)
	}
	write(t, file, "["+entry("alpha", urls["alpha"])+"]")
	e := start(t, append(quickly("up"), "AVAX_NODES_FILE="+file)...)
	e.Until("alpha is up", isUp("alpha"))
	var many []string
	for n := range 100_000 {
		many = append(many, entry(fmt.Sprint("node", n), fmt.Sprintf("http://127.0.0.1:%d/%d", 1+n%60_000, n)))
	}
	write(t, file, "["+strings.Join(many, ",")+"]")
	e.awaitLog("larger than 4 MiB")
	e.Until("the file is refused, and alpha goes on", func(p page) error {
		return errors.Join(testworld.Is(`avax_exporter_config_last_reload_successful{what="configuration"}`, 0)(p), isUp("alpha")(p))
	})
	e.needs("a file of 100,000 nodes", e.resident(), 300<<20)
}
