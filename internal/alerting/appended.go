package alerting

import (
	"context"
	"sync"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// appended is a sample that was added to a store.
type appended struct {
	labels labels.Labels
	ref    storage.SeriesRef
	at     int64 // in milliseconds
	value  float64
}

// maxRecent is how many samples of a store are kept until they are saved. More are read from the store then, which costs more CPU, but no memory.
const maxRecent = 50_000

// recent are the samples that were added to a store since they were last taken.
type recent struct {
	mu       sync.Mutex
	samples  []appended
	complete bool // whether these are all; not before the first take
}

func (r *recent) add(all []appended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.complete || len(r.samples)+len(all) > maxRecent {
		r.samples, r.complete = nil, false
		return
	}
	r.samples = append(r.samples, all...)
}

// take returns the samples since it was last called, and whether these are all.
func (r *recent) take() (all []appended, complete bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, complete = r.samples, r.complete
	r.samples, r.complete = nil, true
	return all, complete
}

// Appender implements storage.Appendable.
func (s *Store) Appender(ctx context.Context) storage.Appender {
	return &appender{Appender: s.Head.Appender(ctx), transaction: transaction{store: s}}
}

// AppenderV2 implements storage.AppendableV2.
func (s *Store) AppenderV2(ctx context.Context) storage.AppenderV2 {
	return &appenderV2{AppenderV2: s.Head.AppenderV2(ctx), transaction: transaction{store: s, all: make([]appended, 0, s.scraped.Load())}}
}

// transaction are the samples of an appender.
type transaction struct {
	store *Store
	all   []appended
}

func (x *transaction) add(ref storage.SeriesRef, l labels.Labels, t int64, v float64, err error) {
	if err == nil {
		x.all = append(x.all, appended{l, ref, t, v})
	}
}

func (x *transaction) commit(err error) error {
	if err == nil {
		x.store.inputs.add(x.all)
		x.store.recent.add(x.all)
	}
	return err
}

type appender struct {
	storage.Appender
	transaction
}

func (a *appender) Append(ref storage.SeriesRef, l labels.Labels, t int64, v float64) (storage.SeriesRef, error) {
	ref, err := a.Appender.Append(ref, l, t, v)
	a.add(ref, l, t, v, err)
	return ref, err
}

func (a *appender) Commit() error { return a.commit(a.Appender.Commit()) }

type appenderV2 struct {
	storage.AppenderV2
	transaction
}

func (a *appenderV2) Append(ref storage.SeriesRef, l labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram,
	o storage.AppendV2Options,
) (storage.SeriesRef, error) {
	ref, err := a.AppenderV2.Append(ref, l, st, t, v, h, fh, o)
	a.add(ref, l, t, v, err)
	return ref, err
}

func (a *appenderV2) Commit() error {
	a.store.scraped.Store(int64(len(a.all)))
	return a.commit(a.AppenderV2.Commit())
}
