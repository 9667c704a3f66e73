package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Watch reloads the upstreams of a configuration, and other parts of the program, when their files change, or on demand.
type Watch struct {
	config *Config
	take   func(Upstreams) error
	log    *slog.Logger

	success, since *prometheus.GaugeVec // by what was reloaded

	mu sync.Mutex
	// polled holds the digests of the files at the last poll.
	polled   digests
	followed []*followed

	lastMu sync.Mutex // mu is held while files are read, and a disk may hang
	last   []Reloaded

	// Reloads receives after a successful reload; several may be one.
	Reloads chan struct{}
}

// digests are the digests of files by path; zero for an unreadable file.
type digests = map[string][sha256.Size]byte

// followed are the files of another part of the program.
type followed struct {
	name, what     string
	files          func() []string
	reload         func() error
	active, polled digests
}

// Reloaded is the result of the last reload of a part of the configuration.
type Reloaded struct {
	Name string // of the part
	At   time.Time
	Err  error // the previous configuration stays in use
}

// Follow calls reload when one of the files changes, and for each Reload. It must be called before Run. What is the value of the label of its result.
func (w *Watch) Follow(name, what string, files func() []string, reload func() error) {
	w.measure(what, nil)
	w.followed = append(w.followed, &followed{name: name, what: what, files: files, reload: reload, active: w.digestsOf(files())})
}

func (w *Watch) digestsOf(files []string) digests {
	r := &reader{checks: checks{Config: w.config}, contents: map[string]content{}}
	for _, path := range files {
		_, _ = r.open(path)
	}
	return r.sums()
}

// Last returns the results of the last reloads, sorted by name.
func (w *Watch) Last() []Reloaded {
	w.lastMu.Lock()
	defer w.lastMu.Unlock()
	return slices.Clone(w.last)
}

// note stores the result of a reload.
func (w *Watch) note(name, what string, err error) {
	w.measure(what, err)
	w.lastMu.Lock()
	defer w.lastMu.Unlock()
	if err == nil {
		select {
		case w.Reloads <- struct{}{}:
		default:
		}
	}
	w.last = slices.DeleteFunc(w.last, func(r Reloaded) bool { return r.Name == name })
	w.last = append(w.last, Reloaded{name, time.Now(), err})
	slices.SortFunc(w.last, func(a, b Reloaded) int { return strings.Compare(a.Name, b.Name) })
}

// NewWatch returns a Watch of a configuration whose upstreams were read. After each reload it calls take. If take fails or the files
// cannot be read, the previous nodes and credentials stay.
func NewWatch(c *Config, take func(Upstreams) error, log *slog.Logger, reg prometheus.Registerer) *Watch {
	w := &Watch{
		config: c, take: take, log: log, Reloads: make(chan struct{}, 1),
		success: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_config_last_reload_successful",
			Help: "1 if the last reload succeeded, 0 if it failed, by what was reloaded: configuration (nodes and credentials), rules (AVAX_RULES_FILE) or " +
				"notifications (AVAX_NOTIFY_FILE). After a failure the previous state stays in use.",
		}, []string{"what"}),
		since: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "avax_exporter_config_last_reload_success_timestamp_seconds",
			Help: "Time of the last successful reload in Unix seconds, by what was reloaded: see avax_exporter_config_last_reload_successful.",
		}, []string{"what"}),
	}
	reg.MustRegister(w.success, w.since)
	w.measure("configuration", nil)
	return w
}

// measure exports the result of a reload.
func (w *Watch) measure(what string, err error) {
	if err != nil {
		w.success.WithLabelValues(what).Set(0)
		return
	}
	w.success.WithLabelValues(what).Set(1)
	w.since.WithLabelValues(what).Set(float64(time.Now().UnixMilli()) / 1e3)
}

// Reload reads all files now. The error joins all problems. Each problem is also logged.
func (w *Watch) Reload() error {
	w.config.refreshNodes(context.Background(), 0)
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.reloadUpstreams()
	for _, f := range w.followed {
		err = errors.Join(err, w.reloadFollowed(f))
	}
	return err
}

// reloadFollowed reloads a part, which logs its errors. The caller holds w.mu.
func (w *Watch) reloadFollowed(f *followed) error {
	f.active = w.digestsOf(f.files()) // before the reload, so that a later change is noticed
	err := f.reload()
	w.note(f.name, f.what, err)
	return err
}

// reloadUpstreams reloads nodes and credentials. The caller holds w.mu.
func (w *Watch) reloadUpstreams() (err error) {
	defer func() { w.note("nodes and credentials", "configuration", err) }()
	u, err := w.config.ReadUpstreams()
	if err == nil {
		err = w.take(u)
	}
	for _, problem := range split(err) {
		w.log.Error("reload failed, keeping the previous configuration", "config", "nodes", "err", problem)
	}
	return err
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
		w.config.refreshNodes(ctx, askEvery)
		w.poll()
	}
}

// poll reloads the files that differ from those of the last reload and are unchanged since the last poll.
func (w *Watch) poll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := func(active digests, polled *digests, files []string) bool {
		before := *polled
		*polled = w.digestsOf(files)
		return !maps.Equal(*polled, active) && maps.Equal(*polled, before)
	}
	if changed(w.config.sums, &w.polled, slices.Collect(maps.Keys(w.config.sums))) {
		_ = w.reloadUpstreams() // it has logged the error
	}
	for _, f := range w.followed {
		if changed(f.active, &f.polled, f.files()) {
			_ = w.reloadFollowed(f)
		}
	}
}
