package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// attackLasts is how long an attack lasts beside its control: over a minute, because most collectors run once a minute, or the duration -soak.
func attackLasts() time.Duration { return max(75*time.Second, *soakFor) }

// The first of four nodes lists 990 chains that do not exist, from the start. With the default chains and the chart's memory limit, the exporter needs hardly
// more memory than another one without the lie, and calls the other nodes as often.
func TestInventedChainsNeedLittleMemory(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	var ids []string
	for i := range 990 {
		ids = append(ids, network.NewID(i))
	}
	names := []string{"alpha", "bravo", "charlie", "echo"}
	var told atomic.Int64
	type result struct {
		e     *exporter
		peak  int64
		calls atomic.Int64 // to a good node
	}
	of := [2]*result{{}, {}} // without and with the lie
	for lies, r := range of {
		urls := map[string]string{}
		for _, name := range names {
			node := http.Handler(network.Node(name))
			if name == "bravo" {
				good := node
				node = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
					r.calls.Add(1)
					good.ServeHTTP(w, request)
				})
			}
			g := newGate(t, node)
			if name == "alpha" && lies == 1 {
				g.behaveAs(listing(ids, &told))
			}
			urls[name] = g.url()
		}
		r.e = run(t, confined(t), listed(urls, names...))
	}
	for end := time.Now().Add(attackLasts()); time.Now().Before(end); time.Sleep(time.Second) {
		for _, r := range of {
			must.Get(r.e.Scrape())(t)
			r.peak = max(r.peak, r.e.resident())
		}
	}
	for _, r := range of {
		must.Do(t, isUp(names...)(must.Get(r.e.Scrape())(t)))
	}
	t.Logf("%v: without the lie %d MB, %d calls to a good node; with it %d MB, %d calls", attackLasts(), of[0].peak>>20, of[0].calls.Load(), of[1].peak>>20, of[1].calls.Load())
	if told.Load() == 0 || of[1].peak > 200<<20 || of[1].calls.Load() > 2*of[0].calls.Load() {
		t.Error("the lie costs too much")
	}
}

// aHeight matches heights, and the times of blocks of EVM chains.
var aHeight = regexp.MustCompile(`"(height|number|acceptedHeight|timestamp)":"(\d+|0x[0-9a-f]+)"`)

// ahead claims heights, and times, a million ahead of those of the node.
func ahead(body []byte) []byte {
	return aHeight.ReplaceAllFunc(body, func(field []byte) []byte {
		parts := aHeight.FindSubmatch(field)
		height, err := strconv.ParseUint(string(parts[2]), 0, 64)
		if err != nil {
			return field
		}
		form := "%d"
		if bytes.HasPrefix(parts[2], []byte("0x")) {
			form = "%#x"
		}
		return fmt.Appendf(nil, `"%s":"`+form+`"`, parts[1], height+1_000_000)
	})
}

// One of five nodes, or an observer, claims heights a million ahead. Each second, /serving says of the others what it says without the lie, no alert says that
// they are behind. After a quarter of an hour one names the node that lies.
func TestALiarAboutHeightsChangesNoOtherAnswer(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	names := []string{"alpha", "bravo", "charlie", "echo", "foxtrot"}
	worlds := map[string]*exporter{}
	for _, liar := range []string{"nobody", "alpha", "observer"} {
		urls := map[string]string{}
		for _, name := range append([]string{"observer"}, names...) {
			var node http.Handler = network.Observer()
			if name != "observer" {
				node = network.Node(name)
			}
			g := newGate(t, node)
			if name == liar {
				g.behaveAs(changing(ahead))
			}
			urls[name] = g.url()
		}
		worlds[liar] = run(t, confined(t), listed(urls, names...), "AVAX_OBSERVERS=observer="+urls["observer"])
	}
	for _, e := range worlds {
		e.Ready()
	}
	answers, yes, differ := 0, 0, map[string]int{}
	serves := func(e *exporter, name, chain string) bool {
		status, _, err := e.Get("/serving?node=" + name + "&chain=" + chain)
		must.Do(t, err)
		return status == http.StatusOK
	}
	for end := time.Now().Add(attackLasts()); time.Now().Before(end); time.Sleep(time.Second) {
		for _, name := range names[1:] {
			for _, chain := range []string{"P", "C"} {
				truth := serves(worlds["nobody"], name, chain)
				if truth {
					yes++
				}
				for liar, e := range worlds {
					if answers++; serves(e, name, chain) != truth && serves(worlds["nobody"], name, chain) == truth {
						differ[liar+" about "+name]++
					}
				}
			}
		}
	}
	t.Logf("%d answers, %d times yes without the lie, differ: %v", answers, yes, differ)
	if yes == 0 || len(differ) > 0 {
		t.Error("/serving follows the lie")
	}
	for liar, e := range worlds {
		_, alerts, err := e.Get("/api/v1/alerts")
		must.Do(t, err)
		var all struct {
			Data struct {
				Alerts []struct{ Labels map[string]string }
			}
		}
		must.Do(t, json.Unmarshal([]byte(alerts), &all))
		named := false
		for _, a := range all.Data.Alerts {
			about := a.Labels["node"]
			if strings.HasPrefix(a.Labels["alertname"], "AvaxHead") && about != liar {
				t.Errorf("%s lies: %v", liar, a.Labels)
			}
			named = named || a.Labels["alertname"] == "AvaxNodeContradicted" && about == liar
		}
		if liar == "alpha" && !named && attackLasts() > 15*time.Minute {
			t.Errorf("no alert names the node that lies: %s", alerts)
		}
	}
}

// While 200 clients ask whether a node may stop, /serving goes on saying yes about nodes that serve.
func TestFloodOfSafeToStopLeavesServing(t *testing.T) { flood(t, "/safe-to-stop?node=alpha") }

// So it does while they read every page and every answer of the interface.
func TestFloodOfPagesLeavesServing(t *testing.T) {
	flood(
		t, "/", "/alerts", "/alerts?silence=alpha", "/node/alpha", "/l1/C", "/runbook/", "/runbook/AvaxNodeDown", "/explain?name=avax_node_up&target=alpha",
		"/explain?name=AvaxNodeDown", "/silence-matches?of=alpha", "/waves?node=alpha&node=bravo", "/is-back?node=alpha", "/safe-to-remove?validation=alpha",
		"/api/v1/alerts", "/api/v1/rules", "/api/v1/tables", "/api/v1/incidents", "/api/v1/l1/C/plan", "/api/v2/alerts", "/api/v2/silences",
		"/api/v1/query?query=count({__name__=~%22.%2B%22})", "/api/v1/query_range?query=avax_node_up&start=0&end=10000&step=1", "/serving?node=alpha&chain=C",
		"/metrics", "/nowhere",
	)
}

// So it does while they send other methods, long bodies, long queries and many parameters.
func TestFloodOfStrangeRequestsLeavesServing(t *testing.T) {
	flood(
		t, "HEAD /", "HEAD /alerts", "HEAD /metrics", "HEAD /safe-to-stop?node=alpha", "OPTIONS /serving?node=bravo&chain=C", "PUT /", "TRACE /-/healthy",
		"DELETE /api/v2/silence/1", "POST /serving?node=bravo&chain=C", "POST /api/v1/query", "POST /api/v2/silences", "POST /-/reload", "POST /alerts/silence", "NONE /",
		"/alerts?"+strings.Repeat("q", 60_000), "/-/healthy?"+strings.Repeat("a&", 900), "/metrics?"+strings.Repeat("a=1&", 10_000),
		"/api/v1/query?query="+strings.Repeat("(", 10_000), "/serving?node=bravo&chain=C&"+strings.Repeat("blocks=1&", 100),
	)
}

// flood lets 200 clients send these requests in turn: the path of a GET, or a method and a path.
func flood(t *testing.T, paths ...string) {
	t.Helper()
	testworld.Full(t)
	_, nodes := gated(t, "alpha", "bravo", "charlie")
	e := run(t, confined(t), nodes)
	e.Ready()
	client := &http.Client{Timeout: answered, Transport: &http.Transport{MaxIdleConnsPerHost: 250}}
	body := strings.Repeat("a&", 50_000)
	get := func(what string) int {
		method, path, other := strings.Cut(what, " ")
		if !other {
			method, path = http.MethodGet, what
		}
		request := must.Get(http.NewRequestWithContext(t.Context(), method, e.URL+path, http.NoBody))(t)
		if method == http.MethodPost {
			request.Body = io.NopCloser(strings.NewReader(body))
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := client.Do(request)
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
	before, of, _ := asked(attackLasts() / 6)
	stop := make(chan struct{})
	var flood sync.WaitGroup
	var answers atomic.Int64
	for i := range 200 {
		flood.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
					get(paths[n%len(paths)])
					answers.Add(1)
				}
			}
		})
	}
	during, all, peak := asked(attackLasts())
	close(stop)
	flood.Wait()
	t.Logf("without the flood %d of %d, with it %d of %d are yes; %d answers of the flood; %d MB", before, of, during, all, answers.Load(), peak>>20)
	if before < of || during < all || peak > 200<<20 || answers.Load() < 1000 {
		t.Error("the flood reaches other answers")
	}
}
