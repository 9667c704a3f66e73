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
	// read is the digest of the files at the last reading, polled the digest at the last poll.
	read, polled [sha256.Size]byte
}

// NewWatch returns a Watch of a source that was read successfully. take gets the nodes after each reading. The previous
// nodes stay if take fails or if the source cannot be read.
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

// Reload reads all files now. Its error joins all problems; each is logged.
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

// each returns the parts of a joined error.
func each(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}

// pollEvery is the polling interval of files.
const pollEvery = 3 * time.Second

// Run polls the files until ctx ends. A change is reloaded once it is unchanged for one interval, so that no half-written file
// is read. It also detects changed symbolic links: Kubernetes replaces the files of a ConfigMap that way.
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
			_ = w.Reload() // Reload has logged the error
		}
	}
}

// changed reports whether the files differ from the last reading, and are equal to the last poll.
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

// digest returns a digest of the files; the reason for an unreadable file does not matter.
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
