package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/deploy/alertmanager"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	pool "github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// world is a site with the simulated network and the real rules, in synthetic time. Its collectors run once a minute.
type world struct {
	t       *testing.T
	network *simnet.Network
	site    *Site
	jobs    []schedule.Job
	ctx     context.Context
}

// TestMain does initial lookups of alerting and the resolver before synthetic time begins, so that no test waits for the network.
func TestMain(m *testing.M) {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("name resolution is disabled in tests")
	}}
	if errShipped != nil {
		panic(errShipped)
	}
	name, _ := os.Hostname()
	_, _ = net.DefaultResolver.LookupHost(context.Background(), name)
	os.Exit(m.Run())
}

// oneStarts serializes starts of alerting: the resolver's lock is shared by all synthetic times.
var oneStarts sync.Mutex

// inWorld runs a world with these rules until the function returns.
func inWorld(t *testing.T, rules []byte, do func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newWorld(t, ctx)
		s.run()
		oneStarts.Lock()
		running, err := alerting.Start(ctx, alerting.Options{
			Config: alerting.Config{
				Rules: rules, Alertmanagers: []string{"http://alertmanager.sim"}, Job: "avax-exporter", Instance: "exporter:9865", Interval: 30 * time.Second,
			},
			Metrics: s.site.Handler(), Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), Transport: accepting{},
		})
		synctest.Wait()
		oneStarts.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		s.site.Source, s.site.Receivers = running, running.Receivers
		s.wait(3 * time.Minute)
		do(s)
		cancel()
		running.Wait()
	})
}

// accepting is an Alertmanager that accepts everything.
type accepting struct{}

func (accepting) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: http.NoBody, Request: r}, nil
}

func newWorld(t *testing.T, ctx context.Context) *world {
	t.Helper()
	network := simnet.New(simnet.Options{Seed: 1, Validators: 60})
	network.SetBlockPeriod("X", 20*time.Second)
	for i := range 10 { // so much stake and weight that the loss of one node does not affect other nodes
		network.AddValidator(fmt.Sprintf("large%d", i), 3_000_000e9, 300*24*time.Hour)
		network.AddL1Validator("examplel1", fmt.Sprintf("member%d", i), 100, 100e9)
		network.AddL1Validator("examplepoa", fmt.Sprintf("member%d", i), 20, 100e9)
	}
	for _, name := range []string{"alpha", "bravo", "charlie", "echo", "foxtrot"} {
		network.SetBalance("examplel1", name, 100e9)
	}
	open := func(name string) *scrape.Upstream {
		up, err := scrape.New(scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: network.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		return up
	}
	var nodes []*pool.Node
	for _, name := range []string{"alpha", "bravo", "charlie", "foxtrot"} {
		nodes = append(nodes, pool.New(node.New(open(name))))
	}
	ups := &collectors.Upstreams{Metrics: metrics.New(open("metrics")), Pool: pool.NewPool(nodes, []pool.Chain{
		{Name: "C", Ref: "C"},
		{Name: "examplel1", Ref: network.Chain("examplel1").ID},
		{Name: "examplepoa", Ref: network.Chain("examplepoa").ID},
	})}
	s := &world{t: t, network: network, site: newSite(), ctx: ctx}
	registry := s.site.Registry.(*prometheus.Registry)
	registry.MustRegister(s.site.Store)
	for _, spec := range collectors.All() {
		if spec.Off {
			continue
		}
		for _, j := range spec.Bind(ups) {
			s.jobs = append(s.jobs, schedule.Job{
				Key: metric.Key{Collector: spec.Name, Target: j.Target}, Families: spec.Families, Collect: j.Collect,
			})
		}
	}
	return s
}

// shipped are the shipped inhibit rules. They are parsed before synthetic time begins.
var shipped, errShipped = notify.ParseInhibition(alertmanager.Config)

// newSite is a site with an empty store, whose collectors have all run.
func newSite() *Site {
	return &Site{
		Store: metric.NewStore(), Registry: prometheus.NewRegistry(), Version: "v1.2.3",
		Progress: func() (ran, of int) { return 1, 1 }, Inhibition: func() notify.Inhibition { return shipped },
		Answered: func(string) time.Time { return time.Now().Add(-time.Minute) },
		Log:      slog.New(slog.DiscardHandler),
		Access:   everyone,
	}
}

// everyone allows every client.
var everyone = Access{Authenticates: func() bool { return true }}

// run runs every collector once.
func (s *world) run() {
	var runs sync.WaitGroup
	defer runs.Wait()
	for _, j := range s.jobs {
		runs.Go(func() {
			batch := metric.NewBatch(j.Families)
			r := metric.Run{Key: j.Key, At: time.Now()}
			err := j.Collect(scrape.MaxAge(s.ctx, time.Millisecond), batch)
			r.Took, r.Until = time.Since(r.At), r.At.Add(3*time.Minute)
			if err == nil || errors.Is(err, pool.ErrNotOffered) {
				r.Chunks, r.Tables, r.Facts = batch.Chunks(), batch.Tables(), batch.Facts
			} else {
				r.Err = err
			}
			s.site.Store.Put(r)
		})
	}
}

// wait lets time pass, while the collectors run once a minute.
func (s *world) wait(long time.Duration) {
	for end := time.Now().Add(long); time.Now().Before(end); {
		time.Sleep(min(time.Minute, time.Until(end)))
		s.run()
	}
	time.Sleep(35 * time.Second) // until the evaluation after the last run
}

// get returns the page at a path.
func (s *world) get(path string) string {
	s.t.Helper()
	time.Sleep(2 * time.Second)
	answer := ask(s.t, s.site, http.MethodGet, path)
	text := read(s.t, answer.Body)
	if answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: status %s: %s", path, answer.Status, text)
	}
	return text
}

func serve(t testing.TB, s *Site) string {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}
