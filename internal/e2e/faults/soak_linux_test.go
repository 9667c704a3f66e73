package faults_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

var soakFor = flag.Duration("soak", time.Minute, "how long the soak lasts")

// upstream is a node or a service of the simulated network.
type upstream interface {
	Stop()
	Start()
	Inject(f simnet.Fault, calls ...string)
	Recover()
}

// incidents are temporary faults of an upstream.
var incidents = []func(upstream){
	upstream.Stop,
	func(u upstream) { u.Inject(simnet.Hung()) },
	func(u upstream) { u.Inject(simnet.Slow(3 * time.Second)) },
	func(u upstream) { u.Inject(simnet.Reset()) },
	func(u upstream) { u.Inject(simnet.CutOff()) },
	func(u upstream) { u.Inject(simnet.RateLimited(2 * time.Second)) },
	func(u upstream) { u.Inject(simnet.Unavailable()) },
	func(u upstream) { u.Inject(simnet.HTML()) },
	func(u upstream) { u.Inject(simnet.WrongShape()) },
	func(u upstream) { u.Inject(simnet.Refused(500, "no")) },
	func(u upstream) { u.Inject(simnet.WrongHost()) },
}

// TestGoroutinesDescriptorsAndHeapStayFlat runs all collectors over the simulated network with 256 MiB of memory, for the duration -soak. One incident
// follows the other, a node reports new names in each answer, and a scraper reads the metrics.
func TestGoroutinesDescriptorsAndHeapStayFlat(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	network.SetNetworkID(1)
	network.SetBlockPeriod("X", 20*time.Second)
	urls := testworld.Serve(t, network)
	names := []string{"alpha", "bravo", "charlie", "foxtrot"}
	var schedules []string
	for _, spec := range collectors.All() {
		schedules = append(schedules, spec.Name+"=@every 2s")
	}
	var every []string
	for _, spec := range collectors.All() {
		every = append(every, spec.Name)
	}
	inventor := newGate(t, network.Node("echo"))
	urls["echo"] = inventor.url()
	e := run(t, confined(t), listed(urls, append(names, "echo")...), "AVAX_COLLECTORS="+strings.Join(every, ","), "AVAX_SCHEDULES="+strings.Join(schedules, ";"),
		"AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID+",examplepoa="+network.Chain("examplepoa").ID, "AVAX_VALIDATORS=all",
		"AVAX_METRICS_URL="+urls["metrics"], "AVAX_NETWORK=mainnet", "AVAX_DATA_URL="+urls["data"], "AVAX_DATA_BUDGET=10000000/m", "AVAX_STATE_DIR="+t.TempDir(),
		"AVAX_WATCH_ADDRESSES=P-"+simnet.Owner+",X-"+simnet.Owner+","+simnet.Account+","+simnet.Partner, "AVAX_WATCH_CONTRACTS="+simnet.Account)
	e.Ready()
	e.Until("all are up", isUp(names...))

	time.Sleep(4 * time.Second)
	idle := figuresOf(e.Until("a page", func(page) error { return nil }))
	inventor.behaveAs(inventing())

	upstreams := []upstream{network.MetricsService(), network.DataService()}
	for _, name := range names {
		upstreams = append(upstreams, network.Node(name))
	}
	random := rand.New(rand.NewPCG(*seed, 0))
	began := time.Now()
	warm := *soakFor / 3
	var all []sampled
	happened := 0
	for time.Since(began) < *soakFor {
		u := upstreams[random.IntN(len(upstreams))]
		incidents[random.IntN(len(incidents))](u)
		happened++
		lasts := time.Duration(500+random.IntN(4000)) * time.Millisecond
		for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(min(500*time.Millisecond, *soakFor/40)) {
			p := must.Get(e.Scrape())(t)
			all = append(all, sampled{time.Since(began), figuresOf(p)})
		}
		u.Recover()
		u.Start()
		if random.IntN(5) == 0 {
			_, _, _ = e.Get("/")
		}
	}
	all = slices.DeleteFunc(all, func(s sampled) bool { return s.at < warm })
	if len(all) < 6 {
		t.Fatalf("%d samples", len(all))
	}

	quiet := e.settled(idle)
	lasted := *soakFor - warm
	lasting := *soakFor > time.Minute // the slope of a minute says nothing about hours
	for _, what := range []struct {
		name  string
		of    func(figures) float64
		limit float64 // growth within the measured time
	}{
		{"series in the history", func(f figures) float64 { return float64(f.Series) }, 3000 * max(1, lasted.Hours())}, // 1,000 of the inventor in an hour, and those of their alerts
		{"goroutines", func(f figures) float64 { return float64(f.Goroutines) }, 20},
		{"descriptors", func(f figures) float64 { return float64(f.Descriptors) }, 20},
		{"heap, MB", func(f figures) float64 { return float64(f.Heap) / 1e6 }, 8},
		{"resident, MB", func(f figures) float64 { return float64(f.Resident) / 1e6 }, 32},
	} {
		low := floors(all, what.of)
		slope := slopeOf(low)
		growth := slope * lasted.Hours()
		t.Logf("%s: %.1f at the start, %.1f at the end, slope %.2f per hour; quiet: %.1f", what.name, low[0].value, low[len(low)-1].value, slope, what.of(quiet))
		if growth > what.limit {
			t.Errorf("%s: growth of %.1f in %v", what.name, growth, lasted)
		}
		if lasting {
			report("soak", fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %+.2f |", what.name, what.of(idle), low[0].value, low[len(low)-1].value, slope))
		}
	}
	if lasting {
		report("soak", fmt.Sprintf("| incidents in %v | | | %d | |", soakFor.Round(time.Second), happened))
	}
}

type sampled struct {
	at time.Duration
	figures
}

type point struct {
	at    time.Duration
	value float64
}

// floors returns the minimum of each twentieth of the time: calls in progress add to it.
func floors(all []sampled, of func(figures) float64) (low []point) {
	const parts = 20
	each := max(1, len(all)/parts)
	for chunk := range slices.Chunk(all, each) {
		least := slices.MinFunc(chunk, func(a, b sampled) int { return int(1000 * (of(a.figures) - of(b.figures))) })
		low = append(low, point{chunk[0].at, of(least.figures)})
	}
	return low
}

// slopeOf returns the least-squares slope per hour.
func slopeOf(points []point) float64 {
	var n, x, y, xx, xy float64
	for _, p := range points {
		h := p.at.Hours()
		n, x, y, xx, xy = n+1, x+h, y+p.value, xx+h*h, xy+h*p.value
	}
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return 0
}
