package web

import (
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

// facts are the samples that may be served at one moment, by family. A page
// takes them once, so all of it tells of the same moment, and reads back only
// the families that it shows.
type facts map[string][]metric.Chunk

func factsOf(jobs []snapshot.Job, now time.Time) facts {
	f := facts{}
	for _, j := range jobs {
		for _, c := range j.Fresh(now) {
			f[c.Family.Name] = append(f[c.Family.Name], c)
		}
	}
	return f
}

// labels are up to three label values, in the order in which they were asked for.
type labels [3]string

// each calls do for every sample of the family with the values of these labels.
func (f facts) each(family string, names []string, do func(l labels, value float64)) {
	for _, c := range f[family] {
		at := make([]int, len(names))
		for i, name := range names {
			at[i] = slices.Index(c.Family.Labels, name)
		}
		for _, s := range c.Samples() {
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

// values are the samples of one family by some of its labels.
type values map[labels]float64

func (f facts) by(family string, names ...string) values {
	v := values{}
	f.each(family, names, func(l labels, value float64) { v[l] = value })
	return v
}

// of returns the value, or nil: absent is never zero.
func (v values) of(names ...string) *float64 {
	var l labels
	copy(l[:], names)
	if value, has := v[l]; has {
		return &value
	}
	return nil
}

// is tells whether there is a value and it reads so.
func (v values) is(value float64, names ...string) bool {
	got := v.of(names...)
	return got != nil && *got == value
}
