package alerting

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/tsdb/record"
	"github.com/prometheus/prometheus/util/compression"

	"github.com/avax-exporter/avax-exporter/internal/files"
	"github.com/avax-exporter/avax-exporter/internal/state"
)

const (
	// partEvery is the time after which the history continues in a new file. Each file names its series, so that old files can be deleted.
	partEvery = 15 * time.Minute
	// syncEvery is the time between two flushes to the disk. A power failure loses at most this time.
	syncEvery = time.Minute
	// batch is the maximum number of samples in a record.
	batch = 10_000
	// maxRecord is the maximum size of a record in bytes: a batch in which each sample is the first of a series with long labels.
	maxRecord = 64 << 20
	// ahead is how far in the future a saved sample may be. Samples further ahead were written with a wrong clock.
	ahead = time.Minute
	// partSuffix is the end of the name of a file. The name begins with the time of the first write in Unix milliseconds.
	partSuffix = ".samples"
)

// history writes the samples of a store to files, and reads them after a restart. The records are those of Prometheus' write-ahead log.
// Unlike that log, history writes the samples after the fact. So a disk that is full, slow or hung does not affect the store. After an error, the next
// save reads from the store what is missing.
type history struct {
	log  *slog.Logger
	dir  *state.Dir
	path string        // empty: nothing is written
	part time.Duration // after which it continues in a new file
	// instance is the present name of this exporter; empty: the samples keep the name that they have.
	instance string

	file    *os.File // nil: the next save begins a file
	size    int64    // of the file
	began   time.Time
	opened  time.Time // when the first file began
	synced  time.Time
	refs    map[uint64]chunks.HeadSeriesRef // by hash of the labels: the series that the file names
	written map[uint64]int64                // by hash of the labels: time of the last written sample
	buffer  compression.EncodeBuffer
	behind  bool // the last save failed
}

// newHistory returns a history in a subdirectory, which continues in a new file after the time part.
func newHistory(dir *state.Dir, log *slog.Logger, name string, part time.Duration) *history {
	h := &history{log: log, dir: dir, part: part, written: map[uint64]int64{}, buffer: compression.NewSyncEncodeBuffer()}
	if path := dir.Path(); path != "" {
		h.path = filepath.Join(path, name)
	}
	return h
}

// parts returns the files, oldest first.
func (h *history) parts() (all []string, err error) {
	entries, err := os.ReadDir(h.path)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partSuffix) {
			all = append(all, filepath.Join(h.path, e.Name()))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(began(a), began(b)) })
	return all, err
}

// load appends the saved samples to an empty store. It sets aside a damaged file. It returns an error if samples cannot be read now.
func (h *history) load(s *Store, now time.Time) error {
	if h.path == "" {
		return nil
	}
	parts, err := h.parts()
	if err != nil {
		return err
	}
	var errs []error
	for i, part := range parts {
		if began(part) > now.Add(ahead).UnixMilli() {
			h.log.Warn("saved samples are from the future", "file", part, "files", len(parts)-i, "effect", "they are not read; is the clock right?")
			break
		}
		read, err := h.read(part, s, now.Add(ahead))
		switch {
		case err == nil:
		case state.Passing(err):
			errs = append(errs, err)
		case read > 0: // the process was killed during a write
			h.log.Info("saved samples end early", "file", part, "err", err)
		default:
			h.dir.SetAside(part, err)
		}
	}
	return errors.Join(errs...)
}

// read appends the samples of a file until a time, and returns their number.
func (h *history) read(part string, s *Store, until time.Time) (read int, err error) {
	f, err := files.Open(part)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	type series struct {
		labels labels.Labels
		ref    storage.SeriesRef
	}
	known := map[chunks.HeadSeriesRef]*series{}
	var named []record.RefSeries
	var samples []record.RefSample
	decoder := record.NewDecoder(nil, h.log)
	buffer := bufio.NewReaderSize(f, 64<<10)
	for {
		content, err := readRecord(buffer)
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return read, fmt.Errorf("%s: %w", part, err)
		}
		switch decoder.Type(content) {
		case record.Series:
			if named, err = decoder.Series(content, named[:0]); err != nil {
				return read, fmt.Errorf("%s: %w", part, err)
			}
			for _, n := range named {
				known[n.Ref] = &series{labels: h.own(n.Labels)}
			}
		case record.Samples:
			if samples, err = decoder.Samples(content, samples[:0]); err != nil {
				return read, fmt.Errorf("%s: %w", part, err)
			}
			app := s.Appender(context.Background())
			for _, r := range samples {
				one := known[r.Ref]
				if one == nil || r.T > until.UnixMilli() {
					continue
				}
				if one.ref, err = app.Append(one.ref, one.labels, r.T, r.V); err == nil { // not a sample that was written twice
					h.written[one.labels.Hash()] = r.T
					read++
				}
			}
			if err := app.Commit(); err != nil {
				return read, err
			}
		default:
			return read, fmt.Errorf("%s: unknown record", part)
		}
	}
}

// own returns the labels of a series under this exporter's name. The stored samples are its own: under another name, such as that of a container before
// it was created again, they would be those of a replica, and what this replica saw last would count for minutes. Alerts keep the labels that were
// sent, so that they can be resolved.
func (h *history) own(l labels.Labels) labels.Labels {
	name := l.Get(model.MetricNameLabel)
	if h.instance == "" || !l.Has(model.InstanceLabel) || name == "ALERTS" || name == forState {
		return l
	}
	return labels.NewBuilder(l).Set(model.InstanceLabel, h.instance).Labels()
}

// A record in a file is its length and its checksum, each of four bytes, and the compressed record.
var checksums = crc32.MakeTable(crc32.Castagnoli)

func appendRecord(b, content []byte, buffer compression.EncodeBuffer) ([]byte, error) {
	packed, err := compression.Encode(compression.Snappy, content, buffer)
	if err != nil {
		return nil, err
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(packed)))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(packed, checksums))
	return append(b, packed...), nil
}

func readRecord(r io.Reader) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(head[:4])
	if length > maxRecord {
		return nil, errors.New("the length of a record is wrong")
	}
	packed := make([]byte, length)
	if _, err := io.ReadFull(r, packed); err != nil {
		return nil, fmt.Errorf("the last record is incomplete: %w", io.ErrUnexpectedEOF)
	}
	if crc32.Checksum(packed, checksums) != binary.BigEndian.Uint32(head[4:]) {
		return nil, errors.New("the checksum of a record is wrong")
	}
	return compression.Decode(compression.Snappy, packed, compression.NewSyncDecodeBuffer())
}

// save writes the samples that are not written yet. When it begins a file, it deletes the files with samples older than keep only.
func (h *history) save(s *Store, keep time.Duration) error {
	if h.path == "" {
		return nil
	}
	if err := h.dir.Lock(); err != nil {
		return err
	}
	now := time.Now()
	if h.file != nil {
		if _, err := os.Stat(h.file.Name()); err != nil || now.Sub(h.began) >= h.part {
			h.close()
		}
	}
	if h.file == nil {
		if err := h.begin(now); err != nil {
			return h.reason(err)
		}
		h.expire(now, keep)
		maps.DeleteFunc(h.written, func(_ uint64, at int64) bool { return at < s.MinTime() }) // of series that have ended
	}
	err := h.append(s)
	h.behind = err != nil
	if err == nil && now.Sub(h.synced) >= syncEvery {
		h.synced, err = now, h.file.Sync()
	}
	if err != nil {
		h.close()
	}
	return h.reason(err)
}

// reason returns the error without the name of the file, because that name is different each time.
func (h *history) reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", h.path, path.Err)
	}
	return err
}

// begin creates a file.
func (h *history) begin(now time.Time) (err error) {
	if err := os.MkdirAll(h.path, 0o700); err != nil {
		return err
	}
	for at := now.UnixMilli(); ; at++ {
		name := filepath.Join(h.path, strconv.FormatInt(at, 10)+partSuffix)
		h.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	h.size, h.began, h.synced, h.refs = 0, now, now, map[uint64]chunks.HeadSeriesRef{}
	if h.opened.IsZero() {
		h.opened = now
	}
	return nil
}

// close ends the file. It removes an empty one.
func (h *history) close() {
	if h.file == nil {
		return
	}
	if h.size == 0 {
		_ = os.Remove(h.file.Name())
	}
	_ = h.file.Close() // what is not on disk yet is written by the system
	h.file, h.refs = nil, nil
}

// append writes the samples that are not written yet.
func (h *history) append(s *Store) error {
	var encoder record.Encoder
	var named []record.RefSeries
	var samples []record.RefSample
	last := map[uint64]int64{}
	flush := func() error {
		var content []byte
		var err error
		if len(named) > 0 {
			content, err = appendRecord(content, encoder.Series(named, nil), h.buffer)
		}
		if len(samples) > 0 && err == nil {
			content, err = appendRecord(content, encoder.Samples(samples, nil), h.buffer)
		}
		if err != nil {
			return err
		}
		if n, err := h.file.WriteAt(content, h.size); err != nil {
			if n > 0 {
				_ = h.file.Truncate(h.size)
			}
			return err
		}
		h.size += int64(len(content))
		for hash, at := range last {
			h.written[hash] = at
		}
		named, samples, last = named[:0], samples[:0], map[uint64]int64{}
		return nil
	}
	add := func(l labels.Labels, t int64, v float64) error {
		hash := l.Hash()
		if t <= max(h.written[hash], last[hash]) {
			return nil
		}
		ref, known := h.refs[hash]
		if !known {
			ref = chunks.HeadSeriesRef(len(h.refs) + 1)
			h.refs[hash] = ref
			named = append(named, record.RefSeries{Ref: ref, Labels: l})
		}
		samples = append(samples, record.RefSample{Ref: ref, T: t, V: v})
		if last[hash] = t; len(samples) >= batch {
			return flush()
		}
		return nil
	}
	recent, complete := s.recent.take()
	if h.behind || !complete {
		if err := h.all(s, add); err != nil {
			return err
		}
	} else {
		for _, a := range recent {
			if err := add(a.labels, a.at, a.value); err != nil {
				return err
			}
		}
	}
	return flush()
}

// all calls the function for each sample in the store that is not written yet.
func (h *history) all(s *Store, add func(labels.Labels, int64, float64) error) error {
	q, err := s.Querier(s.MinTime(), s.MaxTime())
	if err != nil {
		return err
	}
	defer q.Close()
	var it chunkenc.Iterator
	set := q.Select(context.Background(), false, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	for set.Next() {
		l := set.At().Labels()
		it = set.At().Iterator(it)
		for kind := it.Seek(h.written[l.Hash()] + 1); kind == chunkenc.ValFloat; kind = it.Next() {
			t, v := it.At()
			if err := add(l, t, v); err != nil {
				return err
			}
		}
	}
	return set.Err()
}

// expire deletes the files whose samples are all older than keep, and files from the future, which were written with a wrong clock. At a start the
// present clock may be the wrong one, until it is synchronized: files from the future are only deleted later.
func (h *history) expire(now time.Time, keep time.Duration) {
	parts, _ := h.parts()
	for i, part := range parts {
		switch {
		case part == h.file.Name():
		case began(part) > began(h.file.Name()):
			if now.Sub(h.opened) >= partEvery {
				h.log.Warn("saved samples from the future removed", "file", part)
				_ = os.Remove(part)
			}
		case i+1 < len(parts) && began(parts[i+1]) < now.Add(-keep).UnixMilli():
			_ = os.Remove(part)
		}
	}
}

// began returns when a file was begun, in Unix milliseconds.
func began(part string) int64 {
	ms, _ := strconv.ParseInt(strings.TrimSuffix(filepath.Base(part), partSuffix), 10, 64)
	return ms
}

// restart deletes all files, because the clock was set back: the next save writes the samples with their new times.
func (h *history) restart() {
	h.close()
	parts, _ := h.parts()
	for _, part := range parts {
		_ = os.Remove(part)
	}
	h.written = map[uint64]int64{}
}

// saver runs history in the background, because a disk may hang.
type saver struct {
	*history
	week    *longStore
	quarter *longStore
	moments *moments
	metrics *Metrics
	idle    chan struct{} // holds an element while nothing is written
	since   time.Time     // start of the write in progress, if idle is empty
	err     string        // last error
}

// maxSave is the longest duration of a write that is not reported.
const maxSave = time.Minute

func newSaver(h *history, week, quarter *longStore, kept *moments, m *Metrics) *saver {
	s := &saver{history: h, week: week, quarter: quarter, moments: kept, metrics: m, idle: make(chan struct{}, 1)}
	s.idle <- struct{}{}
	m.saved.Set(1) // until a write fails
	return s
}

func (s *saver) long() []*longStore { return []*longStore{s.week, s.quarter} }

// load reads the saved samples.
func (s *saver) load(store *Store) {
	errs := []error{s.history.load(store, time.Now())}
	for _, l := range s.long() {
		errs = append(errs, l.load(l.store, time.Now()))
	}
	s.note(errors.Join(errs...), "alert history not read")
}

// save writes the samples in the background, unless the previous write has not ended.
func (s *saver) save(store *Store, keep time.Duration) {
	select {
	case <-s.idle:
		s.since = time.Now()
		go func() {
			errs := []error{s.history.save(store, keep), s.moments.save()}
			for _, l := range s.long() {
				errs = append(errs, l.save(l.samples(), l.keep))
			}
			s.note(errors.Join(errs...), "alert state not saved")
			s.idle <- struct{}{}
		}()
	default:
		if time.Since(s.since) > maxSave {
			s.metrics.saved.Set(0)
		}
	}
}

// last writes the samples before the process ends. It reports whether it did within drainFor.
func (s *saver) last(store *Store, keep time.Duration) bool {
	late := time.After(drainFor)
	for range 2 { // the write in progress, and one more
		s.save(store, keep)
		select {
		case <-s.idle:
			s.idle <- struct{}{}
		case <-late:
			return false
		}
	}
	s.history.close()
	for _, l := range s.long() {
		l.close()
	}
	return true
}

// restart deletes the files, because the clock was set back.
func (s *saver) restart() {
	<-s.idle
	s.history.restart()
	for _, l := range s.long() {
		if err := l.setBack(time.Now()); err != nil {
			s.log.Error("long history not dropped", "err", err)
		}
	}
	s.idle <- struct{}{}
}

// note reports an error once, until it changes.
func (s *saver) note(err error, message string) {
	saved, text := 1.0, ""
	if err != nil {
		saved, text = 0, err.Error()
	}
	s.metrics.saved.Set(saved)
	if text != s.err && text != "" {
		s.log.Warn(message, "err", err)
	}
	s.err = text
}
