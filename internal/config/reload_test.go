package config_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// watched is a running Watch and the nodes that it passed on.
type watched struct {
	*config.Watch
	registry *prometheus.Registry

	mu    sync.Mutex
	taken []config.Node
	times int
	fails error
	log   strings.Builder
}

// watching runs a Watch of nodes.yml in synthetic time.
func watching(t *testing.T, test func(t *testing.T, w *watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source := &config.Config{Values: config.Values{NodesFile: "nodes.yml", HTTPConfigFile: "http.yml"}}
		read := must.Get(source.ReadUpstreams())(t)
		w := &watched{registry: prometheus.NewPedanticRegistry(), taken: read.Nodes}
		take := func(u config.Upstreams) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.fails == nil {
				w.taken, w.times = u.Nodes, w.times+1
			}
			return w.fails
		}
		w.Watch = config.NewWatch(source, take, slog.New(slog.NewTextHandler(&w.log, nil)), w.registry)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx)
		test(t, w)
	})
}

// names returns the names of the last nodes.
func (w *watched) names() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, n := range w.taken {
		names = append(names, n.Name)
	}
	return strings.Join(names, " ")
}

func (w *watched) gauge(t *testing.T, name string) float64 {
	t.Helper()
	families := must.Get(w.registry.Gather())(t)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// settle lets time pass and waits until nothing runs.
func settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const (
	successful = "avax_exporter_config_last_reload_successful"
	since      = "avax_exporter_config_last_reload_success_timestamp_seconds"
	soon       = 10 * time.Second // a change is reloaded by then
)

func TestChangedFileIsReloadedWithinSeconds(t *testing.T) {
	write(t, map[string]string{"nodes.yml": "- targets: [a]", "http.yml": byToken, "token": "one"})
	watching(t, func(t *testing.T, w *watched) {
		start := time.Now()
		settle(time.Hour)
		if w.times != 0 {
			t.Errorf("%d reloads without a change", w.times)
		}
		put(t, "nodes.yml", "- targets: [a, b]")
		settle(soon)
		if got := w.names(); got != "a b" {
			t.Fatalf("nodes %q", got)
		}
		put(t, "token", "two") // a file that the file of credentials names
		settle(soon)
		if got := w.taken[0].Header.Get("Authorization"); got != "Bearer two" {
			t.Errorf("node gets token %q", got)
		}
		if w.gauge(t, successful) != 1 || w.gauge(t, since) < float64(start.Add(time.Hour).Unix()) {
			t.Errorf("successful %v, since %v", w.gauge(t, successful), w.gauge(t, since))
		}
		if problems, err := testutil.GatherAndLint(w.registry); err != nil || len(problems) > 0 {
			t.Errorf("%v, %v", problems, err)
		}
	})
}

// Kubernetes replaces the files of a ConfigMap by changing a symbolic link.
func TestChangedSymlinkIsReloaded(t *testing.T) {
	write(t, map[string]string{"v1/nodes.yml": "- targets: [a]", "v2/nodes.yml": "- targets: [b]", "http.yml": "[]"})
	link := func(old, name string) {
		t.Helper()
		must.Do(t, os.Symlink(old, name))
	}
	link("v1", "..data")
	link("..data/nodes.yml", "nodes.yml")
	watching(t, func(t *testing.T, w *watched) {
		link("v2", "..tmp")
		must.Do(t, os.Rename("..tmp", "..data"))
		settle(soon)
		if got := w.names(); got != "b" {
			t.Errorf("nodes %q, want b", got)
		}
	})
}

func TestInvalidFileKeepsThePreviousNodes(t *testing.T) {
	write(t, map[string]string{"nodes.yml": "- targets: [a]", "http.yml": "[]"})
	watching(t, func(t *testing.T, w *watched) {
		start := w.gauge(t, since)
		put(t, "nodes.yml", "- targets: [b]\n- targets: ['ftp://c', 'x y']")
		settle(time.Hour)
		if w.names() != "a" || w.gauge(t, successful) != 0 || w.gauge(t, since) != start {
			t.Errorf("nodes %q, successful %v, since %v", w.names(), w.gauge(t, successful), w.gauge(t, since))
		}
		log := w.log.String()
		if strings.Count(log, "reload failed, keeping the previous configuration") != 2 || strings.Count(log, "nodes.yml, line 2: invalid URL") != 2 {
			t.Errorf("log:\n%s", log)
		}
		put(t, "nodes.yml", "- targets: [b]")
		settle(soon)
		if w.names() != "b" || w.gauge(t, successful) != 1 {
			t.Errorf("after a correction: nodes %q, successful %v", w.names(), w.gauge(t, successful))
		}
	})
}

// A file that is being written in place is not read before it is complete.
func TestGrowingFileIsNotReloaded(t *testing.T) {
	write(t, map[string]string{"nodes.yml": "- targets: [a]", "http.yml": "[]"})
	watching(t, func(t *testing.T, w *watched) {
		text := ""
		for _, name := range []string{"b", "c", "d", "e"} {
			text += "- targets: [" + name + "]\n"
			put(t, "nodes.yml", text)
			settle(3 * time.Second)
			if got := w.names(); got != "a" {
				t.Fatalf("nodes %q while the file grows", got)
			}
		}
		settle(soon)
		if got := w.names(); got != "b c d e" {
			t.Errorf("nodes %q", got)
		}
	})
}

func TestReloadReturnsItsErrors(t *testing.T) {
	write(t, map[string]string{"nodes.yml": "- targets: [a]", "http.yml": "[]"})
	watching(t, func(t *testing.T, w *watched) {
		put(t, "nodes.yml", "- targets: [b]")
		if err := w.Reload(); err != nil || w.names() != "b" {
			t.Errorf("nodes %q, error %v", w.names(), err)
		}
		settle(time.Minute)
		if w.times != 1 {
			t.Errorf("%d reloads, want none after Reload", w.times)
		}
		put(t, "nodes.yml", "")
		if err := w.Reload(); err == nil || !strings.Contains(err.Error(), "nodes.yml, line 1: the file is empty") {
			t.Errorf("error %v", err)
		}
		put(t, "nodes.yml", "- targets: [c]")
		w.fails = errors.New("no door")
		if err := w.Reload(); !errors.Is(err, w.fails) || w.gauge(t, successful) != 0 {
			t.Errorf("error %v, successful %v", err, w.gauge(t, successful))
		}
	})
}

// Other parts, such as rules and notifications, are reloaded by the same mechanism.
func TestFollowedFilesAreReloadedWithinSeconds(t *testing.T) {
	write(t, map[string]string{"nodes.yml": "- targets: [a]", "http.yml": byToken, "token": "one", "rules.yml": "1"})
	synctest.Test(t, func(t *testing.T) {
		source := &config.Config{Values: config.Values{NodesFile: "nodes.yml", HTTPConfigFile: "http.yml"}}
		must.Get(source.ReadUpstreams())(t)
		nodes := 0
		w := config.NewWatch(source, func(config.Upstreams) error { nodes++; return nil }, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		var read []string
		w.Follow("rules", "rules", func() []string { return []string{"rules.yml"} }, func() error {
			content, err := os.ReadFile("rules.yml")
			read = append(read, string(content))
			_ = w.Last() // a page asks during a reload, which may wait for a disk
			if string(content) == "bad" {
				err = errors.New("bad")
			}
			return err
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx)
		is := func(want string, upstreams int) {
			t.Helper()
			settle(soon)
			if got := strings.Join(read, " "); got != want || nodes != upstreams {
				t.Errorf("read %q and nodes %d times, want %q and %d times", got, nodes, want, upstreams)
			}
		}
		is("", 0)
		put(t, "rules.yml", "2")
		is("2", 0)
		put(t, "rules.yml", "bad")
		is("2 bad", 0)
		settle(time.Hour)
		is("2 bad", 0) // an invalid file is not read again and again
		if last := w.Last(); len(last) != 1 || last[0].Name != "rules" || last[0].Err == nil {
			t.Errorf("%+v", last)
		}
		put(t, "rules.yml", "3")
		if err := w.Reload(); err != nil { // SIGHUP
			t.Error(err)
		}
		is("2 bad 3", 1)
		must.Do(t, os.Remove("rules.yml"))
		is("2 bad 3 ", 1)
		put(t, "nodes.yml", "- targets: [b]")
		is("2 bad 3 ", 2)
		if last := w.Last(); len(last) != 2 || last[0].Err != nil || last[1].Err == nil {
			t.Errorf("%+v", last)
		}
	})
}
