package web

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// snapshot is what pages read: the jobs at one time, and their valid samples. Only the families that a page shows are read, each once.
type snapshot struct {
	now    time.Time
	jobs   []*metric.Job
	chunks map[string][]chunk // by family
	read   map[string]any     // see once
}

// once returns what a function returns, and keeps it under this key.
func once[T any](s *snapshot, key string, read func() T) T {
	kept, known := s.read[key].(T)
	if !known {
		kept = read()
		s.read[key] = kept
	}
	return kept
}

// chunk is the samples of one family in one run.
type chunk struct {
	*metric.Chunk
	run *metric.Run
}

// sample is one sample of a chunk.
type sample struct {
	chunk
	metric.Sample
}

func (s sample) label(name string) string {
	if i := slices.Index(s.Family.Labels, name); i >= 0 {
		return s.Labels[i]
	}
	return ""
}

// snapshotAt returns the snapshot of one time. At the zero time no sample has expired.
func snapshotAt(jobs []*metric.Job, now time.Time) *snapshot {
	f := &snapshot{now, jobs, map[string][]chunk{}, map[string]any{}}
	for _, j := range jobs {
		chunks := j.Fresh(now)
		for i := range chunks {
			name := chunks[i].Family.Name
			f.chunks[name] = append(f.chunks[name], chunk{&chunks[i], j.Good})
		}
	}
	return f
}

// of returns the samples of a family.
func (f *snapshot) of(family string) []sample {
	return once(f, family, func() (found []sample) {
		for _, c := range f.chunks[family] {
			for _, s := range c.Samples {
				found = append(found, sample{c, s})
			}
		}
		return found
	})
}

// labels holds up to three label values, in the requested order.
type labels [3]string

func (s sample) pick(names []string) (l labels) {
	for i, name := range names {
		l[i] = s.label(name)
	}
	return l
}

// values holds the values of one family by some of its labels.
type values map[labels]float64

// by returns the values of a family by these labels.
func (f *snapshot) by(family string, names ...string) values {
	return once(f, family+" by "+strings.Join(names, " "), func() values {
		v := values{}
		for _, s := range f.of(family) {
			v[s.pick(names)] = s.Value
		}
		return v
	})
}

// value returns the value of a family about a subject, or nil if there is none.
func (f *snapshot) value(s subject, family string) *float64 {
	var names, of []string
	for _, l := range s {
		names, of = append(names, l[0]), append(of, l[1])
	}
	return f.by(family, names...).of(of...)
}

// is reports whether there is a value and it equals this one.
func (f *snapshot) is(value float64, s subject, family string) bool {
	got := f.value(s, family)
	return got != nil && *got == value
}

// texts returns the values of one label of a family by those of another.
func (f *snapshot) texts(family, key, label string) map[string]string {
	return once(f, "texts "+family+key+" "+label, func() map[string]string {
		texts := map[string]string{}
		for _, s := range f.of(family) {
			texts[s.label(key)] = s.label(label)
		}
		return texts
	})
}

// lists returns the values of one label by those of another, sorted, of the samples of these families with a value.
func (f *snapshot) lists(key, label string, value valueFilter, families ...string) map[string][]string {
	return once(f, "lists "+key+" "+label+" "+string(value)+" "+strings.Join(families, " "), func() map[string][]string {
		lists, seen := map[string][]string{}, map[[2]string]bool{}
		for _, family := range families {
			for _, s := range f.of(family) {
				pair := [2]string{s.label(key), s.label(label)}
				if !seen[pair] && value.accepts(s.Value) {
					seen[pair] = true
					lists[pair[0]] = append(lists[pair[0]], pair[1])
				}
			}
		}
		for _, list := range lists {
			slices.SortFunc(list, compareChains)
		}
		return lists
	})
}

// valueFilter selects samples by their value.
type valueFilter string

const (
	anyValue valueFilter = "any"
	isZero   valueFilter = "0"
	isOne    valueFilter = "1"
)

func (w valueFilter) accepts(v float64) bool {
	return w == anyValue || w == isZero && v == 0 || w == isOne && v == 1
}

// connectedWeights returns the connected weight of each L1, as the node with the lowest one reports it. Isolated nodes do not count.
func (f *snapshot) connectedWeights() values {
	return once(f, "connected weights", func() values {
		connected := map[string]float64{}
		for l, share := range f.by("avax_node_connected_stake_ratio", "node") {
			connected[l[0]] = share
		}
		return f.by("avax_l1_connected_weight", "chain", "node").least(staking.IsolatedBy(connected))
	})
}

// least returns the lowest values by the first of two labels, without those whose second label is left out.
func (v values) least(without map[string]bool) values {
	lowest := values{}
	for l, value := range v {
		first := labels{l[0]}
		if old, has := lowest[first]; !without[l[1]] && (!has || value < old) {
			lowest[first] = value
		}
	}
	return lowest
}

// names returns the values of the first of these labels, sorted.
func (v values) names() []string {
	var names []string
	for l := range v {
		names = append(names, l[0])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// of returns the value, or nil if there is none.
func (v values) of(names ...string) *float64 {
	var l labels
	copy(l[:], names)
	if value, has := v[l]; has {
		return &value
	}
	return nil
}

// ratioOf returns part divided by whole, or nil if one is absent.
func ratioOf(part, whole *float64) *float64 {
	if part == nil || whole == nil || *whole == 0 {
		return nil
	}
	ratio := *part / *whole
	return &ratio
}

// why returns why these jobs have no valid samples.
func (f *snapshot) why(of func(metric.Key) bool) string {
	var failing []string
	ran := false
	for _, j := range f.jobs {
		if !of(j.Last.Key) {
			continue
		}
		ran = true
		switch {
		case j.Last.Err != nil:
			failing = append(failing, "collector "+j.Last.Collector+" of "+j.Last.Target.String()+" fails: "+j.Last.Err.Error())
		case !f.now.Before(j.Good.Until):
			failing = append(failing, "collector "+j.Last.Collector+" of "+j.Last.Target.String()+" has not run since "+j.Good.At.UTC().Format(time.RFC3339))
		}
	}
	switch {
	case len(failing) > 0:
		return strings.Join(failing, "; ")
	case !ran:
		return "its collector has not run here: it may be disabled"
	}
	return "the last runs did not report it"
}

func appendNew(list []string, item string) []string {
	if slices.Contains(list, item) {
		return list
	}
	return append(list, item)
}

// row is a row of a table with its urgency.
type row struct {
	name string
	mark mark
}

// rowsOf returns at most limit rows, worst first, and the number of the other rows.
func rowsOf(names []string, about func(name string) mark, limit int) (rows []row, more int) {
	for _, name := range names {
		rows = append(rows, row{name, about(name)})
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.mark.level, a.mark.level), compareChains(a.name, b.name))
	})
	kept := rows[:min(len(rows), limit)]
	return kept, len(rows) - len(kept)
}

// compareChains sorts the chains of the primary network first, then by name.
func compareChains(a, b string) int {
	const primary = "PXC"
	rank := func(chain string) int {
		if at := strings.Index(primary, chain); len(chain) == 1 && at >= 0 {
			return at
		}
		return len(primary)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}
