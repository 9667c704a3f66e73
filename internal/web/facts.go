package web

import (
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

// facts are the valid samples at one time, by family. A page reads the samples once, so it shows a consistent state. Only the
// families that it shows are parsed.
type facts map[string]*family

// family holds the samples of one family. It is parsed once, even if several parts of the page use it.
type family struct {
	chunks  []metric.Chunk
	samples [][]metric.Sample // by chunk
}

func factsOf(jobs []*snapshot.Job, now time.Time) facts {
	f := facts{}
	for _, j := range jobs {
		for _, c := range j.Fresh(now) {
			if f[c.Family.Name] == nil {
				f[c.Family.Name] = &family{}
			}
			f[c.Family.Name].chunks = append(f[c.Family.Name].chunks, c)
		}
	}
	return f
}

// each calls the function do for every sample of the family. It passes the values of the labels in names.
func (f facts) each(name string, names []string, do func(l labels, value float64)) {
	found := f[name]
	if found == nil {
		return
	}
	if found.samples == nil {
		for _, c := range found.chunks {
			found.samples = append(found.samples, c.Samples())
		}
	}
	for i, c := range found.chunks {
		at := make([]int, len(names))
		for i, name := range names {
			at[i] = slices.Index(c.Family.Labels, name)
		}
		for _, s := range found.samples[i] {
			var l labels
			for i, index := range at {
				if index >= 0 {
					l[i] = s.Labels[index]
				}
			}
			do(l, s.Value)
		}
	}
}

func (f facts) by(family string, names ...string) values {
	v := values{}
	f.each(family, names, func(l labels, value float64) { v[l] = value })
	return v
}

// nodes are the identities of the configured nodes. An identity from an earlier run stays valid while the node is down.
type nodes struct {
	all    []string            // configured names
	ids    map[string]string   // node IDs by configured names
	called map[string][]string // configured names by node ID; two names may have the same ID
}

func nodesOf(jobs []*snapshot.Job) nodes {
	n := nodes{ids: map[string]string{}, called: map[string][]string{}}
	ever := factsOf(jobs, time.Time{}) // all samples, because at the zero time none has expired
	ever.each("avax_node_info", []string{"node", "node_id"}, func(l labels, _ float64) {
		n.ids[l[0]], n.called[l[1]] = l[1], appendNew(n.called[l[1]], l[0])
	})
	ever.each("avax_node_up", []string{"node"}, func(l labels, _ float64) { n.all = append(n.all, l[0]) })
	slices.Sort(n.all)
	return n
}

// oldest returns the start of the oldest good run with valid samples among these jobs, or nil.
func oldest(jobs []*snapshot.Job, now time.Time, of func(snapshot.Key) bool) *time.Time {
	var at *time.Time
	for _, j := range jobs {
		if of(j.Last.Key) && now.Before(j.Good.Until) && (at == nil || j.Good.At.Before(*at)) {
			at = &j.Good.At
		}
	}
	return at
}

// why returns why these jobs have no valid samples.
func (s *Site) why(jobs []*snapshot.Job, now time.Time, of func(snapshot.Key) bool) string {
	var failing []string
	ran := false
	for _, j := range jobs {
		if !of(j.Last.Key) {
			continue
		}
		ran = true
		switch {
		case j.Last.Err != nil:
			failing = append(failing, "collector "+j.Last.Collector+" of "+j.Last.Target.String()+" fails: "+j.Last.Err.Error())
		case !now.Before(j.Good.Until):
			failing = append(failing, "collector "+j.Last.Collector+" of "+j.Last.Target.String()+" has not run since "+j.Good.At.UTC().Format(time.RFC3339))
		}
	}
	switch {
	case len(failing) > 0:
		return strings.Join(failing, "; ")
	case !ran:
		return "its collector has not run here: it may be disabled, or run on shard 0"
	}
	return "the last runs did not report it"
}

func appendNew(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}
