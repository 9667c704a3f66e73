package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// binaries measures the released program, with and without alerting.
func (b *bench) binaries() error {
	for _, build := range []struct {
		what, bar, tag string
		most           int64
	}{
		{"binary, stripped, with in-process alerting", "under 60 MB", "", 60e6},
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

// start measures the time until the program serves everything.
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

// program builds the program once and returns its path.
func (b *bench) program(tag string) (string, error) {
	path := filepath.Join(b.dir, "avax-exporter"+tag)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if tag == "" && *built != "" {
		return *built, nil
	}
	if out, err := exec.CommandContext(b.ctx, "internal/tools/build", path, "-tags", tag).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// exporter starts the program.
func (b *bench) exporter(env ...string) (*subject, error) {
	path, err := b.program("")
	if err != nil {
		return nil, err
	}
	s := &subject{cmd: exec.CommandContext(b.ctx, path), ctx: b.ctx}
	s.cmd.Env = append([]string{"AVAX_LISTEN=127.0.0.1:0", "AVAX_LOG_FORMAT=json", "AVAX_ALERTING=off"}, env...)
	if *profiles != "" {
		s.cmd.Env = append(s.cmd.Env, "AVAX_PPROF_LISTEN=127.0.0.1:0")
	}
	log, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var line struct{ Msg, URL, Metrics string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving profiles" {
			s.profiles = line.URL
		}
		if line.Metrics != "" {
			s.url = strings.TrimSuffix(line.Metrics, "/metrics")
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return s, nil
		}
		fmt.Fprintln(os.Stderr, lines.Text())
	}
	s.stop()
	return nil, errors.New("the exporter does not start")
}

// untilReady waits until the exporter is ready. The time between two requests is 2 % of the time so far, because requests cost
// CPU time.
func (s *subject) untilReady() error {
	for began := time.Now(); s.ctx.Err() == nil; {
		if _, err := s.get("/-/ready"); err == nil {
			return nil
		}
		time.Sleep(max(2*time.Millisecond, time.Since(began)/50))
	}
	return s.ctx.Err()
}

// processTime is the CPU time of another process, from proc(5).
func (s *subject) processTime() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The process name may contain spaces and brackets. Read the fields after its closing bracket, the last one.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	return time.Duration(user+system) * tick, err
}

// profile writes a CPU profile and a heap profile, if profiles are enabled.
func (s *subject) profile(name string, of time.Duration) error {
	if s.profiles == "" {
		time.Sleep(of)
		return nil
	}
	for _, p := range []struct{ kind, query string }{{"cpu", fmt.Sprintf("profile?seconds=%.0f", of.Seconds())}, {"heap", "heap"}} {
		body, err := (&subject{url: s.profiles, ctx: s.ctx}).get(p.query)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(*profiles, name+"."+p.kind), body, 0o644); err != nil {
			return err
		}
	}
	return nil
}
