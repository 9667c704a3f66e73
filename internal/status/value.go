package status

import (
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/words"
)

// Value is a number that a run reported, with its family. If it is absent, Known is false, and V means nothing.
type Value struct {
	V      float64
	Known  bool
	At     time.Time // start of the run
	Family *metric.Family
	Period time.Duration // of the job
}

// Is reports whether the value is known and equals x.
func (v Value) Is(x float64) bool { return v.Known && v.V == x }

// Recent reports whether the value is known, and no later run is overdue: a run may take half a period.
func (v Value) Recent(now time.Time) bool { return v.Known && now.Sub(v.At) <= v.Period*3/2 }

// Or returns the value if it is known, else the other one.
func (v Value) Or(other Value) Value {
	if v.Known {
		return v
	}
	return other
}

// Of returns the ratio of the value and a whole; absent if one of them is absent.
func (v Value) Of(whole Value) Value {
	v.Known = v.Known && whole.Known && whole.V != 0
	if v.Known {
		v.V /= whole.V
	}
	return v
}

// Text formats the value. An absent value is a dash.
func (v Value) Text(format func(float64) string) string {
	if !v.Known {
		return "–"
	}
	return format(v.V)
}

// Moment formats Unix seconds relative to a time.
func (v Value) Moment(now time.Time) string {
	return v.Text(func(unix float64) string { return words.Since(now, words.UnixTime(unix)) })
}

// family is a family with the labels that say what a sample is about. A wrong name or label ends the program when it starts.
type family struct {
	*metric.Family
	labels []string
}

func read(name string, labels ...string) family {
	return family{collectors.MustFamily(name, labels...), labels}
}

// samples are the unexpired samples of all jobs, by family.
type samples map[string][]chunk

// chunk is the samples of one family in one run.
type chunk struct {
	*metric.Chunk
	run *metric.Run
}

// samplesAt returns the samples of one time that count. At the zero time none has expired, and all count. If families are given, it returns only theirs.
func samplesAt(jobs []*metric.Job, now time.Time, only ...family) samples {
	all, voices := samples{}, voicesOf(jobs, now)
	for _, j := range jobs {
		if !voices.count(j.Good) {
			continue
		}
		chunks := j.Fresh(now)
		for i := range chunks {
			name := chunks[i].Family.Name
			if len(only) == 0 || slices.ContainsFunc(only, func(f family) bool { return f.Name == name }) {
				all[name] = append(all[name], chunk{&chunks[i], j.Good})
			}
		}
	}
	return all
}

// sample is a sample with the values of its family's labels.
type sample struct {
	Value
	labels []string // valid only during the call that gets the sample
	run    *metric.Run
}

// each calls do with every sample of a family.
func (all samples) each(f family, do func(sample)) {
	labels := make([]string, len(f.labels))
	at := make([]int, len(f.labels))
	for _, c := range all[f.Name] {
		for i, name := range f.labels {
			at[i] = slices.Index(c.Family.Labels, name)
		}
		for _, s := range c.Samples {
			for i, from := range at {
				if labels[i] = ""; from >= 0 {
					labels[i] = s.Labels[from]
				}
			}
			do(sample{Value{s.Value, true, c.run.At, f.Family, c.run.Period}, labels, c.run})
		}
	}
}

// field is a field of a type that has the value of a family.
type field[T any] struct {
	family
	of func(*T) *Value
}

// entry returns the entry of a map, which it adds if there is none.
func entry[K comparable, T any](all map[K]*T, key K, add func() *T) *T {
	if all[key] == nil {
		all[key] = add()
	}
	return all[key]
}

// connections returns how many nodes and observers report whether they are connected to a validator, and how many are, by the ID of the validator. Nodes that
// lack peers themselves do not count.
func (st *Status) connections(f family) (viewers, connected map[string]int) {
	is := map[[2]string]bool{} // by ID and viewer
	st.samples.each(f, func(s sample) {
		pair := [2]string{s.labels[0], s.labels[1]}
		if n := st.nodeByName[pair[1]]; n == nil || !n.shortOfStake() {
			is[pair] = is[pair] || s.V == 1
		}
	})
	viewers, connected = map[string]int{}, map[string]int{}
	for pair, yes := range is {
		viewers[pair[0]]++
		if yes {
			connected[pair[0]]++
		}
	}
	return viewers, connected
}

// absent sets the family of every field. All are absent.
func absent[T any](fields []field[T], t *T) {
	for _, f := range fields {
		*f.of(t) = Value{Family: f.Family}
	}
}

// fill sets the fields. find returns what the labels of a sample are about; it may be nil.
func fill[T any](all samples, fields []field[T], find func(labels []string) *T) {
	for _, f := range fields {
		all.each(f.family, func(s sample) {
			if t := find(s.labels); t != nil {
				*f.of(t) = s.Value
			}
		})
	}
}
