package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// The size of the fleet, and its configuration.
const (
	fleetPeriod   = 15 * time.Second
	fleetPeriods  = 4
	settlesIn     = 45 * time.Second
	eightCalls    = "up,bootstrap,uptime,peers,upgrades"
	eightSchedule = "up=@every 15s;bootstrap=@every 15s;uptime=@every 15s;peers=@every 15s;upgrades=@every 15s"
)

// fleetOfEight measures the program with a thousand nodes, over sockets.
func (b *bench) fleetOfEight() error {
	eight, err := b.fleet("eight", *size, "AVAX_COLLECTORS="+eightCalls, "AVAX_SCHEDULES="+eightSchedule)
	if err != nil {
		return err
	}
	b.add(eight.core < 0.25 && eight.skipped == 0 && eight.resident < 300e6,
		"1,000 nodes at 15 s, eight calls each", "under 1/4 core, no skipped tick, under 300 MB", "%v", eight)
	return nil
}

// fleetOfDefaults measures the same with the default collectors.
func (b *bench) fleetOfDefaults() error {
	all, err := b.fleet("defaults", *size)
	if err != nil {
		return err
	}
	b.add(all.core < 0.2 && all.skipped == 0 && all.resident < 300e6,
		"1,000 nodes and an L1, default collectors, a scrape every 15 s", "under 0.2 cores, no skipped tick, under 300 MB", "%v", all)
	b.add(all.complete < 5*time.Second, "the same: from the start to the first complete page, every collector having run", "under 5 s",
		"%.1f s, %.1f s of CPU, peak %s", all.complete.Seconds(), all.first.Seconds(), mb(all.peak))
	return nil
}

// fleetInMemory is the same without sockets: the nodes answer in the same process.
func (b *bench) fleetInMemory() error {
	s, err := start(b.ctx, "fleet", *size)
	if err != nil {
		return err
	}
	defer s.stop()
	f, err := b.watch("memory", *size, s, nil, time.Now())
	if err != nil {
		return err
	}
	b.add(f.core < 0.2 && f.skipped == 0 && f.resident < 300e6,
		"1,000 nodes without sockets, their answers made in the exporter's process, default collectors", "under 0.2 cores, no skipped tick, under 300 MB", "%v", f)
	return nil
}

// fleetWithRules evaluates the rules in the same process.
func (b *bench) fleetWithRules() error {
	f, err := b.fleet("rules", *size, "AVAX_ALERTING=on")
	if err != nil {
		return err
	}
	b.add(f.core < 0.5 && f.skipped == 0 && f.resident < 500e6,
		"the same with the rules evaluated every 15 s in the process", "under half a core, under 500 MB, or switched off", "%v", f)
	return nil
}

// shards compares ten processes that share 10,000 nodes with one process that has 1,000 nodes. It measures shard 0, which also
// exports the network, and one of the nine others.
func (b *bench) shards() error {
	const of = 10
	one, err := b.fleet("one", *size)
	if err != nil {
		return err
	}
	var shard [2]fleet
	for i := range shard {
		if shard[i], err = b.fleet(fmt.Sprintf("shard%d", i), of**size, fmt.Sprintf("AVAX_SHARD=%d", i), fmt.Sprintf("AVAX_TOTAL_SHARDS=%d", of)); err != nil {
			return err
		}
	}
	cores := shard[0].core + (of-1)*shard[1].core
	resident := shard[0].resident + (of-1)*shard[1].resident
	linear := cores / (of * one.core)
	b.add(linear < 1.1 && shard[0].skipped+shard[1].skipped == 0, "10,000 nodes over 10 shards against ten times 1,000 on one", "CPU within 1.1x",
		"%.2fx (%.2f cores). Memory %.2fx (%s). Shard 0: %v. Shard 1: %v.", linear, cores, ratio(resident, of*one.resident), mb(resident), shard[0], shard[1])
	return nil
}

// fleet is the resource usage of the program with many nodes.
type fleet struct {
	complete, first time.Duration // time until the first complete page, and CPU time until then
	peak            int64         // highest memory until the memory is stable
	core, calls     float64
	resident        int64
	skipped, series int
}

func (f fleet) String() string {
	text := fmt.Sprintf("%.2f cores, %d skipped, %s resident (peak %s), %d series", f.core, f.skipped, mb(f.resident), mb(f.peak), f.series)
	if f.calls > 0 { // counted
		text += fmt.Sprintf(", %.1f calls to a node a minute", f.calls*float64(time.Minute/fleetPeriod))
	}
	return text
}

// nodesAt lists this number of nodes at an address.
func nodesAt(url string, size int) string {
	var nodes []string
	for i := range size {
		nodes = append(nodes, fmt.Sprintf("n%04d=%s/n%04d", i, url, i))
	}
	return strings.Join(nodes, ",")
}

func (b *bench) fleet(name string, size int, env ...string) (f fleet, err error) {
	network := simnet.New(simnet.Options{Seed: 1})
	crowd := newCrowd(network)
	server := httptest.NewServer(crowd)
	defer server.Close()
	file, err := b.nodesFile(server.URL, size)
	if err != nil {
		return f, err
	}
	if _, err := b.program(""); err != nil { // not part of the start
		return f, err
	}
	began := time.Now()
	e, err := b.exporter(append(env, "AVAX_NODES_FILE="+file, "AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID)...)
	if err != nil {
		return f, err
	}
	defer e.stop()
	return b.watch(name, size, e, crowd, began)
}

// watch measures a process that monitors a fleet: its first pass, and later its normal operation.
func (b *bench) watch(name string, size int, e *subject, crowd *crowd, began time.Time) (f fleet, err error) {
	if err := e.untilReady(); err != nil {
		return f, err
	}
	if _, err := e.get("/metrics"); err != nil {
		return f, err
	}
	f.complete = time.Since(began)
	if f.first, err = e.processTime(); err != nil {
		return f, err
	}
	time.Sleep(settlesIn)
	pid := strconv.Itoa(e.cmd.Process.Pid)
	before, err := e.processTime()
	if err != nil {
		return f, err
	}
	var asked int64
	if crowd != nil {
		asked = crowd.asked.Load()
	}
	var page []byte
	for i := range fleetPeriods {
		if i == 0 {
			err = e.profile(name, fleetPeriod)
		} else {
			time.Sleep(fleetPeriod)
		}
		if err != nil {
			return f, err
		}
		if page, err = e.get("/metrics"); err != nil {
			return f, err
		}
	}
	after, err := e.processTime()
	if err != nil {
		return f, err
	}
	f.core = (after - before).Seconds() / (fleetPeriods * fleetPeriod).Seconds()
	if crowd != nil {
		f.calls = float64(crowd.asked.Load()-asked) / fleetPeriods / float64(size)
	}
	if f.resident, f.peak, err = residentOf(pid); err != nil {
		return f, err
	}
	text, err := gzip.NewReader(bytes.NewReader(page))
	if err != nil {
		return f, err
	}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "#") {
			f.series++
		}
		if strings.HasPrefix(line, "avax_exporter_collector_skipped_total{") && !strings.HasSuffix(line, " 0") {
			f.skipped++
			fmt.Fprintln(os.Stderr, line)
		}
	}
	fmt.Fprintf(&b.raw, "BenchmarkFleet/%s %d %.0f cpu-ns/op %d B-resident %d B-peak %.0f first-cpu-ns %.1f calls/op\n",
		name, fleetPeriods, f.core*float64(fleetPeriod), f.resident, f.peak, float64(f.first), f.calls)
	return f, lines.Err()
}

// nodesFile writes the list of nodes to a file, because an environment variable cannot hold 10,000 nodes.
func (b *bench) nodesFile(url string, size int) (string, error) {
	var list strings.Builder
	for i := range size {
		fmt.Fprintf(&list, "- {targets: [\"%s/n%05d\"], labels: {node: n%05d}}\n", url, i, i)
	}
	path := filepath.Join(b.dir, fmt.Sprintf("nodes%d.yml", size))
	return path, os.WriteFile(path, []byte(list.String()), 0o600)
}

// serveFleet is the exporter with a crowd in the same process.
func serveFleet(args []string) (http.Handler, error) {
	size, err := strconv.Atoi(args[0])
	if err != nil {
		return nil, err
	}
	network := simnet.New(simnet.Options{Seed: 1})
	env := config.Defaults()
	env.Alerting, env.Chains = "off", "C,examplel1="+network.Chain("examplel1").ID
	env.Nodes = nodesAt("http://crowd", size)
	cfg, err := env.Parse()
	if err != nil {
		return nil, err
	}
	cfg.Transport = newCrowd(network)
	a, err := app.New(context.Background(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return a.Handler(), nil
}
