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

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// A Data service with invalid answers affects only its own samples.
func TestHostileDataServiceDoesNotAffectNodes(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	urls, err := network.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	service := newGate(t, network.Node("alpha")) // it knows none of the service's paths
	e := start(t, append(quickly("up", "data_up", "rewards", "collectibles", "transfers"), "AVAX_NODES=alpha="+urls["alpha"], "AVAX_NETWORK=mainnet",
		"AVAX_DATA_URL=http://"+service.address, "AVAX_DATA_BUDGET=100000000/m,100000000000/d", "AVAX_WATCH_ADDRESSES="+simnet.Account, "AVAX_STATE_DIR="+t.TempDir())...)
	var pages atomic.Int64
	without := func(w http.ResponseWriter, _ *http.Request, _ func() answer) { // lists whose pages never end
		n := pages.Add(1)
		item := fmt.Sprintf(`{"txHash":"0x%x","nodeId":"x","id":"%d"}`, n, n)
		list := "[" + strings.Repeat(item+",", 99) + item + "]"
		static(200, "application/json", fmt.Sprintf(`{"nextPageToken":"%d","historicalRewards":%s,"erc721TokenBalances":%s,"nativeTransfers":%s,"transactions":%s}`, n, list, list, list, list))(w, nil, nil)
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
		e.Until(spoilt.name+": the node is up", testworld.Is(`avax_node_up{node="alpha"}`, 1))
	}
	e.Until("the service is down", testworld.Is("avax_data_up", 0))
	report("outside", figure("a Data service that hangs or sends endless answers", peak))
	if peak > 300<<20 {
		t.Errorf("%d MB of memory", peak>>20)
	}
}

// A file of 100,000 nodes is rejected with an error, at the start and at a reload, which keeps the previous nodes.
func TestHugeNodesFileIsRejected(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	urls, err := network.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "nodes.json")
	entry := func(name, url string) string {
		return fmt.Sprintf(`{"targets":[%q],"labels":{"node":%q}}`, url, name)
	}
	write(t, file, "["+entry("alpha", urls["alpha"])+"]")
	e := start(t, append(quickly("up"), "AVAX_NODES_FILE="+file)...)
	e.Until("alpha is up", testworld.Is(`avax_node_up{node="alpha"}`, 1))
	var many []string
	for n := range 100_000 {
		many = append(many, entry(fmt.Sprint("node", n), fmt.Sprintf("http://127.0.0.1:%d/%d", 1+n%60_000, n)))
	}
	write(t, file, "["+strings.Join(many, ",")+"]")
	e.awaitLog("larger than 4 MiB")
	testworld.Await(t, "alpha goes on", func() error {
		p, err := e.Scrape()
		if err == nil && p["avax_exporter_config_last_reload_successful"] != 0 {
			err = errors.New("the file is not refused yet")
		}
		if err == nil {
			err = testworld.Is(`avax_node_up{node="alpha"}`, 1)(p)
		}
		return err
	})
	peak := e.resident()
	report("outside", figure("a file of 100,000 nodes", peak))
	if peak > 300<<20 {
		t.Errorf("%d MB of memory", peak>>20)
	}
}
