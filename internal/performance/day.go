package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// day measures an exporter that monitors one node for a day of incidents. The exporter is a process of its own, built with the tag
// day, with a synthetic clock. The simulated network in this process has the same clock. So the exporter does the work of a day in a
// few minutes.
func (b *bench) day() error {
	binary := filepath.Join(b.dir, "day")
	if out, err := exec.CommandContext(b.ctx, "internal/tools/build", binary, "-tags", "day").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	player := newPlayer()
	server := httptest.NewServer(player)
	defer server.Close()
	e := &subject{cmd: exec.CommandContext(b.ctx, binary), ctx: b.ctx}
	e.cmd.Dir = b.dir
	e.cmd.Env = append(os.Environ(), "NETWORK="+server.Listener.Addr().String(), "GOGC=")
	e.cmd.Stdout, e.cmd.Stderr = os.Stderr, os.Stderr
	player.measure = func() (d dayUsage, err error) {
		pid := strconv.Itoa(e.cmd.Process.Pid)
		if d.resident, d.peak, err = residentOf(pid); err != nil {
			return d, err
		}
		if d.binary, err = statusOf(pid, "RssFile"); err != nil {
			return d, err
		}
		d.cpu, err = e.processTime()
		return d, err
	}
	if err := e.cmd.Run(); err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	if err := player.err; err != nil {
		return err
	}
	d := player.usage
	core := d.cpu.Seconds() / (24 * time.Hour).Seconds()
	fmt.Fprintf(&b.raw, "BenchmarkDay 1 %.0f cpu-ns %d B-resident %d B-peak %d B-binary\n", float64(d.cpu), d.resident, d.peak, d.binary)
	b.add(d.resident < 64e6 && core < 0.01, "one node and validator, with rules, notifications, status page and scrapes every 15 s, after a simulated day of incidents",
		"64 MB resident, 1 % of a core", "%s resident (peak %s), of which %s are pages of the binary. %.0f s of CPU for the day: %.1f %% of a core. %d incidents, %d calls, %d firing and %d resolved alerts notified.",
		mb(d.resident), mb(d.peak), mb(d.binary), d.cpu.Seconds(), 100*core, player.incidents, player.calls, player.notified.Firing, player.notified.Resolved)
	return nil
}

// dayUsage is the resource usage of the exporter at the end of the day.
type dayUsage struct {
	resident, peak, binary int64 // bytes
	cpu                    time.Duration
}

// player answers as the simulated network. Its clock is that of the latest request. Every hour the node fails in another way for 20
// minutes.
type player struct {
	to      http.RoundTripper
	measure func() (dayUsage, error)

	mu               sync.Mutex
	now              time.Time
	due              []event
	hung             bool
	calls, incidents int
	notified         struct{ Firing, Resolved int }
	usage            dayUsage
	err              error
}

type event struct {
	at time.Time
	do func()
}

func newPlayer() *player {
	p := &player{err: errors.New("the exporter has not reached the end of the day")}
	p.now = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // as testing/synctest
	network := simnet.New(simnet.Options{Seed: 1, Now: func() time.Time { return p.now }})
	p.to = network.Transport()
	node := network.Node("alpha")
	faults := []func(){
		node.Stop,
		func() { p.hung = true },
		func() { node.Inject(simnet.Unavailable()) },
		func() { node.Inject(simnet.HTML()) },
		func() { node.FallBehind("C") },
		func() { node.SetChain("C", simnet.Bootstrapping) },
	}
	for hour := range 24 {
		begin := p.now.Add(time.Duration(hour)*time.Hour + 15*time.Minute)
		p.due = append(p.due, event{begin, func() {
			p.incidents++
			faults[hour%len(faults)]()
		}}, event{begin.Add(20 * time.Minute), func() {
			p.hung = false
			node.Recover()
			node.Start()
			node.CatchUp("C")
			node.SetChain("C", simnet.Running)
			network.ResetCalls()
		}})
	}
	return p
}

// ServeHTTP answers one request at a time, at the time of the request.
func (p *player) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Host == "measure" {
		p.usage, p.err = p.measure()
		p.err = errors.Join(p.err, json.NewDecoder(r.Body).Decode(&p.notified))
		return
	}
	at, err := time.Parse(time.RFC3339Nano, r.Header.Get("Synthetic-Time"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if at.After(p.now) {
		p.now = at
	}
	for len(p.due) > 0 && !p.due[0].at.After(p.now) {
		p.due[0].do()
		p.due = p.due[1:]
	}
	p.calls++
	if p.hung {
		w.Header().Set("Synthetic-Fault", "hung")
		return
	}
	in := r.Clone(r.Context())
	in.URL.Scheme, in.URL.Host, in.RequestURI = "http", r.Host, ""
	resp, err := p.to.RoundTrip(in)
	if err != nil {
		w.Header().Set("Synthetic-Fault", "refused")
		return
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// statusOf reads a size in bytes from a process' status (proc(5)).
func statusOf(pid, name string) (int64, error) {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, is := strings.CutPrefix(line, name+":"); is {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %s has no %s", pid, name)
}
