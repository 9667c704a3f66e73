package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// withNodesFile runs an exporter whose nodes are in a file: alpha and bravo. put writes the file: name=host.
func withNodesFile(t *testing.T, test func(t *testing.T, w *apptest.World, put func(nodes ...string)), change ...func(env map[string]string)) {
	t.Helper()
	dir, write := files(t, nil)
	put := func(nodes ...string) {
		t.Helper()
		text := "[]"
		for i, n := range nodes {
			name, host, _ := strings.Cut(n, "=")
			if i == 0 {
				text = ""
			}
			text += fmt.Sprintf("- targets: [%s.sim]\n  labels: {node: %s}\n", host, name)
		}
		write("nodes.yml", text)
	}
	put("alpha=alpha", "bravo=bravo")
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Env["NODES"], w.Env["NODES_FILE"], w.Env["METRICS_URL"], w.Env["CHAINS"] = "", filepath.Join(dir, "nodes.yml"), "", "C"
		for _, c := range change {
			c(w.Env)
		}
		w.Start(t)
		test(t, w, put)
	})
}

func TestReloadKeepsUnchangedNodesRunning(t *testing.T) {
	withNodesFile(t, func(t *testing.T, w *apptest.World, put func(nodes ...string)) {
		put("bravo=bravo", "charlie=charlie", "alpha=alpha") // other order, other line
		time.Sleep(time.Millisecond)                         // between the moments at which the schedule may call a node
		w.ResetCalls()
		must.Do(t, w.Reload())
		synctest.Wait()
		if n := w.CallsTo("alpha"); n > 0 {
			t.Errorf("reload caused %d calls to alpha", n)
		}
		if w.CallsTo("charlie") == 0 {
			t.Error("charlie not called at once")
		}
		time.Sleep(100 * time.Millisecond)
		page := w.Samples(t)
		for _, name := range []string{"alpha", "bravo", "charlie"} {
			if page[`avax_node_up{node="`+name+`"}`] != 1 {
				t.Errorf("%s not up", name)
			}
		}
		if n := page.Sum("avax_exporter_collector_skipped_total"); n > 0 {
			t.Errorf("%v runs skipped", n)
		}
	})
}

// A node with another address is another node, even with the same name. It must not get the samples of the previous node, whose ID it has not changed. But the
// validator of the name is still expected.
func TestNodeWithANewURLIsANewNode(t *testing.T) {
	withNodesFile(t, func(t *testing.T, w *apptest.World, put func(nodes ...string)) {
		is := func(id string) bool {
			return len(w.Samples(t).Of("avax_node_info", `node="alpha"`, `node_id="`+id+`"`)) > 0
		}
		if !is(w.NodeID("alpha")) {
			t.Fatal("alpha unknown")
		}
		w.Node("charlie").Stop()
		put("alpha=charlie", "bravo=bravo")
		must.Do(t, w.Reload())
		if is("") {
			t.Error("samples of the new node before its first call")
		}
		w.Node("charlie").Start()
		time.Sleep(2 * time.Minute)
		if !is(w.NodeID("charlie")) || is(w.NodeID("alpha")) {
			t.Error("samples not of the new node")
		}
		w.ResetCalls()
		time.Sleep(10 * time.Minute)
		if n := w.CallsTo("alpha"); n > 0 {
			t.Errorf("%d calls to the old node", n)
		}
		page := w.Samples(t)
		if got := page[`avax_node_identity_changes_total{node="alpha"}`]; got != 0 {
			t.Errorf("%v identity changes of the new node, want 0", got)
		}
		if _, answer := w.Get(t, "/safe-to-stop?node=alpha"); strings.Contains(answer, "changed") {
			t.Error(answer)
		}
		if got := page[`avax_validator_present{node_id="`+w.NodeID("alpha")+`"}`]; got != 1 {
			t.Errorf("the validator of the previous node is present: %v", got)
		}
	})
}

// Removed nodes leave no series.
func TestRemovedNodeLeavesNoSeries(t *testing.T) {
	withNodesFile(t, func(t *testing.T, w *apptest.World, put func(nodes ...string)) {
		w.Node("bravo").Inject(simnet.Slow(9 * time.Second)) // calls are in progress
		time.Sleep(16 * time.Second)
		put("alpha=alpha")
		must.Do(t, w.Reload())
		time.Sleep(6 * time.Minute) // longer than the period of the collector variants
		for series := range w.Samples(t) {
			if strings.Contains(series, `"bravo`) || series == `avax_validator_present{node_id="`+w.NodeID("bravo")+`"}` {
				t.Errorf("%s left", series)
			}
		}
		put()
		must.Do(t, w.Reload())
		time.Sleep(6 * time.Minute)
		page := w.Samples(t)
		for series := range page {
			if strings.Contains(series, `"alpha`) {
				t.Errorf("%s left", series)
			}
		}
		if got := page["avax_exporter_targets"]; got != 0 {
			t.Errorf("%v targets", got)
		}
	})
}

func TestChangedNodesFileIsReloaded(t *testing.T) {
	withNodesFile(t, func(t *testing.T, w *apptest.World, put func(nodes ...string)) {
		put("charlie=charlie")
		time.Sleep(time.Minute)
		page := w.Samples(t)
		if page[`avax_node_up{node="charlie"}`] != 1 || page["avax_exporter_targets"] != 1 {
			t.Errorf("%v targets", page["avax_exporter_targets"])
		}
	})
}

// Together, the shards export the series of one exporter. Series about the network and chains occur in several shards.
func TestShardsTogetherExportTheWhole(t *testing.T) {
	t.Parallel()
	series := func(shard, of string) map[string]bool {
		found := map[string]bool{}
		apptest.Run(t, func(t *testing.T, w *apptest.World) {
			w.Env["NODES"] = apptest.URLs("alpha", "bravo", "charlie", "delta", "echo", "foxtrot") // two nodes in each shard
			w.Env["COLLECTORS"] = "-validator_views,-forks"                                        // these compare the nodes of one shard
			w.Env["SHARD"], w.Env["TOTAL_SHARDS"] = shard, of
			w.Start(t)
			for s := range w.Samples(t) {
				if strings.HasPrefix(s, "avax_") && !strings.HasPrefix(s, "avax_exporter_") {
					found[s] = true
				}
			}
		})
		return found
	}
	whole, together := series("0", "1"), map[string]bool{}
	for _, shard := range []string{"0", "1", "2"} {
		part := series(shard, "3")
		for s := range part {
			if together[s] && strings.Contains(s, `node="`) {
				t.Errorf("duplicate %s", s)
			}
			together[s] = true
		}
		if len(part) == 0 {
			t.Errorf("shard %s exports nothing", shard)
		}
	}
	if diff := cmp.Diff(whole, together); diff != "" || len(whole) < 200 {
		t.Errorf("%d series; one exporter (-) and three shards (+) differ:\n%s", len(whole), diff)
	}
}

func TestReloadEndpointAcceptsOnlyLocalSameSitePost(t *testing.T) {
	t.Parallel()
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Start(t)
		reloads := func() float64 {
			return w.Samples(t)[`avax_exporter_config_last_reload_success_timestamp_seconds{what="configuration"}`]
		}
		for _, c := range []struct {
			method, site, host string
			want               int
		}{
			{http.MethodPost, "", "localhost", 200}, {http.MethodPost, "same-origin", "127.0.0.1:9865", 200}, {http.MethodGet, "", "localhost", 405},
			{http.MethodPost, "cross-site", "localhost", 403}, {http.MethodPost, "same-origin", "evil.example", 403},
		} {
			before := reloads()
			time.Sleep(time.Second)
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/-/reload", nil)
			r.RemoteAddr, r.Host = "127.0.0.1:1000", c.host
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			answer := httptest.NewRecorder()
			w.Handler().ServeHTTP(answer, r)
			if answer.Code != c.want {
				t.Errorf("%s from %q: %d, want %d", c.method, c.site, answer.Code, c.want)
			}
			if answer.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s from %q: headers %v", c.method, c.site, answer.Header())
			}
			if reloaded := reloads() > before; reloaded != (c.want == http.StatusOK) {
				t.Errorf("%s from %q: reloaded %v", c.method, c.site, reloaded)
			}
		}
	})
}

// An empty list of nodes is a state, at the start and later: no collector panics or fails, no page fails, and what is said about nodes is that there are
// none. With the Data service, its collectors continue. The nodes may come back.
func TestNoNodeIsAState(t *testing.T) {
	testworld.Story(t)
	for _, service := range []string{"", "http://data.sim"} {
		withNodesFile(t, func(t *testing.T, w *apptest.World, put func(nodes ...string)) {
			use := func(nodes ...string) {
				put(nodes...)
				must.Do(t, w.Reload())
				time.Sleep(5 * time.Minute)
				if up := w.Samples(t)[`avax_node_up{node="alpha"}`]; int(up) != len(nodes) {
					t.Errorf("nodes %q: up %v", nodes, up)
				}
			}
			use("alpha=alpha")
			use()
			time.Sleep(20 * time.Minute)
			samples := w.Samples(t)
			if n := samples.Sum("avax_exporter_collector_panics_total"); n != 0 {
				t.Errorf("%v panics", n)
			}
			for series, v := range samples.Of("avax_exporter_collector_success") {
				if v != 1 {
					t.Errorf("%s is %v", series, v)
				}
			}
			for path, want := range map[string]string{
				"/": "no node to query", "/alerts": "", "/week": "", "/explain?name=AvaxNodeDown": "no node is configured here now",
				"/safe-to-stop?node=alpha": "unknown node: no node is configured here now", "/is-back?node=alpha": "unknown node: no node is configured here now",
				"/serving?node=alpha&chain=C": "unknown node: no node is configured here now", "/waves": "not known: no node is configured here now",
				"/?filter=alpha": "", "/node/alpha": "", "/l1/x": "", "/api/v1/tables": "", "/api/v1/incidents": "", "/api/v1/alerts": "", "/api/v1/rules": "", "/-/healthy": "healthy",
			} {
				status, text := w.Get(t, path)
				if status >= 500 && status != http.StatusServiceUnavailable || !strings.Contains(text, want) {
					t.Errorf("%s: %d, want %q: %s", path, status, want, text[:min(len(text), 300)])
				}
			}
			use("alpha=alpha")
			if log := w.Log.String(); strings.Contains(log, "panic") || strings.Contains(log, "level=ERROR") || strings.Contains(log, "expected network") {
				t.Errorf("log: %s", log)
			}
		}, func(env map[string]string) {
			must.Do(t, os.WriteFile(env["NODES_FILE"], []byte("[]"), 0o600))
			env["DATA_URL"], env["NETWORK"], env["ALERTING"] = service, "mainnet", "on"
			env["WATCH_ADDRESSES"], env["WATCH_DELEGATORS"] = simnet.Account+",P-"+simnet.Owner, "fund=P-"+simnet.Delegator
		})
	}
}
