package web

import (
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

// facts are the samples that may be served at one moment, by family. A page
// takes them once, so all of it tells of the same moment, and reads back only
// the families that it shows.
type facts map[string]*family

// family is read back once, however many parts of the page ask for it.
type family struct {
	chunks  []metric.Chunk
	samples [][]metric.Sample // of each chunk
}

func factsOf(jobs []snapshot.Job, now time.Time) facts {
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

// each calls do for every sample of the family with the values of these labels.
func (f facts) each(name string, names []string, do func(l labels, value float64)) {
	told := f[name]
	if told == nil {
		return
	}
	if told.samples == nil {
		for _, c := range told.chunks {
			told.samples = append(told.samples, c.Samples())
		}
	}
	for i, c := range told.chunks {
		at := make([]int, len(names))
		for i, name := range names {
			at[i] = slices.Index(c.Family.Labels, name)
		}
		for _, s := range told.samples[i] {
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

// nodes are who the own nodes are. That is still true when one is down, so
// whatever a good run ever told will do.
type nodes struct {
	all    []string            // configured names
	ids    map[string]string   // node IDs by configured names
	called map[string][]string // the other way round; two may have one ID
}

func nodesOf(jobs []snapshot.Job) nodes {
	n := nodes{ids: map[string]string{}, called: map[string][]string{}}
	ever := factsOf(jobs, time.Time{}) // no sample has an end before the zero time
	ever.each("avax_node_info", []string{"node", "node_id"}, func(l labels, _ float64) {
		n.ids[l[0]], n.called[l[1]] = l[1], appendNew(n.called[l[1]], l[0])
	})
	ever.each("avax_node_up", []string{"node"}, func(l labels, _ float64) { n.all = append(n.all, l[0]) })
	slices.Sort(n.all)
	return n
}

// oldest is when the oldest good run of these jobs began whose samples are
// fresh; nil where there is none.
func oldest(jobs []snapshot.Job, now time.Time, of func(snapshot.Key) bool) *time.Time {
	var at *time.Time
	for _, j := range jobs {
		if of(j.Last.Key) && now.Before(j.Good.Until) && (at == nil || j.Good.At.Before(*at)) {
			at = &j.Good.At
		}
	}
	return at
}

// why says why these jobs have told nothing fresh of something.
func (s *Site) why(jobs []snapshot.Job, now time.Time, of func(snapshot.Key) bool) string {
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
		return "no collector of it has run here: it may be switched off, or be that of shard 0"
	}
	return "the last runs did not tell"
}

func appendNew(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}
