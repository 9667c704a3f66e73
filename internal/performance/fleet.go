package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// binaries are the program as it is handed out, with and without alerting.
func (b *bench) binaries() error {
	for _, build := range []struct {
		what, bar, tag string
		most           int64
	}{
		{"binary, stripped, with in-process alerting", "under 60 MB", "", 60e6},
		{"binary, stripped, with the tag noalerting", "under 25 MB", "noalerting", 25e6},
	} {
		path, err := b.program(build.tag)
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		b.add(info.Size() < build.most, build.what, build.bar, "%s", mb(info.Size()))
	}
	return nil
}

// start measures how soon the program serves all that it can.
func (b *bench) start() error {
	network := simnet.New(simnet.Options{Seed: 1})
	urls, err := network.Serve(b.ctx)
	if err != nil {
		return err
	}
	if _, err := b.program(""); err != nil { // not part of the start
		return err
	}
	began := time.Now()
	e, err := b.exporter("AVAX_NODES=local=" + urls["alpha"])
	if err != nil {
		return err
	}
	defer e.stop()
	if err := e.untilReady(); err != nil {
		return err
	}
	if _, err := e.get("/metrics"); err != nil {
		return err
	}
	took := time.Since(began)
	b.add(took < time.Second, "start to first complete /metrics, every collector of the defaults having run", "under 1 s", "%s", ms(took))
	return nil
}

// program builds the program, once, and returns where it is.
func (b *bench) program(tag string) (string, error) {
	path := filepath.Join(b.dir, "avax-exporter"+tag)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if out, err := exec.CommandContext(b.ctx, "internal/tools/build", path, "-tags", tag).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// exporter starts the program itself.
func (b *bench) exporter(env ...string) (*subject, error) {
	path, err := b.program("")
	if err != nil {
		return nil, err
	}
	s := &subject{cmd: exec.CommandContext(b.ctx, path), ctx: b.ctx}
	s.cmd.Env = append([]string{"AVAX_LISTEN=127.0.0.1:0", "AVAX_LOG_FORMAT=json", "AVAX_ALERTING=off"}, env...)
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var line struct{ Metrics string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Metrics != "" {
			s.url = strings.TrimSuffix(line.Metrics, "/metrics")
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return s, nil
		}
		fmt.Fprintln(os.Stderr, lines.Text())
	}
	s.stop()
	return nil, errors.New("the exporter does not start")
}

func (s *subject) untilReady() error {
	for s.ctx.Err() == nil {
		if _, err := s.get("/-/ready"); err == nil {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return s.ctx.Err()
}

// The fleet: so many nodes, and how it is watched.
const (
	fleetSize     = 1000
	fleetPeriod   = 15 * time.Second
	fleetPeriods  = 4
	answersAfter  = 20 * time.Millisecond
	settlesIn     = 45 * time.Second
	mostOfACore   = 0.25
	mostOfMemory  = 300e6
	eightCalls    = "up,bootstrap,uptime,peers,upgrades"
	eightSchedule = "up=@every 15s;bootstrap=@every 15s;uptime=@every 15s;peers=@every 15s;upgrades=@every 15s"
)

// fleetOfEight measures the program before a thousand nodes, over sockets.
func (b *bench) fleetOfEight() error {
	eight, err := b.fleet("AVAX_COLLECTORS="+eightCalls, "AVAX_SCHEDULES="+eightSchedule)
	if err != nil {
		return err
	}
	b.add(eight.core < mostOfACore && eight.skipped == 0 && eight.resident < mostOfMemory,
		fmt.Sprintf("1,000 nodes at 15 s, %.1f calls each", eight.calls), "under 1/4 core, no skipped tick, under 300 MB",
		"%.2f cores, %d skipped, %s resident, %d series", eight.core, eight.skipped, mb(eight.resident), eight.series)
	return nil
}

// fleetOfDefaults is the same with the collectors that run unless one says otherwise.
func (b *bench) fleetOfDefaults() error {
	all, err := b.fleet()
	if err != nil {
		return err
	}
	b.also = append(b.also, fmt.Sprintf("1,000 nodes with the default collectors and an L1, %.1f calls each in 15 s: %.2f cores, %d skipped, %s resident, %d series.",
		all.calls, all.core, all.skipped, mb(all.resident), all.series))
	return nil
}

// fleet is how the program fares before a thousand nodes.
type fleet struct {
	core, calls     float64
	resident        int64
	skipped, series int
}

func (b *bench) fleet(env ...string) (f fleet, err error) {
	network := simnet.New(simnet.Options{Seed: 1})
	crowd := &crowd{to: network.Transport(), nodes: network.Nodes(), answers: map[string]played{}}
	server := httptest.NewServer(crowd)
	defer server.Close()
	var nodes []string
	for i := range fleetSize {
		nodes = append(nodes, fmt.Sprintf("n%04d=%s/n%04d", i, server.URL, i))
	}
	e, err := b.exporter(append(env, "AVAX_NODES="+strings.Join(nodes, ","), "AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID)...)
	if err != nil {
		return f, err
	}
	defer e.stop()
	select {
	case <-time.After(settlesIn):
	case <-b.ctx.Done():
		return f, b.ctx.Err()
	}
	before, err := e.processTime()
	if err != nil {
		return f, err
	}
	asked := crowd.asked.Load()
	var page []byte
	for range fleetPeriods {
		time.Sleep(fleetPeriod)
		if page, err = e.get("/metrics"); err != nil {
			return f, err
		}
	}
	after, err := e.processTime()
	if err != nil {
		return f, err
	}
	f.core = (after - before).Seconds() / (fleetPeriods * fleetPeriod).Seconds()
	f.calls = float64(crowd.asked.Load()-asked) / fleetPeriods / fleetSize
	if f.resident, _, err = residentOf(strconv.Itoa(e.cmd.Process.Pid)); err != nil {
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
		if strings.HasPrefix(line, "avax_exporter_collector_skipped_total{") && !strings.HasSuffix(line, " 0.0") {
			f.skipped++
		}
	}
	fmt.Fprintf(&b.raw, "BenchmarkFleet/calls=%.1f %d %.0f cpu-ns/op %d B-resident\n", f.calls, fleetPeriods, f.core*float64(fleetPeriod), f.resident)
	return f, lines.Err()
}

// processTime is the CPU time of another process, from proc(5).
func (s *subject) processTime() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name may hold anything: fields count from its closing bracket.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	return time.Duration(user+system) * tick, err
}

// crowd lets the few nodes of the simulated network play many, each with an ID
// of its own, and plays their answers again for a while.
type crowd struct {
	to    http.RoundTripper
	nodes []*simnet.Node
	asked atomic.Int64

	mu      sync.Mutex
	answers map[string]played
}

type played struct {
	at     time.Time
	status int
	body   []byte
}

var ownID = regexp.MustCompile(`NodeID-[A-Za-z0-9]+`)

const answersAreKept = time.Minute

// ServeHTTP answers a question to /n0000/ext/… and so on.
func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(answersAfter)
	c.asked.Add(1)
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	i, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	question, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer, err := c.answer(r, "http://"+c.nodes[i%len(c.nodes)].Name()+".sim/"+path, question)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	body := answer.body
	if bytes.Contains(question, []byte(`"info.getNodeID"`)) {
		body = ownID.ReplaceAll(body, []byte(nodeID(i)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.status)
	_, _ = w.Write(body)
}

func (c *crowd) answer(r *http.Request, url string, question []byte) (played, error) {
	key := url + string(question)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, has := c.answers[key]; has && time.Since(known.at) < answersAreKept {
		return known, nil
	}
	in, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(question))
	if err != nil {
		return played{}, err
	}
	in.Header = r.Header.Clone()
	in.Header.Del("Accept-Encoding")
	resp, err := c.to.RoundTrip(in)
	if err != nil {
		return played{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	c.answers[key] = played{time.Now(), resp.StatusCode, body}
	return c.answers[key], err
}
