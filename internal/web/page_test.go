package web

import (
	"compress/gzip"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var update = flag.Bool("update", false, "write testdata/status.html anew; read the difference before you keep it")

// ask asks the site for a page.
func ask(t testing.TB, s *Site, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Result()
}

func read(t testing.TB, from io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// statusOf returns the page, without its style.
func statusOf(t testing.TB, s *Site) string {
	t.Helper()
	answer := ask(t, s, http.MethodGet, "/")
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("/ answers %s", answer.Status)
	}
	return strings.Replace(read(t, answer.Body), statusCSS, "…", 1)
}

// incident is a site with a little of everything.
func incident(t testing.TB) *Site {
	s := told(t, `
		avax_node_up{node="alpha"} 1
		avax_node_info{node="alpha",node_id="NodeID-alpha",version="avalanchego/1.15.0"} 1
		avax_node_chain_present{node="alpha",chain="P"} 1
		avax_node_chain_bootstrapped{node="alpha",chain="P"} 1
		avax_node_chain_present{node="alpha",chain="C"} 1
		avax_node_chain_bootstrapped{node="alpha",chain="C"} 0
		avax_chain_height{node="alpha",chain="P"} 21034
		avax_chain_head_timestamp_seconds{node="alpha",chain="P"} `+in(-3*time.Second)+`
		avax_node_validating{node="alpha"} 1
		avax_node_uptime_rewarding_stake_ratio{node="alpha"} 0.7
		avax_node_uptime_weighted_ratio{node="alpha"} 0.93
		avax_node_connected_stake_ratio{node="alpha"} 0.991
		avax_node_peers{node="alpha"} 1201
		avax_node_peers_inbound{node="alpha"} 640
		avax_node_up{node="bravo"} 0
		avax_validator_present{node_id="NodeID-alpha"} 1
		avax_validator_end_timestamp_seconds{node_id="NodeID-alpha"} `+in(5*24*time.Hour)+`
		avax_validator_stake_avax{node_id="NodeID-alpha"} 2000
		avax_validator_uptime_ratio{node="bravo",node_id="NodeID-alpha"} 0.91
		avax_validator_present{node_id="NodeID-bravo"} 0
		avax_chain_info{chain="one",subnet_id="subnet1"} 1
		avax_l1_weight{chain="one"} 100
		avax_l1_active_weight{chain="one"} 85
		avax_l1_validators{chain="one",state="active"} 1
		avax_l1_validators{chain="one",state="inactive"} 1
		avax_l1_connected_weight{chain="one",node="alpha"} 85
		avax_l1_safe_to_stop{chain="one",node_id="NodeID-alpha"} 0
		avax_node_safe_to_stop{node="alpha"} 0
		avax_node_stop_leaves_ratio{node="alpha",chain="one"} 0
		avax_node_stop_leaves_ratio{node="alpha",chain="P"} 0.97
		avax_node_newer_version_stake_ratio{node="alpha"} 0.85
		avax_node_health_check_failing{node="alpha",check="C"} 1
		avax_node_health_check_failing{node="alpha",check="diskspace"} 1
		avax_chain_fork_detected{node="alpha",chain="P"} 1
		avax_fleet_variants{fact="version",subject="network"} 2
		avax_fleet_variants{fact="chain_config",subject="one"} 2
		avax_validator_uptime_requirement_ratio{node_id="NodeID-alpha"} 0.8
		avax_validator_downtime_budget_seconds{node_id="NodeID-alpha"} 241920
		avax_validator_downtime_used_seconds{node_id="NodeID-alpha"} 250000
		avax_validator_reward_reachable{node_id="NodeID-alpha"} 0
		avax_validator_weighted_uptime_ratio{node_id="NodeID-alpha"} 0.7
		avax_validator_views_stake_ratio{node_id="NodeID-alpha"} 0.98
		avax_validator_votes_yes_ratio{node_id="NodeID-alpha",requirement="0.8"} 0.31
		avax_validator_votes_yes_ratio{node_id="NodeID-alpha",requirement="0.9"} 0.02
		avax_validator_reward_reachable_at{node_id="NodeID-alpha",requirement="0.8"} 0
		avax_validator_reward_reachable_at{node_id="NodeID-alpha",requirement="0.9"} 0`)
	l1 := l1Told(floor, "V1 85 0.2", "V2 15 0")
	l1.Set[0].NodeID, l1.Set[1].NodeID = "NodeID-alpha", "NodeID-dry"
	keepL1(s, "one", l1)
	putTable(s, snapshot.Key{Collector: "variants", Target: metric.Target{}}, metric.Table{
		About: "Where the nodes differ.", Columns: []string{"Fact", "Of", "Value", "Nodes"},
		Rows: [][]string{{"version", "network", "avalanchego/1.15.0", "alpha"}, {"version", "network", "avalanchego/1.15.1", "bravo"}},
	})
	putTable(s, snapshot.Key{Collector: "reward_budget", Target: metric.Target{}}, metric.Table{
		About: "Who would vote no.", Columns: []string{"Validator", "Peer", "Its stake in AVAX", "Saw the validator up"},
		Rows: [][]string{{"NodeID-alpha", "NodeID-peer", "2000", "61.00 %"}}, LeftOut: 3,
	})
	fail(s, "peers", metric.Target{Node: "bravo"}, outcome("info.peers", scrape.Unreachable, "dial tcp 10.0.0.2:9650: connect: connection refused"))
	fail(s, "fee_config", metric.Target{Node: "alpha", Chain: "C"}, outcome("eth_feeConfig", scrape.Bootstrapping, "HTTP 503: the chain is not done bootstrapping"))
	fail(s, "tps", metric.Target{Chain: "one"}, outcome("GET /v1/avg_tps/{chainId}", scrape.RateLimited, "HTTP 429: asked too often"))
	return s
}

func TestThePageReadsAsItsGolden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const file = "testdata/status.html"
		page := strings.ReplaceAll(statusOf(t, incident(t)), "><", ">\n<") // for who reads the difference
		if *update {
			if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), page); diff != "" {
			t.Errorf("go test ./internal/web -update writes it anew:\n%s", diff)
		}
	})
}

// scenes are pages of all kinds.
func scenes(t *testing.T) map[string]*Site {
	demo := openDemo(t)
	demo.run(t.Context(), time.Hour)
	demo.network.Node("bravo").Suffer(simnet.WrongHost())
	demo.network.Node("foxtrot").Stop()
	demo.run(t.Context(), time.Hour)
	return map[string]*Site{"empty": newSite(), "incident": incident(t), "demo": demo.site, "hostile": hostile(t)}
}

func TestEveryLinkOfThePageLeadsSomewhere(t *testing.T) {
	t.Parallel()
	href := regexp.MustCompile(`href="([^"]*)"`)
	id := regexp.MustCompile(` id="([^"]*)"`)
	for name, s := range scenes(t) {
		page := statusOf(t, s)
		var ids []string
		for _, m := range id.FindAllStringSubmatch(page, -1) {
			anchor := html.UnescapeString(m[1])
			if slices.Contains(ids, anchor) {
				t.Errorf("%s: two places are called %s", name, anchor)
			}
			ids = append(ids, anchor)
		}
		for _, m := range href.FindAllStringSubmatch(page, -1) {
			link := html.UnescapeString(m[1])
			switch file, inDocs := strings.CutPrefix(link, repository+"/blob/main/"); {
			case strings.HasPrefix(link, "data:"):
			case strings.HasPrefix(link, "#"):
				anchor, err := url.PathUnescape(link[1:])
				if err != nil || !slices.Contains(ids, anchor) {
					t.Errorf("%s: %s leads nowhere: %v", name, link, err)
				}
			case inDocs:
				file, _, _ = strings.Cut(file, "#")
				if _, err := os.Stat("../../" + file); err != nil {
					t.Errorf("%s: %s: %v", name, link, err)
				}
			case strings.Contains(link, ":") || strings.HasPrefix(link, "/"):
				t.Errorf("%s: %s is none of the links that the page may have", name, link)
			default:
				if answer := ask(t, s, http.MethodGet, "/"+link); answer.StatusCode != http.StatusOK {
					t.Errorf("%s: /%s answers %s", name, link, answer.Status)
				}
			}
		}
	}
	for _, k := range kinds {
		if _, err := os.Stat("../../docs/runbooks/" + k.alert + ".md"); err != nil {
			t.Error(err)
		}
	}
}

// hostileTexts may come from a node, a chain's owner, or a proxy.
var hostileTexts = []string{
	`<script>document.title="owned"</script>`,
	`"><img src=x onerror=alert(1)>`,
	`</style></title><iframe src=javascript:alert(2)>`,
	`' onclick='alert(3)`,
	`{{.Version}}`,
}

func hostile(t testing.TB) *Site {
	s := newSite()
	s.Version = hostileTexts[0]
	texts := hostileTexts
	batch := snapshot.Key{Collector: "test", Target: metric.Target{}}
	putSamples(t, s, batch,
		sample{"avax_node_up", []string{"node", texts[1]}, 1},
		sample{"avax_node_up", []string{"node", "down" + texts[3]}, 0},
		sample{"avax_node_info", []string{"node", texts[1], "node_id", texts[2], "version", texts[0]}, 1},
		sample{"avax_node_chain_present", []string{"node", texts[1], "chain", texts[4]}, 0},
		sample{"avax_validator_present", []string{"node_id", texts[2]}, 1},
		sample{"avax_chain_info", []string{"chain", texts[0], "subnet_id", texts[3]}, 1},
		sample{"avax_l1_weight", []string{"chain", texts[0]}, 1},
		sample{"avax_node_health_check_failing", []string{"node", texts[1], "check", texts[3]}, 1},
		sample{"avax_chain_fork_detected", []string{"node", texts[1], "chain", texts[4]}, 1},
		sample{"avax_node_stop_leaves_ratio", []string{"node", texts[1], "chain", texts[0]}, 0.5},
		sample{"avax_fleet_variants", []string{"fact", "chain_config", "subject", texts[1]}, 2},
		sample{"avax_validator_uptime_requirement_ratio", []string{"node_id", texts[2]}, 0.9},
		sample{"avax_validator_reward_reachable", []string{"node_id", texts[2]}, 0},
	)
	putTable(s, snapshot.Key{Collector: "variants", Target: metric.Target{}},
		metric.Table{About: texts[0], Columns: []string{texts[1], texts[3]}, Rows: [][]string{{texts[2], texts[4]}}})
	// A chain's name is part of a link.
	odd := "../a?b#c d%2F"
	put(t, s, snapshot.Key{Collector: "l1", Target: metric.Target{Chain: odd}}, `avax_l1_weight{chain="`+odd+`"} 100`)
	keepL1(s, odd, l1Told(floor, "a 100 50"))
	keepL1(s, texts[0], &staking.L1{At: time.Now(), Set: []staking.Validator{{ID: texts[2], NodeID: texts[1], Weight: 1, Balance: 50e9, Burn: floor}}})
	fail(s, texts[3], metric.Target{Node: texts[1]}, outcome("info.peers", scrape.Rejected, strings.Join(texts, " ")))
	return s
}

func TestHostileTextIsShownAsText(t *testing.T) {
	page := statusOf(t, hostile(t))
	for _, markup := range []string{"<script", "<img", "<iframe", "onclick='", `="javascript:`} {
		if strings.Contains(strings.ToLower(page), markup) {
			t.Errorf("%s stands in the page", markup)
		}
	}
	for _, text := range hostileTexts {
		if !strings.Contains(html.UnescapeString(page), text) {
			t.Errorf("%s is not shown", text)
		}
	}
}

// An address may come from the annotation of a rule.
func TestALinkLeadsToAPageOrNowhere(t *testing.T) {
	for address, want := range map[string]string{
		"https://example.com/a?b=c&d": `<a href="https://example.com/a?b=c&amp;d">x</a>`,
		"HTTP://example.com":          `<a href="HTTP://example.com">x</a>`,
		"alerts":                      `<a href="alerts">x</a>`,
		"-/ready":                     `<a href="-/ready">x</a>`,
		"#a%20b":                      `<a href="#a%20b">x</a>`,
		`a" onclick="b`:               `<a href="a&#34; onclick=&#34;b">x</a>`,
		"javascript:alert(1)":         "x",
		"JavaScript:alert(1)":         "x",
		" javascript:alert(1)":        "x",
		"java\tscript:alert(1)":       "x",
		"\x01javascript:alert(1)":     "x",
		"javascript&colon;alert(1)":   `<a href="javascript&amp;colon;alert(1)">x</a>`, // a page of that name
		"data:text/html,<script>":     "x",
		"vbscript:x":                  "x",
		"file:///etc/passwd":          "x",
	} {
		var got strings.Builder
		if err := link(address, "x").Render(&got); err != nil || got.String() != want {
			t.Errorf("%q: %s, want %s (%v)", address, &got, want, err)
		}
	}
}

// What is written as it is, and what is a link without a look at it, could be
// anybody's: each stands in one place.
func TestOneTextIsWrittenAsItIs(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, file := range sources {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range regexp.MustCompile(`\b[gh]\.(Rawf?|Href|Src|Action|Style|Script|El)\(.*`).FindAllString(string(text), -1) {
			found[strings.TrimRight(use, ",")]++
		}
	}
	want := map[string]int{"g.Raw(statusCSS))": 1, "h.Href(address), g.Text(text))": 1}
	delete(found, `h.Href("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Ccircle cx='4' cy='4' r='4' fill='%23"+`) // the icon, in a colour of ours
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
}

func TestEveryAnswerIsStrict(t *testing.T) {
	s := incident(t)
	for path, want := range map[string]int{
		"/": 200, "/metrics": 200, "/-/healthy": 200, "/-/ready": 200, "/nowhere": 404, "/index.html": 404,
		"/safe-to-stop": 400, "/safe-to-stop?node=alpha": 409, "/safe-to-stop?node=x": 404, "/api/v1/l1/none/plan": 404, "/api/v1/l1/one/plan?days=x": 400,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			answer := ask(t, s, method, path)
			if answer.StatusCode != want {
				t.Errorf("%s %s: %s, want %d", method, path, answer.Status, want)
			}
			h := answer.Header
			if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
				t.Errorf("%s %s: %v", method, path, h)
			}
			policy := h.Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
				strings.Contains(policy, "script") || strings.Contains(policy, "unsafe") {
				t.Errorf("%s %s: %s", method, path, policy)
			}
			wantKind := "text/plain"
			switch {
			case path == "/":
				wantKind = "text/html"
			case strings.HasPrefix(path, "/api/"):
				wantKind = "application/json"
			}
			if kind := h.Get("Content-Type"); !strings.HasPrefix(kind, wantKind) {
				t.Errorf("%s %s is %s", method, path, kind)
			}
		}
		if answer := ask(t, s, http.MethodPost, path); answer.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %s", path, answer.Status)
		}
	}
	if body := read(t, ask(t, s, http.MethodGet, "/nowhere").Body); !strings.Contains(body, "/metrics") || strings.Contains(body, "<") {
		t.Errorf("the 404 page: %s", body)
	}
	if strings.Contains(statusOf(t, s), "style=") {
		t.Error("the policy lets no style attribute through")
	}
}

func TestHeadHasTheHeadersAndNoBody(t *testing.T) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodHead, serve(t, incident(t))+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body := read(t, answer.Body); body != "" || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%s, %v, %q", answer.Status, answer.Header, body)
	}
}

func TestThePageIsPackedForThoseWhoCanUnpackIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := incident(t)
		answer := ask(t, s, http.MethodGet, "/", "Accept-Encoding", "gzip")
		if answer.Header.Get("Content-Encoding") != "gzip" || answer.Header.Get("Vary") != "Accept-Encoding" {
			t.Fatal(answer.Header)
		}
		unpacked, err := gzip.NewReader(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Replace(read(t, unpacked), statusCSS, "…", 1); got != statusOf(t, s) {
			t.Error("packed and unpacked pages differ")
		}
	})
}

// A crowd of browsers takes no more than one makes in a second.
func TestThePageIsMadeOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `avax_node_up{node="a"} 1`)
		made := 0
		s.Progress = func() (ran, of int) { made++; return 1, 1 }
		h := s.Handler()
		look := func(encoding string) string {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			r.Header.Set("Accept-Encoding", encoding)
			h.ServeHTTP(w, r)
			if got := w.Header().Get("Content-Encoding"); w.Code != http.StatusOK || got != encoding {
				t.Errorf("%d, packed as %q, want %q", w.Code, got, encoding)
			}
			return w.Body.String()
		}
		var crowd sync.WaitGroup
		for _, encoding := range []string{"gzip", "zstd", "", "gzip", ""} {
			crowd.Go(func() { look(encoding) })
		}
		crowd.Wait()
		if made != 1 {
			t.Errorf("five who come at once have it made %d times", made)
		}
		put(t, s, snapshot.Key{Collector: "test", Target: metric.Target{}}, `avax_node_up{node="a"} 0`)
		time.Sleep(sharedFor)
		if page := look(""); made != 2 || !strings.Contains(page, "1 node is down") {
			t.Errorf("a second later it was made %d times:\n%s", made, page)
		}
	})
}

func TestReadyTellsWhenEveryCollectorHasRun(t *testing.T) {
	s := newSite()
	for _, test := range []struct{ ran, of, want int }{{0, 0, 503}, {0, 3, 503}, {2, 3, 503}, {3, 3, 200}} {
		s.Progress = func() (int, int) { return test.ran, test.of }
		if got := ask(t, s, http.MethodGet, "/-/ready").StatusCode; got != test.want {
			t.Errorf("%d of %d have run: %d, want %d", test.ran, test.of, got, test.want)
		}
		if got := ask(t, s, http.MethodGet, "/-/healthy").StatusCode; got != http.StatusOK {
			t.Errorf("healthy: %d", got)
		}
	}
}

func TestAnExporterThatHasJustStartedSaysSo(t *testing.T) {
	s := newSite()
	s.Progress = func() (ran, of int) { return 0, 60 }
	page := statusOf(t, s)
	for _, want := range []string{"<title>Waiting for the first answers – avax-exporter</title>", "0 of 60 collectors have run", "None has run yet"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page:\n%s", want, page)
		}
	}
}

// fleet is a site over n nodes that validate the primary network, follow three
// chains and see a hundred L1 validators.
func fleet(t testing.TB, n int) *Site {
	s := newSite()
	for i := range n {
		node := fmt.Sprintf("node%04d", i)
		all := []sample{
			{"avax_node_up", []string{"node", node}, 1},
			{"avax_node_info", []string{"node", node, "node_id", "NodeID-" + node, "version", "avalanchego/1.15.0"}, 1},
			{"avax_node_validating", []string{"node", node}, 1},
			{"avax_node_uptime_rewarding_stake_ratio", []string{"node", node}, 1},
			{"avax_node_uptime_weighted_ratio", []string{"node", node}, 1},
			{"avax_node_connected_stake_ratio", []string{"node", node}, 1},
			{"avax_node_peers", []string{"node", node}, 1200},
			{"avax_node_peers_inbound", []string{"node", node}, 600},
			{"avax_validator_present", []string{"node_id", "NodeID-" + node}, 1},
			{"avax_validator_stake_avax", []string{"node_id", "NodeID-" + node}, 2000},
			{"avax_validator_uptime_requirement_ratio", []string{"node_id", "NodeID-" + node}, 0.9},
			{"avax_validator_reward_reachable", []string{"node_id", "NodeID-" + node}, 1},
			{"avax_node_safe_to_stop", []string{"node", node}, 1},
			{"avax_node_stop_leaves_ratio", []string{"node", node, "chain", "P"}, 0.99},
			{"avax_node_newer_version_stake_ratio", []string{"node", node}, 0.1},
		}
		for _, check := range []string{"P", "X", "C", "one", "network", "diskspace", "bls", "database", "router", "bootstrapped", "futureupgrade"} {
			all = append(all, sample{"avax_node_health_check_failing", []string{"node", node, "check", check}, 0})
		}
		for _, chain := range []string{"P", "X", "C", "one"} {
			all = append(all,
				sample{"avax_node_chain_present", []string{"node", node, "chain", chain}, 1},
				sample{"avax_node_chain_bootstrapped", []string{"node", node, "chain", chain}, 1},
				sample{"avax_chain_height", []string{"node", node, "chain", chain}, 1e6},
				sample{"avax_chain_head_timestamp_seconds", []string{"node", node, "chain", chain}, float64(time.Now().Unix())})
		}
		for v := range 100 {
			id := fmt.Sprintf("validator%03d", v)
			all = append(all, sample{"avax_l1_validator_connected", []string{"node", node, "chain", "one", "node_id", "NodeID-" + id, "validation_id", id}, 1})
		}
		putSamples(t, s, snapshot.Key{Collector: "all", Target: metric.Target{Node: node}}, all...)
		if i%10 == 0 {
			fail(s, "peers", metric.Target{Node: node}, outcome("info.peers", scrape.Timeout, "no answer within 10s"))
		}
	}
	put(t, s, snapshot.Key{Collector: "l1", Target: metric.Target{Chain: "one"}}, `avax_l1_weight{chain="one"} 100`)
	l1 := l1Told(floor)
	for v := range 100 {
		l1.Set = append(l1.Set, l1Told(floor, fmt.Sprintf("validator%03d 1 50", v)).Set...)
	}
	keepL1(s, "one", l1)
	return s
}

func TestAPageOfAThousandNodesIsQuick(t *testing.T) {
	s := fleet(t, 1000)
	began := time.Now()
	page := statusOf(t, s)
	if took := time.Since(began); took > 5*time.Second { // alone it takes a fifth of one, on a busy machine with the race detector many times that
		t.Errorf("the page took %s", took)
	}
	if n := strings.Count(page, `<article class="card well" id="node-`); n != 1000 {
		t.Errorf("%d nodes are on the page", n)
	}
	if !strings.Contains(page, "976 more nodes") {
		t.Error("they are not folded away")
	}
}

func BenchmarkStatusOfAThousandNodes(b *testing.B) {
	s := fleet(b, 1000)
	for b.Loop() {
		statusOf(b, s)
	}
}
