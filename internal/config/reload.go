package config

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Watch reloads the upstreams of a configuration when their files change, or on demand.
type Watch struct {
	config *Config
	take   func(Upstreams) error
	log    *slog.Logger

	success, since prometheus.Gauge

	mu sync.Mutex
	// polled holds the digests of the files at the last poll.
	polled map[string][sha256.Size]byte
}

// NewWatch returns a Watch of a configuration whose upstreams were read. After each reload it calls take. If take fails or the files
// cannot be read, the previous nodes and credentials stay.
func NewWatch(c *Config, take func(Upstreams) error, log *slog.Logger, reg prometheus.Registerer) *Watch {
	w := &Watch{
		config: c, take: take, log: log,
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "avax_exporter_config_last_reload_successful",
			Help: "1 if the last reload of nodes and credentials succeeded, 0 if it failed. After a failure the previous configuration stays in use.",
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

func (w *Watch) succeeded() {
	w.success.Set(1)
	w.since.Set(float64(time.Now().UnixMilli()) / 1e3)
}

// Reload reads all files now. The error joins all problems. Each problem is also logged.
func (w *Watch) Reload() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, err := w.config.ReadUpstreams()
	if err == nil {
		err = w.take(u)
	}
	for _, problem := range split(err) {
		w.log.Error("reload failed, keeping the previous configuration", "config", "nodes", "err", problem)
	}
	if err != nil {
		w.success.Set(0)
		return err
	}
	w.succeeded()
	return nil
}

// pollEvery is the polling interval of files.
const pollEvery = 3 * time.Second

// Run polls the files until ctx ends. It reloads changed files after they were unchanged for one interval, so that it does not
// read a partly written file. It also detects changed symbolic links, with which Kubernetes replaces the files of a ConfigMap.
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

// changed reports whether the files differ from the last ReadUpstreams and are unchanged since the last poll.
func (w *Watch) changed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &reader{contents: map[string]content{}}
	for path := range w.config.sums {
		_, _ = r.open(path)
	}
	before := w.polled
	w.polled = r.sums()
	return !maps.Equal(w.polled, w.config.sums) && maps.Equal(w.polled, before)
}
