package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// roster is who is asked at this moment.
type roster struct {
	c       *config
	metrics *scrape.Metrics
	data    *dataService // nil where it is not asked
	doors   []door
	// own asks this process' part of the nodes. whole asks every node of the
	// fleet, its own first, for the facts of the network and of chains; it is nil
	// where another part tells them.
	own, whole *collectors.Upstreams
}

// door is a node with the way to it.
type door struct {
	fleet.Node
	up   *scrape.Upstream
	node *collectors.Node
}

// newRoster asks nothing.
func newRoster(c *config, m *scrape.Metrics) (*roster, error) {
	own, service, err := services(c, m)
	if err != nil {
		return nil, err
	}
	r := &roster{c: c, metrics: m, data: service, own: own}
	switch {
	case c.part.Of <= 1:
		r.whole = own
	case c.part.SpeaksForTheNetwork():
		whole := *own
		whole.Targets = collectors.NewTargets(nil, c.chains)
		whole.NetworkID = c.networkID
		r.whole = &whole
	}
	doors, err := r.open(c.nodes)
	if err != nil {
		return nil, err
	}
	r.set(doors)
	return r, nil
}

// open returns the doors to these nodes: the present one where the entry is
// unchanged, with its new credentials, and a new one otherwise.
func (r *roster) open(nodes []fleet.Node) ([]door, error) {
	var doors []door
	var errs []error
	for _, n := range nodes {
		if r.whole == nil && !r.c.part.Holds(n.Name) {
			continue
		}
		if d, same := r.present(n); same {
			doors = append(doors, door{n, d.up, d.node})
			continue
		}
		up, err := scrape.New(scrape.Options{
			Name: n.Name, URL: n.URL, Header: n.Header, Host: n.Host, TLS: n.TLS,
			Timeout: r.c.timeout, Concurrency: r.c.concurrency, MaxBody: r.c.maxBody, Metrics: r.metrics, Transport: r.c.transport,
		})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		doors = append(doors, door{n, up, collectors.NewNode(node.New(up))})
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, d := range doors {
		if old, same := r.present(d.Node); same && !old.SameCredentials(d.Node) {
			errs = append(errs, d.up.Renew(d.Header, d.TLS))
		}
	}
	return doors, errors.Join(errs...)
}

// present returns the door to a node whose entry is unchanged.
func (r *roster) present(n fleet.Node) (door, bool) {
	i := slices.IndexFunc(r.doors, func(d door) bool { return d.Same(n) })
	if i < 0 {
		return door{}, false
	}
	return r.doors[i], true
}

// set makes these doors the ones that are used, and closes the others.
func (r *roster) set(doors []door) {
	for _, d := range r.doors {
		if !slices.ContainsFunc(doors, func(kept door) bool { return kept.up == d.up }) {
			d.up.Close()
		}
	}
	r.doors = doors
	var own, others []*collectors.Node
	for _, d := range doors {
		if r.c.part.Holds(d.Name) {
			own = append(own, d.node)
		} else {
			others = append(others, d.node)
		}
	}
	r.own.SetNodes(own)
	if r.whole != nil {
		r.whole.SetNodes(append(own, others...))
	}
}

// jobs binds the chosen collectors: what is about a node to the own nodes, and
// what is about the network or a chain to the whole fleet, and gives each its
// schedule.
func (r *roster) jobs() []schedule.Job {
	var all []schedule.Job
	for _, spec := range r.c.specs {
		for _, j := range spec.Jobs(r.own, r.whole) {
			all = append(all, schedule.Job{
				Key:      snapshot.Key{Collector: spec.Name, Target: j.Target},
				Families: spec.Families,
				Choice:   r.c.choice,
				Limit:    r.c.seriesLimit,
				When:     r.c.when(spec, j.Target),
				Collect:  j.Collect,
			})
		}
	}
	return all
}

// take makes these nodes the ones that are asked. What is unchanged goes on
// undisturbed, what is new starts at once, what is gone takes its samples with
// it; a node whose entry changed is gone and new. On an error nothing changes.
func (h *house) take(nodes []fleet.Node) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.roster.doors
	after, err := h.roster.open(nodes)
	if err != nil {
		return err
	}
	kept := func(doors []door, d door) bool {
		return slices.ContainsFunc(doors, func(o door) bool { return o.up == d.up })
	}
	gone := map[string]bool{}
	for _, d := range before {
		if !kept(after, d) {
			gone[d.Name] = true
		}
	}
	added := 0
	for _, d := range after {
		if !kept(before, d) {
			added++
		}
	}
	if len(gone) > 0 {
		// The scheduler knows a job by its name, and a new node may have an old one's.
		h.scheduler.Set(slices.DeleteFunc(h.roster.jobs(), func(j schedule.Job) bool {
			return gone[j.Target.Node]
		}))
	}
	h.roster.set(after)
	h.scheduler.Set(h.roster.jobs())
	h.reckon()
	h.log.Info("nodes read anew", "nodes", len(h.roster.own.Nodes()), "added", added, "gone", len(gone))
	return nil
}

// reload reads the nodes, their credentials, the key of the Data service and the
// alert rules anew. What cannot be read is told, and the old stays.
func (h *house) reload() error {
	err := h.watch.Reload()
	if h.alerting != nil {
		err = errors.Join(err, h.alerting.Reload()) // has told
	}
	if h.roster.data == nil {
		return err
	}
	_, keyErr := h.roster.data.renew()
	if keyErr != nil {
		h.log.Error("the old key stays", "err", keyErr)
	}
	return errors.Join(err, keyErr)
}

// reload is POST /-/reload, where it is wanted.
func reload(c *config, read func() error) http.Handler {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !c.reloadable:
			http.Error(w, "reading the nodes anew over HTTP is off: set AVAX_RELOAD_ENDPOINT=true, or send SIGHUP", http.StatusForbidden)
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
		default:
			if err := read(); err != nil {
				http.Error(w, fmt.Sprintf("the old ones stay:\n%v", err), http.StatusInternalServerError)
				return
			}
			fmt.Fprintln(w, "read anew")
		}
	})
	return http.NewCrossOriginProtection().Handler(handler)
}
