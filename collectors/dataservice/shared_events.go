package dataservice

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// newRead declares the family that says how far a list of events was read.
func newRead(name, what string, labels ...string) *metric.Family {
	return metric.New(name, "Time up to which the exporter has read the list of "+what+
		" to its end, in Unix seconds. If this time is older than two periods of the collector, the Data service fails, or the list has more events than the "+
		"exporter reads at once. The exporter continues, and loses none. Absent until the list was read once.", labels...)
}

// eventCursor is how far a list of events of the Data service was read. It is a part of a stored value.
//
// A pass reads a list from a position to its end, in any order. A position is a block number or a time in Unix seconds. Every pass
// reads the last hour again, and one pass per hour the last two days, because the service may index events late. A pass also begins
// no later than the newest event, because the service may index nothing for days. An event that is dated after the clock, or after
// the newest block of the nodes, does not count as the newest. A pass that a limit or an error stops continues in the next run.
type eventCursor struct {
	Start     time.Time // earlier events do not count
	Read      time.Time // start of the last pass that reached the end of the list
	Rescanned time.Time // start of the last such pass over rescanWindow
	Pass      *pass     // not finished; nil: none

	Newest int64 // position of the newest event; 0: none

	Heads    []headAt           // newest block of the nodes at some times, oldest first; empty for a list by time
	Counted  map[string]counted // events that a later pass may read again, by hash of their ID
	LowWater int64              // no pass begins below this position

	future int // events of this run that are dated in the future
}

type pass struct {
	Began  time.Time
	Rescan bool
	From   int64          // position of the first event
	Until  int64          // block after the last one; 0: no limit
	Seen   map[string]int // copies of events without an ID of their own, by hash
	Again  int            // listed events that were not new, also on an earlier page of this pass

	Pages map[string]bool // pages of events without an ID of their own, by hash

	scrape.Place
}

type headAt struct {
	At     time.Time
	Height uint64
}

type counted struct {
	At     int64 // position
	Copies int   // number of equal events; 0 for an event with an ID of its own
}

const (
	rereadWindow = time.Hour
	rescanWindow = 48 * time.Hour
	rescanEvery  = time.Hour
	// maxNewPages is the maximum number of pages of a list that one run reads.
	maxNewPages = 20
	// maxCounted is the maximum number of events that a pass may read again. They take half of the space of a stored value.
	maxCounted = 15_000
	// maxAgain is the maximum number of events that a pass may read again, beyond twice those that are known: pages overlap while a list grows.
	maxAgain = 5_000
	// maxAhead is the difference between clocks that does not count as a wrong date.
	maxAhead = 10 * time.Minute
	// headEvery is the shortest time between two of the stored heads.
	headEvery = 10 * time.Minute
)

// begin starts a pass, unless one is in progress. head is the newest block of the nodes. It is 0 for a list by time, or if no node
// answers.
func (l *eventCursor) begin(now time.Time, head uint64) *pass {
	if l.Start.IsZero() {
		l.Start = now
	}
	if n := len(l.Heads); head > 0 && (n == 0 || now.Sub(l.Heads[n-1].At) >= headEvery) {
		l.Heads = append(l.Heads, headAt{now, head})
	}
	if l.Pass == nil {
		p := &pass{Began: now, Rescan: now.Sub(l.Rescanned) >= rescanEvery}
		since := l.Read.Add(-rereadWindow)
		if p.Rescan {
			since = l.Rescanned.Add(-rescanWindow)
		}
		newest := l.Newest
		if newest == 0 {
			newest = l.positionAt(l.Start)
		}
		p.From = max(min(l.positionAt(later(l.Start, since)), newest), l.LowWater)
		if head > 0 {
			p.Until = int64(head) + 1
		}
		l.Pass = p
	}
	return l.Pass
}

// positionAt returns the position of a time.
func (l *eventCursor) positionAt(t time.Time) int64 {
	if len(l.Heads) == 0 {
		return t.Unix()
	}
	known := l.Heads[0]
	for _, h := range l.Heads {
		if !h.At.After(t) {
			known = h
		}
	}
	return int64(known.Height)
}

// end ends the pass at the end of the list.
func (l *eventCursor) end() {
	p := l.Pass
	l.Read, l.Pass = p.Began, nil
	if !p.Rescan {
		return
	}
	l.Rescanned = p.Began
	for id, c := range l.Counted {
		if c.At < p.From {
			delete(l.Counted, id)
		}
	}
	for len(l.Heads) > 1 && !l.Heads[1].At.After(l.Rescanned.Add(-rescanWindow)) {
		l.Heads = l.Heads[1:]
	}
}

// isNew reports whether an event was not counted before, and stores that it is counted now. Events are equal if they have the same
// id. If copies is set, equal events on the pages of one pass are different events.
func (l *eventCursor) isNew(id string, at int64, copies bool) bool {
	if l.Counted == nil {
		l.Counted = map[string]counted{}
	}
	if copies {
		id = fmt.Sprint(id, " ", at)
	}
	hash := hashOf(id)
	before, known := l.Counted[hash]
	if !copies {
		if known || at < l.Pass.From {
			l.Pass.Again++
			return false
		}
		l.Counted[hash] = counted{At: at}
		return true
	}
	if l.Pass.Seen == nil {
		l.Pass.Seen = map[string]int{}
	}
	if l.Pass.Seen[hash]++; l.Pass.Seen[hash] <= before.Copies || at < l.Pass.From {
		l.Pass.Again++
		return false
	}
	l.Counted[hash] = counted{at, l.Pass.Seen[hash]}
	return true
}

func hashOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawStdEncoding.EncodeToString(sum[:8])
}

// repeats reports whether a page of events without an ID of their own is an earlier page of the pass. Its events must not count again. A page of
// equal events may occur twice, because a transaction can contain many identical calls.
func (l *eventCursor) repeats(ids []string) bool {
	hash, p := hashOf(strings.Join(ids, "\n")), l.Pass
	if p.Pages[hash] && len(slices.Compact(slices.Sorted(slices.Values(ids)))) > 1 {
		p.Again += len(ids)
		return true
	}
	if p.Pages == nil {
		p.Pages = map[string]bool{}
	}
	p.Pages[hash] = true
	return false
}

// endless returns an error if the pass has read more known events than there are: the pages of the list repeat with new tokens. The next run then
// begins a new pass.
func (l *eventCursor) endless(op string) error {
	p := l.Pass
	if p.Again <= 2*len(l.Counted)+maxAgain {
		return nil
	}
	l.Pass = nil
	return scrape.BadPage(op, fmt.Errorf("the pages repeat: %d listed events were not new, and %d are known", p.Again, len(l.Counted)))
}

// notePosition stores the position of an event, and reports whether the event is dated in the future. newest is the newest possible position.
func (l *eventCursor) notePosition(at, newest int64) (future bool) {
	if at <= newest {
		l.Newest = max(l.Newest, at)
		return false
	}
	if len(l.Heads) == 0 && at <= newest+int64(maxAhead.Seconds()) {
		return false
	}
	l.future++
	return true
}

// dropOldest limits the memory of counted events. It forgets the oldest, and no later pass reads them again.
func (l *eventCursor) dropOldest() {
	if len(l.Counted) <= maxCounted {
		return
	}
	var positions []int64
	for _, c := range l.Counted {
		positions = append(positions, c.At)
	}
	slices.Sort(positions)
	l.LowWater = max(l.LowWater, positions[len(positions)-maxCounted])
	for id, c := range l.Counted {
		if c.At < l.LowWater {
			delete(l.Counted, id)
		}
	}
}

// readPass requests the pages of the pass, and calls use for the items of each page. It returns at the end of the list, after maxNewPages, or
// after an error. use reports whether the rest of the list is older than the pass.
func readPass[T any](ctx context.Context, l *eventCursor, op string, out *metric.Batch,
	page func(context.Context, *pass) (data.Page[T], error), use func([]T) (done bool)) (ended bool, err error) {
	defer l.dropOldest()
	p := l.Pass
	restart := func() { p.Seen, p.Pages, p.Again = nil, nil, 0 } // events that were counted stay counted
	var endless error
	ended, err = data.ReadPages(ctx, op, maxNewPages, &p.Place, restart, func(ctx context.Context, _ string) (data.Page[T], error) {
		return page(ctx, p)
	}, func(found []data.Item[T]) (fresh int, done bool) {
		var items []T
		for _, item := range found {
			if item.Err != nil {
				out.Note("skipped malformed items: %v", item.Err)
				continue
			}
			items = append(items, item.Value)
		}
		done = use(items)
		endless = l.endless(op)                   // it counts over several runs
		return len(found), done || endless != nil // all count as new: endless finds repeated pages itself
	})
	switch {
	case endless != nil:
		return false, endless
	case err != nil:
		return false, err
	case ended:
		l.end()
	default:
		out.Note("more events than one run reads: the next run continues")
	}
	return ended, nil
}

// set exports how far the list was read, and notes events that are dated in the future.
func (l *eventCursor) set(out *metric.Batch, read *metric.Family, labels ...string) {
	if l.future > 0 {
		out.Note("%d events are dated in the future: they count, and reading continues before them", l.future)
	}
	if !l.Read.IsZero() {
		out.SetTime(read, l.Read, labels...)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
