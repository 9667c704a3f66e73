package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// With five minutes, the intervals and rules are those that are shipped.
var outage = flag.Duration(
	"outage",
	time.Minute,
	"how long each part of a fleet is lost; scales every interval of deploy/fleet and of the rules, which are made for 5m",
)

// twoSites runs the files of deploy/fleet: on each site the exporters of all shards, an agent, a store, a query, a ruler and an Alertmanager.
type twoSites struct {
	t         testing.TB
	network   *simnet.Network
	pages     *testworld.Receiver
	client    *http.Client // with a certificate of the fleet
	authority *testworld.Authority
	dirs      map[string]string // configuration of each site
	addresses map[string]string // on the loopback, of what the files call site:port
	exporters map[string]*testworld.Exporter
	parts     map[string]*testworld.Program // agent, receive, query, rule and alertmanager of each site
}

var shipped = os.DirFS("../../deploy/fleet")

var sites = []string{"a", "b"}

// fleetNodes are the nodes of the fleet.
var fleetNodes = []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot"}

func newTwoSites(t testing.TB) *twoSites {
	f := &twoSites{
		t: t, network: simnet.New(simnet.Options{Seed: 1, Validators: 300}), pages: testworld.Webhook(t), authority: testworld.NewAuthority(t),
		dirs: map[string]string{}, addresses: map[string]string{}, exporters: map[string]*testworld.Exporter{}, parts: map[string]*testworld.Program{},
	}
	certificate, key := f.authority.Sign(t, "operator")
	pair := must.Get(tls.X509KeyPair([]byte(certificate), []byte(key)))(t)
	roots := x509.NewCertPool()
	roots.AddCert(f.authority.Certificate)
	f.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}}}
	t.Cleanup(f.client.CloseIdleConnections)
	urls := testworld.Serve(t, f.network)
	var nodes []any
	for _, name := range fleetNodes {
		nodes = append(nodes, map[string]any{"targets": []string{urls[name]}, "labels": map[string]string{"node": name}})
	}
	for _, site := range sites {
		f.dirs[site] = t.TempDir()
		f.configure(site, nodes)
	}
	for _, site := range sites {
		f.run(site, "receive", "thanos", "10902", "receive", "@receive.flags", fmt.Sprintf("--label=receive=%q", site))
		f.run(site, "alertmanager", "alertmanager", "9093", "@alertmanager.flags")
	}
	for _, site := range sites {
		f.run(site, "query", "thanos", "10904", "query", "@query.flags")
	}
	for _, site := range sites {
		for shard := range 2 {
			f.startExporter(site, shard, 2)
		}
		f.run(site, "agent", "prometheus-3", "9090", "@agent.flags")
		f.run(site, "rule", "thanos", "10906", "rule", "@rule.flags", fmt.Sprintf("--label=rule=%q", site))
	}
	return f
}

// address returns the address on the loopback of a port of a site.
func (f *twoSites) address(site, port string) string {
	key := site + ":" + port
	if f.addresses[key] == "" {
		f.addresses[key] = testworld.Address(f.t)
	}
	return f.addresses[key]
}

var (
	listening = regexp.MustCompile(`(?:0\.0\.0\.0|127\.0\.0\.1|([ab])\.example\.com):(\d+)`)
	intervals = regexp.MustCompile(`((?:interval|for|group_wait|delay|timeout)(?:: |=)|offset )(\d+[smhd])\b`)
)

// scaled returns a duration of the shipped files, shorter as the outage is shorter than five minutes.
func scaled(d time.Duration) time.Duration { return d * (*outage / time.Second) / 300 }

func scaledText(t testing.TB, text string) string {
	return intervals.ReplaceAllStringFunc(text, func(match string) string {
		parts := intervals.FindStringSubmatch(match)
		d := must.Get(model.ParseDuration(parts[2]))(t)
		return parts[1] + model.Duration(scaled(time.Duration(d))).String()
	})
}

// configure writes the files of a site: those of deploy/fleet with addresses of the loopback, the rules, the nodes and certificates.
func (f *twoSites) configure(site string, nodes []any) {
	f.t.Helper()
	dir := f.dirs[site]
	write := func(name, text string) {
		text = listening.ReplaceAllStringFunc(text, func(match string) string {
			parts := listening.FindStringSubmatch(match)
			if parts[1] == "" {
				parts[1] = site
			}
			return f.address(parts[1], parts[2])
		})
		text = strings.ReplaceAll(scaledText(f.t, text), "/var/lib/avax-fleet", dir)
		must.Do(f.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	files := must.Get(fs.Glob(shipped, "*"))(f.t)
	for _, name := range files {
		text := must.Get(fs.ReadFile(shipped, name))(f.t)
		write(strings.Replace(name, "-"+site+".json", ".json", 1), string(text))
	}
	write("rules.yml", string(alerts.Rules))

	var config map[string]any
	must.Do(f.t, yaml.Unmarshal(alertmanager.Config, &config))
	for _, r := range config["receivers"].([]any) {
		r.(map[string]any)["webhook_configs"] = []any{map[string]any{"url": f.pages.URL, "send_resolved": true}}
	}
	text := must.Get(yaml.Marshal(config))(f.t)
	webhook := strings.TrimPrefix(f.pages.URL, "http://127.0.0.1:")
	f.addresses[site+":"+webhook] = "127.0.0.1:" + webhook // as it is
	write("alertmanager.yml", string(text))

	list := must.Get(yaml.Marshal(nodes))(f.t)
	certificate, key := f.authority.Sign(f.t, site)
	for name, text := range map[string]string{"nodes.yml": string(list), "ca.crt": f.authority.PEM, "tls.crt": certificate, "tls.key": key} {
		must.Do(f.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// run starts a part that serves at a port of a site.
func (f *twoSites) run(site, part, program, port string, args ...string) {
	f.t.Helper()
	f.parts[part+" "+site] = testworld.Run(f.t, f.client, "https://"+f.address(site, port), f.dirs[site], program, args...)
}

// startExporter starts the exporter of a shard.
func (f *twoSites) startExporter(site string, shard, total int) {
	f.t.Helper()
	text := must.Get(fs.ReadFile(shipped, "exporter.env"))(f.t)
	var environment []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			environment = append(environment, line)
		}
	}
	if *outage < 5*time.Minute {
		environment = append(environment, unhurried)
	}
	environment = append(environment, "AVAX_CHAINS=C", fmt.Sprintf("AVAX_SHARD=%d", shard), fmt.Sprintf("AVAX_TOTAL_SHARDS=%d", total),
		"AVAX_LISTEN="+f.address(site, fmt.Sprint(9865+shard)))
	cmd := exec.CommandContext(context.WithoutCancel(f.t.Context()), testworld.ExporterPath(f.t))
	cmd.Dir = f.dirs[site]
	f.exporters[fmt.Sprintf("avax-exporter-%d-%s", shard, site)] = testworld.RunExporter(f.t, cmd, environment...)
}

// ask queries a site. Without deduplication, each series has the label of its store.
func (f *twoSites) ask(site, expr string, deduplicate bool, into any) error {
	address := f.parts["query "+site].URL + "/api/v1/query?" + url.Values{"query": {expr}, "dedup": {fmt.Sprint(deduplicate)}}.Encode()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result json.RawMessage }
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %s: %w", expr, response.Status, err)
	}
	if answer.Error != "" {
		return fmt.Errorf("%s: %s", expr, answer.Error)
	}
	return json.Unmarshal(answer.Data.Result, into)
}

// whole waits until each store has recent samples of every exporter about each of its nodes, and both sites know of no lost part.
func (f *twoSites) whole() {
	f.t.Helper()
	for _, site := range sites {
		testworld.Await(f.t, "all samples arrive", func() error {
			var recent, firing model.Vector
			expr := fmt.Sprintf("count by (receive) (avax_node_up == 1 and timestamp(avax_node_up) > time() - %v)", scaled(40*time.Second).Seconds())
			if err := f.ask(site, expr, false, &recent); err != nil {
				return err
			}
			if len(recent) != 2 || recent[0].Value != model.SampleValue(2*len(fleetNodes)) || recent[1].Value != recent[0].Value {
				return fmt.Errorf("%v", recent)
			}
			if err := f.ask(site, `ALERTS{alertname=~"FleetPartDown|AvaxExporterDown"} or absent(up{job="avax-fleet"} == 1) or up == 0`, true, &firing); err != nil {
				return err
			}
			if len(firing) > 0 {
				return fmt.Errorf("%v", firing)
			}
			return nil
		})
	}
}

// rejectsStrangers requires every port that is open to other machines to reject a client without a certificate of the fleet.
func (f *twoSites) rejectsStrangers() {
	f.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(f.authority.Certificate)
	for _, site := range sites {
		for _, port := range []string{"9090", "9093", "9094", "10901", "10902", "10904", "10906", "19291"} {
			dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots}}
			connection, err := dialer.DialContext(f.t.Context(), "tcp", f.address(site, port))
			if err == nil {
				_, err = connection.Read(make([]byte, 1)) // with TLS 1.3, the server answers the handshake here
				_ = connection.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "tls: certificate required") && !strings.Contains(err.Error(), "tls: bad certificate") {
				f.t.Errorf("site %s, port %s, a client without a certificate: %v", site, port, err)
			}
		}
	}
}

// gaps returns the longest time between two samples of avax_node_up since a time, in each store and merged by these labels.
func (f *twoSites) gaps(since time.Time, by ...model.LabelName) map[string]time.Duration {
	f.t.Helper()
	var series model.Matrix
	must.Do(f.t, f.ask("a", fmt.Sprintf("avax_node_up[%ds]", int(time.Since(since).Seconds())), false, &series))
	times := map[string][]model.Time{}
	for _, s := range series {
		var key []string
		for _, label := range append(by, "receive") {
			key = append(key, string(s.Metric[label]))
		}
		for _, v := range s.Values {
			times[strings.Join(key, " ")] = append(times[strings.Join(key, " ")], v.Timestamp)
		}
	}
	longest := map[string]time.Duration{}
	for key, all := range times {
		slices.Sort(all)
		for i := range len(all) - 1 {
			longest[key] = max(longest[key], all[i+1].Sub(all[i]))
		}
	}
	return longest
}

// table writes a table with this head into docs/fleets.md.
func table(t testing.TB, name, head string, lines []string) {
	t.Helper()
	text := fmt.Sprintf(
		"\nMeasured on %s with %d processors, %s.\n\n%s\n%s\n\n",
		time.Now().Format(time.DateOnly),
		runtime.NumCPU(),
		runtime.Version(),
		head,
		strings.Join(lines, "\n"),
	)
	testworld.Measured(t, "../../docs/fleets.md", name, text)
}

// TestAnyPartOfAFleetMayBeLost kills each part of a site in turn, like a power failure. While the part is lost, a node stops.
func TestAnyPartOfAFleetMayBeLost(t *testing.T) {
	testworld.Full(t)
	var mu sync.Mutex
	lines := map[string]string{}
	all := [][]string{{"nothing", "exporter", "agent", "receive"}, {"query", "rule", "alertmanager"}}
	t.Run("Fleets", func(t *testing.T) {
		for _, parts := range all {
			t.Run(strings.Join(parts, ","), func(t *testing.T) {
				t.Parallel()
				losePartsInTurn(t, parts, func(part, line string) {
					mu.Lock()
					defer mu.Unlock()
					lines[part] = line
				})
			})
		}
	})
	if t.Failed() {
		return
	}
	var inOrder []string
	for _, part := range slices.Concat(all...) {
		inOrder = append(inOrder, lines[part])
	}
	table(
		t,
		"lost",
		"| lost part | for | a node stops: page after | all samples in both stores, and all parts up, after | longest time without a sample of a node | pages lost, false, or resolved too early |\n|---|---|---|---|---|---|",
		inOrder,
	)
}

func losePartsInTurn(t *testing.T, parts []string, report func(part, line string)) {
	f := newTwoSites(t)
	f.whole()
	f.rejectsStrangers()
	f.pages.Wait(testworld.Firing("AvaxWatchdog"))
	// A cause that lasts until the end: it pages once.
	f.network.Node("alpha").SetChain("C", simnet.Bootstrapping)
	interval := scaled(15 * time.Second)
	began, lost := time.Now(), map[string]bool{}
	down := map[string]string{} // the node that stops while a part is lost
	for i, part := range parts {
		stop, start := func() {}, func() {}
		switch p := f.parts[part+" a"]; {
		case p != nil:
			stop, start = p.Kill, p.Start
		case part == "exporter":
			stop = func() { f.exporters["avax-exporter-0-a"].End(syscall.SIGKILL) }
			start = func() { f.startExporter("a", 0, 2) }
		}
		t.Logf("%s: %s lost", time.Since(began).Round(time.Second), part)
		lost[part] = true
		node := fleetNodes[1+i]
		down[node] = part
		at := time.Now()
		stop()
		f.network.Node(node).Stop()
		page := f.pages.Wait(testworld.Firing("AvaxNodeDown", "node="+node, "severity=page"))
		time.Sleep(time.Until(at.Add(*outage)))
		start()
		f.network.Node(node).Start()
		back := time.Now()
		f.whole()
		var longest time.Duration
		for key, gap := range f.gaps(at.Add(-2*interval), "node") {
			if longest = max(longest, gap); gap > interval*3/2 {
				t.Errorf("%s: no sample for %s", key, gap)
			}
		}
		line := fmt.Sprintf(
			"| %s | %s | %s | %s | %.0f s | 0 |",
			part,
			back.Sub(at).Round(time.Second),
			page.At.Sub(at).Round(time.Second),
			time.Since(back).Round(time.Second),
			longest.Seconds(),
		)
		t.Log(line)
		report(part, line)
	}
	for node := range down {
		f.pages.Wait(testworld.Resolved("AvaxNodeDown", "node="+node, "severity=page"))
	}
	f.pages.Wait(testworld.Firing("AvaxChainNotBootstrapped", "node=alpha", "severity=page"))

	for key, gap := range f.gaps(began, "instance", "node") {
		expected := lost["agent"] && strings.Contains(key, "-a ") || lost["exporter"] && strings.HasPrefix(key, "avax-exporter-0-a ")
		if gap > interval*3/2 && !expected {
			t.Errorf("%s: no sample for %s", key, gap)
		}
	}
	statuses := map[string][]string{}
	for _, a := range f.pages.Alerts() {
		key := fmt.Sprintf("%s %s %s %s", a.Labels["severity"], a.Labels["alertname"], a.Labels["node"], a.Labels["part"])
		if a.Labels["severity"] == "none" && a.Status == "firing" {
			continue
		}
		statuses[key] = append(statuses[key], a.Status)
		t.Logf("%s: %s %s, since %s", a.At.Sub(began).Round(time.Second), key, a.Status, a.StartsAt.Sub(began).Round(time.Second))
	}
	for node := range down {
		key := "page AvaxNodeDown " + node + " "
		if !slices.Equal(statuses[key], []string{"firing", "resolved"}) {
			t.Errorf("%s sent as %v", key, statuses[key])
		}
		delete(statuses, key)
	}
	if key := "page AvaxChainNotBootstrapped alpha "; !slices.Equal(statuses[key], []string{"firing"}) {
		t.Errorf("%s sent as %v", key, statuses[key])
	} else {
		delete(statuses, key)
	}
	for key, sent := range statuses {
		if strings.HasPrefix(key, "page ") || strings.HasPrefix(key, "none ") {
			t.Errorf("%s sent as %v", key, sent)
		}
	}
}

// TestAShardIsAddedWithoutAGap follows the order of docs/fleets.md, from two shards to three and back.
func TestAShardIsAddedWithoutAGap(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	f := newTwoSites(t)
	f.whole()
	f.pages.Wait(testworld.Firing("AvaxWatchdog"))
	began := time.Now()
	watched := func(shard int) (n int) {
		t.Helper()
		var found model.Vector
		must.Do(t, f.ask("a", fmt.Sprintf(`count(count by (node) (avax_node_up{instance=~"avax-exporter-%d-."}))`, shard), true, &found))
		for _, v := range found {
			n = int(v.Value)
		}
		return n
	}
	before := []int{watched(0), watched(1)}

	for _, site := range sites {
		f.startExporter(site, 2, 3)
		f.target(site, 3)
	}
	f.await(`count(count by (node) (avax_node_up{instance="avax-exporter-2-a"} and on (node) avax_node_up{instance="avax-exporter-2-b"})) > 0`)
	f.restartShards(3)
	f.whole()
	t.Logf("nodes of the shards: %v, then %v", before, []int{watched(0), watched(1), watched(2)})
	if watched(2) == 0 {
		t.Error("the new shard has no node")
	}

	f.restartShards(2)
	for _, site := range sites {
		f.target(site, 2)
		f.exporters["avax-exporter-2-"+site].End(syscall.SIGTERM)
	}
	f.await(`absent(avax_node_up{instance=~"avax-exporter-2-."})`)
	f.whole()

	interval := scaled(15 * time.Second)
	longest := time.Duration(0)
	for key, gap := range f.gaps(began, "node") {
		if longest = max(longest, gap); gap > interval*3/2 {
			t.Errorf("%s: no sample for %s", key, gap)
		}
	}
	t.Logf("%s for both changes; longest time without a sample of a node: %s", time.Since(began).Round(time.Second), longest)
	for _, a := range f.pages.Alerts() {
		if a.Labels["severity"] != "none" {
			t.Errorf("%s %v", a.Status, a.Labels)
		}
	}
}

// target lists the exporters of so many shards for a site's agent.
func (f *twoSites) target(site string, shards int) {
	f.t.Helper()
	var targets []any
	for shard := range shards {
		targets = append(targets, map[string]any{
			"targets": []string{f.address(site, fmt.Sprint(9865+shard))}, "labels": map[string]string{"instance": fmt.Sprintf("avax-exporter-%d-%s", shard, site)},
		})
	}
	text := must.Get(json.Marshal(targets))(f.t)
	file := filepath.Join(f.dirs[site], "exporters.json")
	must.Do(f.t, os.WriteFile(file+".next", text, 0o600), os.Rename(file+".next", file))
}

// restartShards restarts the exporters of shards 0 and 1 with another number of shards, one after the other.
func (f *twoSites) restartShards(total int) {
	f.t.Helper()
	for _, site := range sites {
		for shard := range 2 {
			name := fmt.Sprintf("avax-exporter-%d-%s", shard, site)
			started := fmt.Sprintf("process_start_time_seconds{instance=%q}", name)
			var before model.Vector
			if err := f.ask("a", started, true, &before); err != nil || len(before) != 1 {
				f.t.Fatalf("%s: %v, %v", started, before, err)
			}
			f.exporters[name].End(syscall.SIGTERM)
			f.startExporter(site, shard, total)
			f.await(
				fmt.Sprintf(`%s > %f and on (instance) (count by (instance) (avax_node_up) == on (instance) avax_exporter_targets)`, started, float64(before[0].Value)+0.5),
			)
		}
	}
}

// await waits until the expression has a result.
func (f *twoSites) await(expr string) {
	f.t.Helper()
	testworld.Await(f.t, expr, func() error {
		var found model.Vector
		err := f.ask("a", expr, true, &found)
		if err == nil && len(found) == 0 {
			err = errors.New("no samples")
		}
		return err
	})
}

// Of BenchmarkFleetStore.
var (
	wanted  = flag.Int("series", 450_000, "number of series in the store")
	measure = flag.Duration("measure", 10*time.Minute, "how long to measure")
)

// BenchmarkFleetStore measures what the parts of one site need when the other site's store, query, ruler and Alertmanager are lost. Each
// agent scrapes the page of one exporter many times, each time with the names of other nodes.
func BenchmarkFleetStore(b *testing.B) {
	f := newTwoSites(b)
	f.whole()
	for _, part := range []string{"receive", "query", "rule", "alertmanager"} {
		f.parts[part+" b"].Kill()
	}
	samples := must.Get(f.exporters["avax-exporter-0-a"].Scrape())(b)
	copies := *wanted / len(samples) / len(sites)
	f.parts["rule a"].Kill() // until the store has all series
	for _, site := range sites {
		agent := f.parts["agent "+site]
		agent.Kill() // at a graceful end it waits for the lost store
		file := filepath.Join(f.dirs[site], "agent.yml")
		text := must.Get(os.ReadFile(file))(b)
		const job = "  - job_name: avax-exporter\n"
		others := job + "    metric_relabel_configs:\n"
		for _, label := range []string{"node", "node_id"} {
			others += fmt.Sprintf("      - {source_labels: [instance, %[1]s], regex: 'avax-exporter-(\\d+)-.;(.+)', target_label: %[1]s, replacement: '$2-$1'}\n", label)
		}
		must.Do(b, os.WriteFile(file, []byte(strings.Replace(string(text), job, others, 1)), 0o600))
		for shard := range copies {
			f.addresses[fmt.Sprintf("%s:%d", site, 9865+shard)] = f.address(site, "9865")
		}
		f.target(site, copies)
		agent.Start()
	}
	f.await(fmt.Sprintf(`count(up{job="avax-exporter"} == 1) == %d`, len(sites)*copies))
	f.parts["rule a"].Start()
	f.await(`count by (alertname) (ALERTS{alertname="AvaxWatchdog"})`)

	names := []string{"agent a", "receive a", "query a", "rule a", "alertmanager a"}
	cpu, memory := map[string]float64{}, map[string]float64{}
	for _, name := range names {
		cpu[name] = -f.metric(name, "process_cpu_seconds_total")
	}
	began, missed := time.Now(), f.metric("rule a", "prometheus_rule_group_iterations_missed_total")
	appended := f.metric("receive a", "prometheus_tsdb_head_samples_appended_total")
	for ticks := time.NewTicker(15 * time.Second); time.Since(began) < *measure; <-ticks.C {
		for _, name := range names {
			memory[name] = max(memory[name], f.metric(name, "process_resident_memory_bytes"))
		}
	}
	elapsed := time.Since(began).Seconds()
	series := f.metric("receive a", "prometheus_tsdb_head_series")
	rate := (f.metric("receive a", "prometheus_tsdb_head_samples_appended_total") - appended) / elapsed
	var lines []string
	for _, name := range names {
		lines = append(
			lines,
			fmt.Sprintf("| %s | %.2f | %.0f MB |", strings.TrimSuffix(name, " a"), (cpu[name]+f.metric(name, "process_cpu_seconds_total"))/elapsed, memory[name]/1e6),
		)
	}
	b.Logf("rules: %.1f s for all groups, %v evaluations missed of %.0f", f.metric("rule a", "prometheus_rule_group_last_duration_seconds"),
		f.metric("rule a", "prometheus_rule_group_iterations_missed_total")-missed, f.metric("rule a", "prometheus_rule_group_iterations_total"))

	data := filepath.Join(f.dirs["a"], "receive")
	wal := size(b, data, "wal")
	f.parts["receive a"].Stop() // writes its samples into a block
	chunks, index := size(b, data, "chunks"), size(b, data, "index")
	stored := 0.0
	metas, err := filepath.Glob(filepath.Join(data, "*", "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		b.Fatalf("no block: %v", err)
	}
	for _, file := range metas {
		var meta struct{ Stats struct{ NumSamples float64 } }
		text, err := os.ReadFile(file)
		must.Do(b, err, json.Unmarshal(text, &meta))
		stored += meta.Stats.NumSamples
	}
	b.Logf(
		"%.0f series, %.0f samples/s, %d copies, %.0f samples in blocks: %.2f bytes a sample, index %.0f MB, write-ahead log %.0f MB",
		series,
		rate,
		copies,
		stored,
		chunks/stored,
		index/1e6,
		wal/1e6,
	)
	lines = append(lines, fmt.Sprintf("| disk of receive in a day: %.0f samples a second of %.2f bytes each, and %d indexes of %.0f MB | | %.1f GB |",
		rate, chunks/stored, 12, index/1e6, (rate*86400*chunks/stored+12*index)/1e9))
	table(b, "cost", fmt.Sprintf("%.0f series in the store.\n\n| part | cores | resident, at most |\n|---|---|---|", series), lines)
}

// metric sums a metric of a part.
func (f *twoSites) metric(part, name string) float64 {
	f.t.Helper()
	request := must.Get(http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.parts[part].URL+"/metrics", nil))(f.t)
	response := must.Get(f.client.Do(request))(f.t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(f.t)
	return must.Get(testworld.ParseSamples(string(text)))(f.t).Sum(name)
}

// size sums the sizes of the files with this name, or in directories with this name.
func size(t testing.TB, dir, name string) (bytes float64) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Base(path) != name && filepath.Base(filepath.Dir(path)) != name {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += float64(info.Size())
		}
		return err
	}))
	return bytes
}

func TestTheAgentOfTheFleetStartsWithPrometheus3(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	flags := must.Get(fs.ReadFile(shipped, "agent.flags"))(t)
	dir, address := t.TempDir(), testworld.Address(t)
	for name, text := range map[string]string{"agent.yml": "scrape_configs: []\n", "web.yml": "{}\n"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	text := strings.NewReplacer("/var/lib/avax-fleet", dir, "0.0.0.0:9090", address).Replace(string(flags))
	testworld.Run(t, http.DefaultClient, "http://"+address, dir, "prometheus-3", strings.Fields(text)...)
}
