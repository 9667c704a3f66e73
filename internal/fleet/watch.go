package fleet

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/regular"
)

// Watch reloads a Source when its files change, or on demand.
type Watch struct {
	source *Source
	take   func([]Node) error
	log    *slog.Logger

	success, since prometheus.Gauge

	mu sync.Mutex
	// read is the digest of the files as the last reading found them, polled
	// as the last poll did.
	read, polled [sha256.Size]byte
}

// NewWatch watches a source that was read with success. take is given the nodes
// whenever they are read; on its error the old ones stay, as they do where the
// source cannot be read.
func NewWatch(source *Source, take func([]Node) error, log *slog.Logger, reg prometheus.Registerer) *Watch {
	w := &Watch{
		source: source, take: take, log: log, read: digest(source.files),
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_config_last_reload_successful",
			Help: "1 if the last reload of nodes and credentials succeeded, 0 if it failed and the previous configuration is kept.",
		}),
		since: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_config_last_reload_success_timestamp_seconds",
			Help: "Time of the last successful reload of nodes and credentials, in Unix seconds.",
		}),
	}
	reg.MustRegister(w.success, w.since)
	w.succeeded()
	return w
}

// CountTargets registers the number of nodes that the exporter monitors.
func CountTargets(reg prometheus.Registerer, count func() int) {
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "avax_exporter_targets",
		Help: "Nodes that the exporter is configured to monitor.",
	}, func() float64 { return float64(count()) }))
}

func (w *Watch) succeeded() {
	w.success.Set(1)
	w.since.Set(float64(time.Now().UnixMilli()) / 1e3)
}

// Reload reads everything now. Its error joins all problems; each is logged.
func (w *Watch) Reload() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	nodes, err := w.source.Read()
	w.read = digest(w.source.files)
	if err == nil {
		err = w.take(nodes)
	}
	if err != nil {
		w.success.Set(0)
		for _, problem := range each(err) {
			w.log.Error("reload failed, keeping the previous configuration", "config", "nodes", "err", problem)
		}
		return err
	}
	w.succeeded()
	return nil
}

// each takes a joined error apart.
func each(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}

// pollEvery is how often the files are looked at.
const pollEvery = 3 * time.Second

// Run looks at the files until ctx ends. A change is taken over once it has
// stood for one look, so that nobody reads half a file. It finds a link that
// leads elsewhere, as Kubernetes replaces what a ConfigMap holds.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if w.changed() {
			_ = w.Reload() // has told
		}
	}
}

// changed reports whether the files differ from the last reading, and not from
// the last look.
func (w *Watch) changed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := map[string]content{}
	for path := range w.source.files {
		data, err := regular.ReadFile(path)
		now[path] = content{data, err}
	}
	before := w.polled
	w.polled = digest(now)
	return w.polled != w.read && w.polled == before
}

// digest is what files look like; why one cannot be read does not matter.
func digest(files map[string]content) [sha256.Size]byte {
	var all [][]byte
	for _, path := range slices.Sorted(maps.Keys(files)) {
		c := files[path]
		all = append(all, []byte(path), c.data)
		if c.err != nil {
			all = append(all, nil)
		}
	}
	return sumOf(all...)
}
