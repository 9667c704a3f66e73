package collectors_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

var (
	allMutations = flag.Bool("mutations", false, "run all mutations of upstreams, not one of ten")
	healthCall   = "GET /ext/health"
)

// mutation changes the answers of one method.
type mutation struct {
	method, kind string
	path         []string // of the changed field; nil: the method is removed
	nodes        []string
	first        bool // the first answers are changed too
}

func (m mutation) String() string {
	when := "later"
	if m.first {
		when = "from the start"
	}
	return fmt.Sprintf("%s %s %s on %s %s", m.method, strings.Join(m.path, "."), m.kind, strings.Join(m.nodes, ", "), when)
}

// removals are the ways in which an upstream does not offer a method.
var removals = map[string]func() (*http.Response, error){
	"method not found": func() (*http.Response, error) {
		return wiretest.Reply(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"not available"}}`)
	},
	"error text of a node": func() (*http.Response, error) {
		return wiretest.Reply(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"rpc: can't find method \"x\""}}`)
	},
	"error text of a gateway": func() (*http.Response, error) {
		return wiretest.Reply(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"rpc method is not whitelisted"}}`)
	},
	"HTTP 404": func() (*http.Response, error) { return wiretest.Reply(404, "404 page not found\n") },
	"HTTP 403": func() (*http.Response, error) { return wiretest.Reply(403, "<html>Forbidden</html>") },
}

// fieldChanges are the ways in which a release changes a field. The result is not changed if the kind does not apply to the value.
var fieldChanges = []string{"removed", "renamed", "other type", "null", "negative", "beyond 2^53"}

func changed(kind string, v any) any {
	text, isText := v.(string)
	number, isNumber := v.(json.Number)
	_, err := json.Number(text).Float64()
	numeric := isNumber || isText && err == nil
	switch {
	case kind == "null":
		return nil
	case kind == "other type" && isNumber:
		return number.String()
	case kind == "other type" && isText && err == nil:
		return json.Number(text)
	case kind == "other type" && isText:
		return map[string]any{"value": text}
	case kind == "other type":
		return fmt.Sprint(v)
	case !numeric:
	case kind == "negative" && isText:
		return "-1"
	case kind == "negative":
		return json.Number("-1")
	case kind == "beyond 2^53" && isText:
		return "9007199254740993"
	case kind == "beyond 2^53":
		return json.Number("9007199254740993")
	}
	return v
}

// change applies a mutation to all fields at its path.
func change(v any, path []string, kind string) any {
	switch v := v.(type) {
	case []any:
		if path[0] == "*" {
			for i := range v {
				v[i] = changeOr(v[i], path[1:], kind)
			}
		}
	case map[string]any:
		old, exists := v[path[0]]
		switch {
		case !exists:
		case len(path) == 1 && (kind == "removed" || kind == "renamed"):
			delete(v, path[0])
			if kind == "renamed" {
				v[path[0]+"V2"] = old
			}
		default:
			v[path[0]] = changeOr(old, path[1:], kind)
		}
	}
	return v
}

func changeOr(v any, path []string, kind string) any {
	if len(path) == 0 {
		return changed(kind, v)
	}
	return change(v, path, kind)
}

// mutator changes answers of the simulated network. Without a mutation it stores the fields of all answers.
type mutator struct {
	network *simnet.Network
	now     *mutation
	mu      sync.Mutex
	jobs    map[*collector.Upstreams]map[string][]collector.Job // by collector
	kept    *collector.Upstreams                                // whose jobs are run again
	fields  map[string]map[string][]string                      // by method and by path as text
}

func (m *mutator) RoundTrip(r *http.Request) (*http.Response, error) {
	return wiretest.Between(m.network.Transport(), func(c *wiretest.Call) (*http.Response, error) {
		method := c.Method
		if c.Text == nil {
			method = healthCall
		}
		hit := m.now != nil && m.now.method == method && slices.Contains(m.now.nodes, c.Upstream)
		switch {
		case hit && m.now.path == nil:
			return removals[m.now.kind]()
		case m.now != nil && !hit:
			return c.Ask()
		}
		return c.Changed(func(answer map[string]any) {
			switch {
			case answer["error"] != nil:
			case m.now == nil:
				m.mu.Lock()
				defer m.mu.Unlock()
				m.store(method, answer, nil)
			default:
				change(answer, m.now.path, m.now.kind)
			}
		})
	}).RoundTrip(r)
}

// opaque are objects whose members are not fields but data: names of precompiles, rules, VMs, proposals and loggers, and a configuration that is
// compared as a whole.
var opaque = []string{"eth_getActiveRulesAt result.precompiles", "eth_getActiveRulesAt result.ethRules", "eth_getActiveRulesAt result.avalancheRules",
	"eth_getChainConfig result", "platform.getValidatorsAt result", "info.getNodeVersion result.vmVersions", "info.acps result.acps",
	"admin.getLoggerLevel result.loggerLevels", "admin.getChainAliases result"}

// store keeps the paths of all fields.
func (m *mutator) store(method string, v any, path []string) {
	if slices.Contains(opaque, method+" "+strings.Join(path, ".")) {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			m.store(method, item, append(slices.Clip(path), "*"))
		}
	case map[string]any:
		for name, item := range v {
			if path == nil && name != "result" && method != healthCall { // the envelope
				continue
			}
			if method == "info.upgrades" && len(path) > 0 && name != "heliconTime" { // names of past upgrades are data
				continue
			}
			m.store(method, item, append(slices.Clip(path), name))
		}
	}
	if len(path) > 1 || method == healthCall && len(path) > 0 || len(path) == 1 && method != healthCall {
		if m.fields[method] == nil {
			m.fields[method] = map[string][]string{}
		}
		m.fields[method][strings.Join(path, ".")] = path
	}
}

// ups returns clients of three nodes and an observer of the network.
func (m *mutator) ups(t *testing.T) *collector.Upstreams {
	ups := upstreams(t, m, m.network)
	ups.Data = nil
	ups.Metrics = nil
	ups.Watch.Tokens, ups.Watch.Signatures, ups.Watch.Delegators = nil, nil, nil
	all := []*nodes.Node{watch(t, m)}
	for _, name := range []string{"alpha", "bravo", "foxtrot"} {
		all = append(all, nodes.New(node.New(open(t, m, name))))
	}
	ups.SetNodes(all)
	return ups
}

// ran is the result of the jobs of the collectors that call a method: samples by series, and errors.
type ran struct {
	samples map[string]map[string]string // by job
	errs    map[string]error
}

// run runs the jobs of the collectors that call a method, after what other collectors call all the time: the node answers, and if the method is removed,
// only this one is.
func (m *mutator) run(t *testing.T, ups *collector.Upstreams, method string, removed bool) ran {
	r := ran{map[string]map[string]string{}, map[string]error{}}
	for _, n := range slices.Concat(ups.Nodes(), ups.Observers()) {
		_, _, _ = n.Probe(t.Context())
		_, _ = n.PlatformTimestamp(t.Context())
		if !removed {
			continue
		}
		_, _ = n.AVMHeight(t.Context(), "X")
		_, _ = n.AVMTxFee(t.Context(), "X")
		for _, c := range ups.Chains() {
			_, _ = n.EthChainID(t.Context(), c.Ref)
		}
	}
	for _, spec := range collectors.All() {
		if !mutates(spec) || !slices.Contains(spec.Calls, method) {
			continue
		}
		if m.jobs[ups] == nil {
			if len(m.jobs) > 4 { // the jobs of earlier clients are not run again
				m.jobs = map[*collector.Upstreams]map[string][]collector.Job{m.kept: m.jobs[m.kept]}
			}
			m.jobs[ups] = map[string][]collector.Job{}
		}
		if m.jobs[ups][spec.Name] == nil {
			m.jobs[ups][spec.Name] = spec.Bind(ups)
		}
		for _, j := range m.jobs[ups][spec.Name] {
			ctx, _ := scrape.Sharing(t.Context(), 10*time.Second)
			key, batch := spec.Name+" of "+j.Target.String(), metric.NewBatch(spec.Families)
			r.errs[key] = errors.Join(j.Collect(ctx, batch), batch.Err())
			r.samples[key] = map[string]string{}
			if r.errs[key] != nil && !errors.Is(r.errs[key], metric.ErrNotOffered) {
				continue
			}
			for _, c := range batch.Chunks() {
				for line := range strings.Lines(c.String()) {
					if i := strings.LastIndexByte(line, ' '); i > 0 && line[0] != '#' {
						r.samples[key][line[:i]] = strings.TrimSpace(line[i:])
					}
				}
			}
		}
	}
	return r
}

// mutates reports whether answers to a collector are mutated. What rpc exports about an answer is whether it is right.
func mutates(spec *collector.Spec) bool { return !spec.WithoutNodes() && spec.Name != "rpc" }

// The results of a mutation for one job.
const (
	works  = "works"
	fails  = "fails: AvaxDataTooOld reports it"
	absent = "optional field absent"
	ended  = "ends in silence"
	false_ = "false sample"
)

// judge compares the samples of a job with those without a mutation.
func (mut mutation) judge(err error, got, want map[string]string) (result, example string) {
	if err != nil && !errors.Is(err, metric.ErrNotOffered) {
		return fails, err.Error()
	}
	follows := mut.kind == "negative" || mut.kind == "beyond 2^53" // the sample has the value of the answer
	for series, value := range got {
		reference, exists := want[series]
		negative := strings.HasPrefix(value, "-") && !strings.HasPrefix(reference, "-")
		if negative || value == "NaN" || exists && !isNear(value, reference) && !follows && !moving(series) {
			return false_, series + " " + value + ", not " + reference
		}
	}
	for series := range want {
		if _, exists := got[series]; !exists && !follows && !moving(series) {
			if mut.first {
				return absent, series
			}
			return ended, series
		}
	}
	return works, ""
}

// isNear reports whether two values differ by less than a thousandth, as a balance or a runway after the seconds that another attempt takes.
func isNear(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= math.Abs(y)/1000
}

// moving reports whether a sample changes from second to second or with the history, counts the differences that a mutation makes, or has a series
// for the unknown rest, such as an empty version.
func moving(series string) bool {
	for _, part := range []string{"probe_duration", "staking_port", "node_contradicted", `avax_chain_height{node="observer"`,
		`avax_chain_head_timestamp_seconds{node="observer"`, `avax_chain_settled_height{node="observer"`, "avax_fleet_variants",
		`avax_validator_uptime_ratio{node="observer"`, "avax_validator_downtime_", "avax_validator_views_", "avax_validator_votes_",
		"avax_validator_weighted_uptime_", "avax_observer_", "avax_network_blockchains",
		"avax_node_version_stake_ratio", `chain="X"`} {
		if strings.Contains(series, part) {
			return true
		}
	}
	return false
}

// mutatedCounts are the results by group of mutations.
type mutatedCounts struct {
	sync.Mutex
	results map[string]map[string]int
	cases   map[string]int
}

// An upstream that removes a method, or removes or changes a field, makes no collector panic, report a false sample or end in silence. Each collector
// either still works, or fails. The cases come from the methods that collectors call, and from the fields of their answers.
func TestMutatedUpstreamsAreNoticed(t *testing.T) {
	t.Parallel()
	var methods []string
	for _, spec := range collectors.All() {
		if mutates(spec) {
			methods = append(methods, spec.Calls...)
		}
	}
	slices.Sort(methods)
	methods = slices.DeleteFunc(slices.Compact(methods), func(name string) bool { return strings.HasPrefix(name, "GET /v1/") })
	c := &mutatedCounts{results: map[string]map[string]int{}, cases: map[string]int{}}
	t.Run("methods", func(t *testing.T) {
		for part := range slices.Chunk(methods, 8) { // beside each other
			t.Run(part[0], func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { mutated(t, part, c) })
			})
		}
	})
	text := "| mutation | cases | the collector works | it fails | optional field absent | false sample | ends in silence |\n|---|---|---|---|---|---|---|\n"
	for _, group := range slices.Sorted(maps.Keys(c.results)) {
		r := c.results[group]
		text += fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |\n", group, c.cases[group], r[works], r[fails], r[absent], r[false_], r[ended])
	}
	if *allMutations {
		testworld.Measured(t, "../docs/reliability.md", "upstreams", "\n"+text+"\n")
	}
}

// mutated makes the mutations of some methods in turn.
func mutated(t *testing.T, methods []string, counts *mutatedCounts) {
	t.Helper()
	m := &mutator{network: goldenNetwork(), fields: map[string]map[string][]string{}, jobs: map[*collector.Upstreams]map[string][]collector.Job{}}
	for _, method := range methods {
		m.run(t, m.ups(t), method, true)
	}
	var cases []mutation
	everywhere := []string{"alpha", "bravo", "foxtrot", "observer"}
	for _, method := range methods {
		for _, on := range [][]string{{"alpha"}, everywhere, {"observer"}} {
			for _, kind := range slices.Sorted(maps.Keys(removals)) {
				cases = append(cases, mutation{method: method, kind: kind, nodes: on})
			}
		}
		for _, path := range slices.Sorted(maps.Keys(m.fields[method])) {
			for _, on := range [][]string{{"alpha"}, everywhere} {
				for _, kind := range fieldChanges {
					cases = append(cases, mutation{method: method, kind: kind, path: m.fields[method][path], nodes: on})
				}
			}
		}
	}
	const maxAge = 2 * 24 * time.Hour // of the network: later, stakes end
	created := time.Now()
	var before struct { // clients that had right answers of a method, the last one an hour after they had wrong ones
		method string
		ups    *collector.Upstreams
	}
	for i, mut := range cases {
		if !*allMutations && i%30 != 0 {
			continue
		}
		m.now = &mutation{}
		if since := time.Since(created); since > maxAge {
			m.network, created, before.method = goldenNetwork(), time.Now(), ""
		}
		longAgo := nodes.StaticAge + time.Minute
		if mut.path == nil { // a refused call is not sent for an hour
			longAgo += time.Hour
		}
		if before.method != mut.method {
			before.method, before.ups = mut.method, m.ups(t)
			m.kept = before.ups
			m.run(t, before.ups, mut.method, mut.path == nil)
			time.Sleep(longAgo)
			m.run(t, before.ups, mut.method, mut.path == nil)
		}
		time.Sleep(longAgo)
		m.run(t, before.ups, mut.method, mut.path == nil)
		time.Sleep(longAgo)
		m.now = &mut
		asked := []*collector.Upstreams{before.ups}
		if mut.path != nil { // clients that never had right answers
			asked = append(asked, m.ups(t))
		}
		got := make([]ran, len(asked))
		ask := func() {
			for i, ups := range asked {
				got[i] = m.run(t, ups, mut.method, mut.path == nil)
			}
		}
		ask()
		if mut.method == healthCall { // a node runs its checks half a minute after it has bootstrapped a chain
			time.Sleep(time.Minute)
			ask()
		}
		if mut.path == nil {
			for range 2 { // a 403 or 404 may concern the whole node: only a second one shows that it does not
				time.Sleep(2 * time.Minute)
				ask()
			}
		}
		m.now = &mutation{}
		want := m.run(t, m.ups(t), mut.method, mut.path == nil)
		for i := range got {
			mut.first = i > 0
			counts.add(t, mut, got[i], want)
		}
	}
}

// add judges what all jobs made of a mutation.
func (c *mutatedCounts) add(t *testing.T, mut mutation, got, want ran) {
	t.Helper()
	group := "a method is not offered"
	if mut.path != nil {
		group = "a field is " + mut.kind
		if mut.kind == "other type" || mut.kind == "negative" || mut.kind == "beyond 2^53" {
			group = "a field is " + map[string]string{"other type": "of another type", "negative": "negative", "beyond 2^53": "beyond 2^53"}[mut.kind]
		}
	}
	c.Lock()
	defer c.Unlock()
	c.cases[group]++
	if c.results[group] == nil {
		c.results[group] = map[string]int{}
	}
	told := slices.ContainsFunc(slices.Collect(maps.Values(got.errs)), func(err error) bool { return err != nil && !errors.Is(err, metric.ErrNotOffered) })
	for job, reference := range want.samples {
		result, example := mut.judge(got.errs[job], got.samples[job], reference)
		if (result == ended || result == absent) && told { // such as a comparison of nodes, without the node that another collector reports
			result = works
		}
		c.results[group][result]++
		if result == absent {
			t.Logf("ABSENT %s: %s: %s", mut, job, example)
		}
		if result == ended || result == false_ {
			t.Errorf("%s: %s: %s: %s", mut, job, result, example)
		}
	}
}
