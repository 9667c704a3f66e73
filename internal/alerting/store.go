package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Store keeps samples in memory, in Prometheus' head block. Prometheus' database would also write a log and move full chunks to
// disk. The head block alone writes no files, so a full disk does not affect it (see docs/decisions/alerting.md).
type Store struct {
	*tsdb.Head
	dir     string // removed
	inputs  *inputs
	recent  recent
	scraped atomic.Int64 // samples of the last scrape: the next has as many
}

// OpenStore opens an empty store. It rejects samples that are older than the newest by more than order, at least an hour.
func OpenStore(log *slog.Logger, reg prometheus.Registerer, order time.Duration) (*Store, error) {
	options := tsdb.DefaultHeadOptions()
	options.StripeSize = 1 << 6 // instead of 2^14: the store has a few thousand series, not millions, and each stripe needs 1 KB
	// Instead of 120: a chunk of a series that rarely changes has 128 bytes with 120 samples as with 480. Two hours are one chunk.
	options.SamplesPerChunk = 480
	options.ChunkWriteQueueSize = 0
	options.ChunkRange = max(options.ChunkRange, 2*order.Milliseconds())
	// The head needs an empty directory when it is opened. It does not use the directory afterwards.
	dir, err := emptyDir()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	options.ChunkDirRoot = dir
	head, err := tsdb.NewHead(reg, log, nil, nil, options, nil)
	if err != nil {
		return nil, err
	}
	if err := head.Init(math.MinInt64); err != nil {
		return nil, err
	}
	return &Store{Head: head, dir: dir, inputs: newInputs()}, nil
}

// emptyDir creates a temporary directory. It tries several parent directories, because a restarted exporter must alert even if
// a disk is full.
func emptyDir() (string, error) {
	var errs []error
	for _, parent := range []string{"/dev/shm", os.Getenv("RUNTIME_DIRECTORY"), os.TempDir(), os.Getenv("STATE_DIRECTORY")} {
		if !filepath.IsAbs(parent) {
			continue
		}
		dir, err := os.MkdirTemp(parent, "avax-exporter-")
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("cannot create a temporary directory: set TMPDIR to a directory that this user may write: %w", errors.Join(errs...))
}

// Querier implements storage.Queryable as tsdb.DB does. If samples in the range are being dropped, the querier starts after
// these samples.
func (s *Store) Querier(mint, maxt int64) (storage.Querier, error) {
	if maxt < s.MinTime() {
		return storage.NoopQuerier(), nil
	}
	q, err := tsdb.NewBlockQuerier(tsdb.NewRangeHead(s.Head, mint, maxt), mint, maxt)
	if err != nil {
		return nil, err
	}
	closeFirst, reopen, from := s.IsQuerierCollidingWithTruncation(mint, maxt)
	if !closeFirst && !reopen {
		return newestQuerier{q, s.inputs}, nil
	}
	if closeFirst {
		if err := q.Close(); err != nil {
			return nil, err
		}
	}
	if !reopen {
		return storage.NoopQuerier(), nil
	}
	return tsdb.NewBlockQuerier(tsdb.NewRangeHead(s.Head, from, maxt), from, maxt)
}

// moved returns a new store with the samples of the last minHistory before a time, each moved in time by this duration.
func (s *Store) moved(log *slog.Logger, before time.Time, by time.Duration) (*Store, error) {
	to, err := OpenStore(log, prometheus.NewRegistry(), minHistory+2*Lookback)
	if err != nil {
		return nil, err
	}
	q, err := s.Querier(before.Add(-minHistory-Lookback).UnixMilli(), before.UnixMilli())
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	defer q.Close()
	var it chunkenc.Iterator
	set := q.Select(context.Background(), false, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	for set.Next() {
		app := to.Appender(context.Background())
		l := set.At().Labels()
		stamp := isStamp(l.Get(model.MetricNameLabel))
		it = set.At().Iterator(it)
		for ref := storage.SeriesRef(0); it.Next() == chunkenc.ValFloat; {
			t, v := it.At()
			if stamp && v <= float64(t)/1000 && v > 0 { // not a stale marker, nor a time to come, such as the end of a period
				v += by.Seconds()
			}
			ref, _ = app.Append(ref, l, t+by.Milliseconds(), v) // a sample that is too old is not needed
		}
		if err := app.Commit(); err != nil {
			return nil, errors.Join(err, to.Close())
		}
	}
	return to, set.Err()
}

// isStamp reports whether the values of a series are times that this machine's clock gave to what has happened: the starts of alerts, and records such
// as avax:node_down_since_timestamp_seconds. The exporter's own families are scraped again.
func isStamp(name string) bool {
	return name == forState || strings.Contains(name, ":") && strings.HasSuffix(name, "_timestamp_seconds")
}

// drop deletes samples older than the sum of history and Lookback.
func (s *Store) drop(now time.Time, history time.Duration) error {
	before := now.Add(-history - Lookback).UnixMilli()
	s.inputs.drop(before)
	return s.Truncate(before)
}

// age returns the age of the oldest sample.
func (s *Store) age() time.Duration {
	if from, to := s.MinTime(), s.MaxTime(); from < to {
		return time.Duration(to-from) * time.Millisecond
	}
	return 0
}

// History returns the age of the oldest sample.
func (a *Alerting) History() time.Duration { return a.current().store.age() }

// Close releases the memory. It first drops all chunks. Otherwise Head.Close would write the chunks to disk, and would panic if
// the disk is full.
func (s *Store) Close() error {
	if err := s.Truncate(math.MaxInt64); err != nil {
		return err
	}
	return s.Head.Close()
}
