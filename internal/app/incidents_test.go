package app_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/demo"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// drill is an incident of the simulated network, with the expected alerts. The whole app runs with the built-in rules.
type drill struct {
	what  string
	begin func(*stage)
	end   func(*stage)

	// pages and warns are the expected notifications. No other alert may page. If no notification is
	// expected, only notes may be sent.
	pages, warns []string
	within       time.Duration // time after begin within which all are sent; if none is expected, the duration of the incident
	goesOn       time.Duration // further duration; 0: twelve minutes, because an alert with a group interval of five may be sent just as it resolves
	heals        time.Duration // nothing fires after this time from end; 0: an hour; negative: do not wait

	healthy time.Duration // time before begin; 0: ten minutes
	startup simnet.Startup
	nodes   []string // monitored nodes; nil: those of the demo, and a spare one
	fuji    bool     // the network identifies as Fuji
	quick   bool     // with fewer calls and shorter waits
	change  func(*config.Environment)
}

// every is the evaluation interval.
const every = 30 * time.Second

// stage is the environment of a drill: a healthy network, large enough that the loss of one node does not affect others.
type stage struct {
	*simnet.Network
	*detour
	exporter http.Handler // serves the pages
}

// Further participants of the stage.
var (
	large   = numbered("large%d", 10)  // validators with 3,000,000 AVAX
	members = numbered("member%d", 10) // validators of both L1s, with the weight of a node
	small   = numbered("peer%04d", 60) // validators with little stake
)

func newStage(startup simnet.Startup) *stage {
	n := simnet.New(simnet.Options{Seed: 1, Validators: len(small), Startup: startup})
	n.SetBlockPeriod("X", 20*time.Second)
	for _, name := range large {
		n.AddValidator(name, 3_000_000e9, 300*day)
	}
	for _, name := range members {
		n.AddL1Validator("examplel1", name, 100, 100e9)
		n.AddL1Validator("examplepoa", name, 20, 100e9)
	}
	for _, name := range []string{"alpha", "bravo", "charlie", "echo", "foxtrot"} {
		n.SetBalance("examplel1", name, 100e9)
	}
	return &stage{n, &detour{RoundTripper: n.Transport(), to: map[string]string{}}, nil}
}

// detour redirects to other upstreams.
type detour struct {
	http.RoundTripper
	mu      sync.Mutex
	to      map[string]string // by host
	foreign string            // host of a node of another network
	fuji    bool              // all nodes are on Fuji
}

// RoundTrip implements http.RoundTripper.
func (d *detour) RoundTrip(req *http.Request) (*http.Response, error) {
	d.mu.Lock()
	to, foreign := d.to[req.URL.Host], d.fuji || d.foreign == req.URL.Host
	d.mu.Unlock()
	if to != "" {
		req = req.Clone(req.Context())
		req.URL.Host, req.Host = to, to
	}
	if !foreign {
		return d.RoundTripper.RoundTrip(req)
	}
	req = req.Clone(req.Context())
	req.Header.Del("Accept-Encoding")
	resp, err := d.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	body = bytes.ReplaceAll(body, []byte(`"networkID":"1337"`), []byte(`"networkID":"5"`))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

// oneStarts is locked while alerting starts. Alerting looks up the host name, and two synthetic times must not share a lookup.
var oneStarts sync.Mutex

// watched runs the app on a stage, with a pager.
func onStage(t *testing.T, d drill, test func(s *stage, p *pager)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(d.startup)
		s.fuji = d.fuji
		p := newPager(t, s)
		env := config.Defaults()
		s.to["spare.sim"] = "echo.sim"
		nodes := d.nodes
		if nodes == nil {
			nodes = append([]string{"spare"}, demo.Nodes...)
		}
		var asked []string
		for _, name := range nodes {
			asked = append(asked, name+"=http://"+name+".sim")
		}
		env.Nodes = strings.Join(asked, ",")
		env.Chains = "C,examplel1=" + s.Chain("examplel1").ID + ",examplepoa=" + s.Chain("examplepoa").ID
		if d.quick {
			env.Collectors = "up,fleet,identity,bootstrap,heads,health,peers,connected_stake,uptime,validators,l1,l1_views"
		} else if !d.fuji { // the simulated services have only Mainnet
			env.MetricsURL, env.DataURL, env.Network = "http://metrics.sim", "http://data.sim", "mainnet"
			env.WatchAddresses = "P-" + simnet.Owner + "," + simnet.Account
		}
		env.Alertmanagers, env.AlertingInterval = "http://"+pagerHost, every.String()
		env.AlertingInstance, env.StateDir = "exporter:9865", t.TempDir()
		if d.change != nil {
			d.change(&env)
		}
		c, err := env.Parse()
		if err != nil {
			t.Fatal(err)
		}
		c.Transport = p
		ctx, cancel := context.WithCancel(t.Context())
		compare := both(t, ctx, c)
		oneStarts.Lock()
		h, err := app.New(ctx, c, slog.New(slog.DiscardHandler))
		synctest.Wait()
		oneStarts.Unlock()
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		defer time.Sleep(time.Second) // time stops when this returns
		defer compare()
		defer h.Wait()
		defer cancel()
		s.exporter = h.Handler()
		test(s, p)
	})
}

// outcome is the result of a drill.
type outcome struct {
	drill
	episodes []episode
	shown    []string // problems on the status page, at the moments and when all alerts are sent
	at       time.Time
	healed   time.Time
}

// play runs the drill, and checks its outcome.
func (d drill) play(t *testing.T) outcome {
	t.Helper()
	o := outcome{drill: d}
	onStage(t, d, func(s *stage, p *pager) {
		wait := func(most time.Duration, until func() bool) {
			for end := time.Now().Add(most); time.Now().Before(end) && !until(); {
				time.Sleep(15 * time.Second)
				p.tell()
			}
		}
		never := func() bool { return false }
		wait(cmp.Or(d.healthy, 10*time.Minute), never)
		for _, e := range p.all() {
			t.Errorf("alert before the incident: %v", e.String())
		}
		o.at = time.Now()
		d.begin(s)
		for _, moment := range moments {
			wait(moment-time.Since(o.at), never)
			o.shown = append(o.shown, shown(t, s))
		}
		wait(d.within-time.Since(o.at), func() bool { return len(d.pages)+len(d.warns) > 0 && len(d.missing(p.all())) == 0 })
		for _, name := range d.missing(p.all()) {
			t.Errorf("%s not sent within %v", name, d.within)
		}
		o.shown = append(o.shown, shown(t, s))
		wait(cmp.Or(d.goesOn, 12*time.Minute), never)
		o.healed = time.Now()
		if d.end != nil {
			d.end(s)
		}
		wait(cmp.Or(d.heals, time.Hour), func() bool {
			return (d.quick || time.Since(o.healed) > 5*time.Minute) && !slices.ContainsFunc(p.all(), func(e episode) bool { return e.fires() })
		})
		o.episodes = p.all()
	})
	t.Logf("status page: %s", strings.Join(o.shown, " | "))
	for _, e := range o.episodes {
		told, ended := "-", "-"
		if !e.told.IsZero() {
			told = e.told.Sub(o.at).Round(time.Second).String()
		}
		if !e.fires() {
			ended = e.ended.Sub(o.healed).Round(time.Second).String()
		}
		t.Logf("fires %8s, sent %8s, ends %8s: %s", e.began.Sub(o.at).Round(time.Second), told, ended, e.String())
	}
	for _, e := range o.episodes {
		page, quiet := e.labels["severity"] == "page", len(d.pages)+len(d.warns) == 0 && e.labels["severity"] != "info"
		if !e.told.IsZero() && (page || quiet) && !slices.Contains(d.pages, e.labels["alertname"]) {
			t.Errorf("unexpected notification after %v: %s", e.told.Sub(o.at), e.String())
		}
		if e.fires() && d.heals >= 0 {
			t.Errorf("%v after the end still active: %s", cmp.Or(d.heals, time.Hour), e.String())
		}
	}
	return o
}

// missing returns the expected alerts that were not sent yet.
func (d drill) missing(episodes []episode) (names []string) {
	told := func(name, severity string) bool {
		return slices.ContainsFunc(episodes, func(e episode) bool {
			return !e.told.IsZero() && e.labels["alertname"] == name && (e.labels["severity"] == "page") == (severity == "page")
		})
	}
	for _, name := range d.pages {
		if !told(name, "page") {
			names = append(names, name)
		}
	}
	for _, name := range d.warns {
		if !told(name, "warn") {
			names = append(names, name)
		}
	}
	return names
}

// Exactly the expected alerts are sent, in time.
func TestIncidentsPageAndResolve(t *testing.T) {
	drill{
		what: "a node stops, the C-Chain is not bootstrapped on another, and validators of an L1 run out of balance",
		begin: func(s *stage) {
			s.Node("bravo").Stop()
			s.Node("charlie").SetChain("C", simnet.Bootstrapping)
			each(members[:4], func(m string) { s.SetBalance("examplel1", m, 0) })
		},
		end: func(s *stage) {
			s.Node("bravo").Start()
			s.Node("charlie").SetChain("C", simnet.Running)
			each(members[:4], func(m string) { s.TopUp("examplel1", m, 100e9) })
		},
		pages:  []string{"AvaxNodeDown", "AvaxChainNotBootstrapped", "AvaxL1ConnectedWeightLow"},
		within: 12 * time.Minute, goesOn: time.Second, heals: 6 * time.Minute, healthy: 2 * time.Minute, quick: true,
	}.play(t)
}

func TestRestartSendsNoPage(t *testing.T) {
	t.Parallel()
	drill{
		begin: func(s *stage) {
			s.Node("alpha").Stop()
			time.AfterFunc(75*time.Second, s.Node("alpha").Start)
		},
		within: 6 * time.Minute, goesOn: time.Second, heals: time.Minute, healthy: 2 * time.Minute, quick: true,
	}.play(t)
}

func each(names []string, f func(name string)) {
	for _, name := range names {
		f(name)
	}
}

func numbered(format string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i+1))
	}
	return all
}
