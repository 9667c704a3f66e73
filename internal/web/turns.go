package web

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// How long a scrape waits for its turn, and how long a scraper that does not
// read keeps its turn while others wait.
const (
	longestWait  = 5 * time.Second
	stalledAfter = 500 * time.Millisecond
)

// scrapeTurns are held by scrapes in progress, so many at most. A scraper that does not
// read on loses its turn, and its connection, to one that waits. A connection
// has one turn, or waits for one.
type scrapeTurns struct {
	free chan struct{} // has a value for each turn that nobody holds; the first to wait is the first to get one

	mu    sync.Mutex
	held  map[*scrapeTurn]bool
	comes map[string]bool // connections of HTTP/2 that hold a turn or wait for one
}

func newScrapeTurns(n int) *scrapeTurns {
	t := &scrapeTurns{free: make(chan struct{}, n), held: map[*scrapeTurn]bool{}, comes: map[string]bool{}}
	for range n {
		t.free <- struct{}{}
	}
	return t
}

// scrapeTurn writes an answer while it is held.
type scrapeTurn struct {
	http.ResponseWriter
	all  *scrapeTurns
	from string // its connection, of HTTP/2

	mu    sync.Mutex
	since time.Time // of the write in progress; zero: none
}

// take waits for a turn.
func (t *scrapeTurns) take(w http.ResponseWriter, r *http.Request) (*scrapeTurn, error) {
	turn := &scrapeTurn{ResponseWriter: w, all: t}
	if r.ProtoMajor > 1 { // with HTTP/1 there is one request at a time
		turn.from = r.RemoteAddr
	}
	if !t.enter(turn.from) {
		return nil, errors.New("the last scrape over this connection is under way")
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
			return errors.New(strconv.Itoa(cap(t.free)) + " scrapes are under way: are there scrapers that read slowly?")
		}
	}
}

// cutStalled takes the turns of those who do not read.
func (t *scrapeTurns) cutStalled() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for turn := range t.held {
		if turn.stalled() {
			_ = http.NewResponseController(turn.ResponseWriter).SetWriteDeadline(time.Now()) // ends the write
		}
	}
}

func (t *scrapeTurn) stalled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.since.IsZero() && time.Since(t.since) >= stalledAfter
}

// mostWritten is how much is written at a time, in bytes: a scraper is slow that takes longer for it than stalledAfter.
const mostWritten = 64 << 10

// Write notes since when it waits for the reader.
func (t *scrapeTurn) Write(text []byte) (n int, err error) {
	for len(text) > 0 && err == nil {
		var wrote int
		t.begin(time.Now())
		wrote, err = t.ResponseWriter.Write(text[:min(len(text), mostWritten)])
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

// Unwrap gives http.ResponseController the writer itself.
func (t *scrapeTurn) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// end gives the turn to the next.
func (t *scrapeTurn) end() {
	t.all.mu.Lock()
	delete(t.all.held, t)
	delete(t.all.comes, t.from)
	t.all.mu.Unlock()
	t.all.free <- struct{}{}
}

// turns are held by requests in progress, so many at most.
type turns chan struct{}
