package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// How long a scrape waits for a slot, and how long a stalled scraper keeps its slot while other scrapers wait.
const (
	longestWait  = 5 * time.Second
	stalledAfter = 500 * time.Millisecond
)

// scrapeTurns limits concurrent scrapes with slots. A stalled scraper loses its slot and its connection if another scraper
// waits. A connection can have, or wait for, only one slot.
type scrapeTurns struct {
	free chan struct{} // holds a value for each free slot; the first scraper that waits gets the next slot

	mu    sync.Mutex
	held  map[*scrapeTurn]bool
	comes map[string]bool // HTTP/2 connections that have a slot or wait for a slot
}

func newScrapeTurns(n int) *scrapeTurns {
	t := &scrapeTurns{free: make(chan struct{}, n), held: map[*scrapeTurn]bool{}, comes: map[string]bool{}}
	for range n {
		t.free <- struct{}{}
	}
	return t
}

// scrapeTurn writes an answer while it has a slot.
type scrapeTurn struct {
	http.ResponseWriter
	all  *scrapeTurns
	from string // HTTP/2 connection; empty for HTTP/1

	mu    sync.Mutex
	since time.Time // start of the write in progress; zero: no write in progress
}

// take waits for a slot.
func (t *scrapeTurns) take(w http.ResponseWriter, r *http.Request) (*scrapeTurn, error) {
	turn := &scrapeTurn{ResponseWriter: w, all: t}
	if r.ProtoMajor > 1 { // an HTTP/1 connection has only one request at a time
		turn.from = r.RemoteAddr
	}
	if !t.enter(turn.from) {
		return nil, errors.New("the previous scrape over this connection is still in progress")
	}
	if err := t.wait(r.Context()); err != nil {
		t.leave(turn.from)
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held[turn] = true
	return turn, nil
}

func (t *scrapeTurns) enter(from string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if from == "" {
		return true
	}
	if t.comes[from] {
		return false
	}
	t.comes[from] = true
	return true
}

func (t *scrapeTurns) leave(from string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.comes, from)
}

func (t *scrapeTurns) wait(ctx context.Context) error {
	select {
	case <-t.free:
		return nil
	default:
	}
	look := time.NewTicker(stalledAfter / 2)
	defer look.Stop()
	end := time.NewTimer(longestWait)
	defer end.Stop()
	for {
		t.cutStalled()
		select {
		case <-t.free:
			return nil
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return errors.New(strconv.Itoa(cap(t.free)) + " scrapes are in progress: check for scrapers that read slowly")
		}
	}
}

// cutStalled ends the scrapes whose scrapers do not read.
func (t *scrapeTurns) cutStalled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for turn := range t.held {
		if turn.stalled() {
			_ = http.NewResponseController(turn.ResponseWriter).SetWriteDeadline(time.Now()) // ends the write in progress
		}
	}
}

func (t *scrapeTurn) stalled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.since.IsZero() && time.Since(t.since) >= stalledAfter
}

// maxWritten is the number of bytes per write. A scraper is stalled if it takes longer than stalledAfter to read them.
const maxWritten = 64 << 10

// Write records the start of each write.
func (t *scrapeTurn) Write(text []byte) (n int, err error) {
	for len(text) > 0 && err == nil {
		var wrote int
		t.begin(time.Now())
		wrote, err = t.ResponseWriter.Write(text[:min(len(text), maxWritten)])
		t.begin(time.Time{})
		n, text = n+wrote, text[wrote:]
	}
	return n, err
}

func (t *scrapeTurn) begin(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = at
}

// Unwrap returns the writer for http.ResponseController.
func (t *scrapeTurn) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// end releases the slot.
func (t *scrapeTurn) end() {
	t.all.mu.Lock()
	delete(t.all.held, t)
	delete(t.all.comes, t.from)
	t.all.mu.Unlock()
	t.all.free <- struct{}{}
}
