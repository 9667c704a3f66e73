package faults_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// listing is a node that lists chains which do not exist, and claims to run them. It counts its lies.
func listing(ids []string, lies *atomic.Int64) behaviour {
	var chains, checks strings.Builder
	for i, id := range ids {
		fmt.Fprintf(&chains, `{"id":%q,"name":"chain","subnetID":%q,"vmID":"srEXiWaHuhNyGwPUi444Tu47ZEDwxTWrbQiuD7FmgSAQ6X7Dy"},`, id, ids[len(ids)-1-i])
		fmt.Fprintf(&checks, `%q:{"message":"ok","timestamp":"2026-01-01T00:00:00Z","duration":1},`, id)
	}
	return func(w http.ResponseWriter, r *http.Request, good func() answer) {
		request, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(request))
		changing(func(body []byte) []byte {
			switch {
			case bytes.Contains(request, []byte(`"platform.getBlockchains"`)):
				lies.Add(1)
				return bytes.Replace(body, []byte(`"blockchains":[`), []byte(`"blockchains":[`+chains.String()), 1)
			case r.URL.Path == "/ext/health":
				return bytes.Replace(body, []byte(`"checks":{`), []byte(`"checks":{`+checks.String()), 1)
			}
			return body
		})(w, r, good)
	}
}

// The first of four nodes lists 990 chains that do not exist, from the start. With the default chains and the chart's memory limit, the exporter needs hardly
// more memory than without the lie, and calls the other nodes as often.
func TestInventedChainsNeedLittleMemory(t *testing.T) {
	testworld.Full(t)
	network := simnet.New(simnet.Options{Seed: 1})
	var ids []string
	for i := range 990 {
		ids = append(ids, network.NewID(i))
	}
	type result struct {
		peak  int64
		calls int64 // to a good node
	}
	var of [2]result
	var told atomic.Int64
	for i, lies := range []bool{false, true} {
		var nodes []string
		for _, name := range []string{"alpha", "bravo", "charlie", "echo"} {
			node := http.Handler(network.Node(name))
			if name == "bravo" {
				good := node
				node = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					atomic.AddInt64(&of[i].calls, 1)
					good.ServeHTTP(w, r)
				})
			}
			g := newGate(t, node)
			if name == "alpha" && lies {
				g.behaveAs(listing(ids, &told))
			}
			nodes = append(nodes, name+"="+g.url())
		}
		e := run(t, confined(t), "AVAX_NODES="+strings.Join(nodes, ","))
		for end := time.Now().Add(75 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
			must.Get(e.Scrape())(t)
			of[i].peak = max(of[i].peak, e.resident())
		}
		page := must.Get(e.Scrape())(t)
		for _, name := range []string{"alpha", "bravo", "charlie", "echo"} {
			if page[fmt.Sprintf(`avax_node_up{node=%q}`, name)] != 1 {
				t.Errorf("lies %t: %s is not up", lies, name)
			}
		}
		e.End(syscall.SIGTERM)
	}
	t.Logf("without the lie %d MB, %d calls to a good node; with it %d MB, %d calls", of[0].peak>>20, of[0].calls, of[1].peak>>20, of[1].calls)
	if told.Load() == 0 || of[1].peak > 200<<20 || of[1].calls > 2*of[0].calls {
		t.Error("the lie costs too much")
	}
}

// While 200 clients ask whether a node may stop, /serving goes on saying yes about nodes that serve.
func TestFloodOfSafeToStopLeavesServing(t *testing.T) {
	testworld.Full(t)
	network := simnet.New(simnet.Options{Seed: 1})
	var nodes []string
	for _, name := range []string{"alpha", "bravo", "charlie"} {
		nodes = append(nodes, name+"="+newGate(t, network.Node(name)).url())
	}
	e := run(t, confined(t), "AVAX_NODES="+strings.Join(nodes, ","))
	e.Ready()
	client := &http.Client{Timeout: answered, Transport: &http.Transport{MaxIdleConnsPerHost: 250}}
	get := func(path string) int {
		resp, err := client.Get(e.URL + path)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	const serving = "/serving?node=bravo&chain=C"
	testworld.Await(t, "bravo serves", func() error {
		if code := get(serving); code != http.StatusOK {
			return fmt.Errorf("%d", code)
		}
		return nil
	})
	asked := func(of time.Duration) (yes, all int, peak int64) {
		for end := time.Now().Add(of); time.Now().Before(end); time.Sleep(250 * time.Millisecond) {
			if all++; get(serving) == http.StatusOK {
				yes++
			}
			peak = max(peak, e.resident())
		}
		return yes, all, peak
	}
	before, of, _ := asked(10 * time.Second)
	stop := make(chan struct{})
	var flood sync.WaitGroup
	var answers atomic.Int64
	for range 200 {
		flood.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					get("/safe-to-stop?node=alpha")
					answers.Add(1)
				}
			}
		})
	}
	during, all, peak := asked(30 * time.Second)
	close(stop)
	flood.Wait()
	t.Logf("without the flood %d of %d, with it %d of %d are yes; %d answers of the flood; %d MB", before, of, during, all, answers.Load(), peak>>20)
	if before < of || during < all || peak > 200<<20 || answers.Load() < 1000 {
		t.Error("the flood reaches other answers")
	}
}
