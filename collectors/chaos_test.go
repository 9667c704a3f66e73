package collectors_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Sums are those of the service at every scrape, whatever it does: it fails, rejects page tokens, answers in any order, grows while it is
// read, indexes events late, dates them in the future and corrects them, and the exporter is killed.
func TestSumsAreThoseOfTheServiceInChaos(t *testing.T) {
	seeds := 20
	if testing.Short() {
		seeds = 2
	}
	for seed := range uint64(seeds) {
		inWorld(t, func(t *testing.T, w world) {
			c := newChaos(t, w, seed)
			for second := range 20 * 60 {
				time.Sleep(time.Second)
				c.calm = second < 60 || second >= 17*60 // monitoring begins with the first run
				if second%30 != 0 {
					continue
				}
				for _, l := range c.lists {
					if l.future && second == 300 {
						c.number++
						l.add(l, c.number, time.Now().Add(2*time.Hour), int64(w.head(t))+1_000_000)
					}
					c.happen(l)
					c.run(l)
				}
			}
			for _, l := range c.lists {
				if l.before != float64(len(l.events)) || l.before < 200 {
					t.Errorf("seed %d: %s: %v, the service has %d", seed, l.collector, l.before, len(l.events))
				}
			}
			samples, _ := c.w.runJob(t.Context(), t, "icm", simnet.Account)
			if pending, want := sum(t, samples, "avax_icm_messages", "pending"), len(c.lists[3].pending); pending != float64(want) {
				t.Errorf("seed %d: %v messages pending, the service has %d", seed, pending, want)
			}
			if c.scrapes < 50 {
				t.Errorf("seed %d: %d scrapes", seed, c.scrapes)
			}
		})
	}
}

// chaos is a service whose lists grow and change while they are read, and an exporter that is killed.
type chaos struct {
	t       *testing.T
	w       world
	seed    uint64
	random  *rand.Rand
	path    string // state directory
	born    int64  // oldest block with an event
	calm    bool   // nothing fails
	number  int    // of events
	scrapes int
	lists   []*chaosList
}

// chaosList is a list of the service, and the collector that counts its events.
type chaosList struct {
	collector, target, family, read string
	service
	add     func(l *chaosList, n int, at time.Time, block int64)
	future  bool            // the service dates events in the future
	indexed map[int64]int   // number of events at the start of each run
	before  float64         // last value
	pending map[string]bool // IDs of messages
}

func (l *chaosList) event(position int64, item string) {
	l.events = append(l.events, serviceEvent{position, item})
}

// message returns the event of a message; nil if there is none.
func (l *chaosList) message(id string) *serviceEvent {
	i := slices.IndexFunc(l.events, func(e serviceEvent) bool { return strings.Contains(e.item, `"messageId":"`+id+`"`) })
	if i < 0 {
		return nil
	}
	return &l.events[i]
}

func newChaos(t *testing.T, w world, seed uint64) *chaos {
	c := &chaos{t: t, w: w, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), path: t.TempDir(), born: int64(w.head(t))}
	c.lists = []*chaosList{
		{collector: "transfers", target: onC, family: transfersFamily, read: "avax_address_transfers_read_timestamp_seconds", future: true,
			add: func(l *chaosList, n int, _ time.Time, block int64) {
				l.event(block, nftTransfer(n, uint64(block)).item)
			}},
		{collector: "internal_transactions", target: onC, family: internalsFamily, read: "avax_address_internal_transactions_read_timestamp_seconds",
			service: service{cursors: true},
			add: func(l *chaosList, n int, _ time.Time, block int64) {
				for range 1 + n%3 { // identical calls
					l.event(block, internalCall(fmt.Sprint("0x", n), uint64(block)).item)
				}
			}},
		{collector: "asset_transactions", target: exm, family: assetsFamily, read: "avax_asset_transactions_read_timestamp_seconds", future: true,
			add: func(l *chaosList, n int, at time.Time, _ int64) { l.event(at.Unix(), assetTransaction(n, at).item) }},
		{collector: "icm", target: simnet.Account, family: "avax_icm_messages", read: "avax_icm_read_timestamp_seconds", future: true, pending: map[string]bool{},
			add: func(l *chaosList, n int, at time.Time, _ int64) {
				id := fmt.Sprint("m", n)
				l.pending[id] = true
				l.event(at.Unix(), message(id, data.ICMPending, "T", at))
			}},
	}
	for _, l := range c.lists {
		l.indexed, l.shuffled = map[int64]int{}, seed%2 == 1
	}
	return c
}

// index adds events of the last hour.
func (c *chaos) index(l *chaosList, count int) {
	for range count {
		c.number++
		head := int64(c.w.head(c.t))
		l.add(l, c.number, time.Now().Add(-time.Duration(c.random.IntN(50))*time.Minute), c.born+c.random.Int64N(head-c.born+1))
	}
}

// answer answers a request of a list, and is unreliable unless it is calm.
func (c *chaos) answer(l *chaosList, r *http.Request) string {
	if id, ok := strings.CutPrefix(r.URL.Path, "/v1/icm/messages/"); ok {
		if e := l.message(id); e != nil {
			return e.item
		}
	}
	if c.calm {
		return l.answer(r)
	}
	switch c.random.IntN(12) {
	case 0:
		return `{"statusCode":500,"error":"Internal Server Error","message":"chaos"}`
	case 1:
		return `<html>`
	case 2:
		if r.URL.Query().Get("pageToken") != "" {
			return `{"statusCode":400,"error":"Bad Request","message":"pageToken is expired"}`
		}
	case 3, 4:
		c.index(l, c.random.IntN(20)) // while it is read
	}
	return l.answer(r)
}

// happen indexes events, and delivers a message.
func (c *chaos) happen(l *chaosList) {
	if !c.calm {
		c.index(l, c.random.IntN(20))
	}
	if id := slices.Sorted(maps.Keys(l.pending)); len(id) > 0 && c.random.IntN(2) == 0 {
		delete(l.pending, id[0])
		e := l.message(id[0])
		e.item = message(id[0], data.ICMDelivered, "T", time.Unix(e.position, 0))
	}
}

// run starts an exporter, which runs the collector of a list, and is killed or not. What it counts is never less than what the service had when
// it was read, and never more than it has.
func (c *chaos) run(l *chaosList) {
	t := c.t
	killed := !c.calm && c.random.IntN(5) == 0
	kept := filepath.Join(t.TempDir(), "kept")
	if killed {
		must.Do(t, os.CopyFS(kept, os.DirFS(c.path)))
	}
	c.w.restart(t, c.path)
	c.w.data(func(r *http.Request) string { return c.answer(l, r) })
	l.indexed[time.Now().Unix()] = len(l.events)
	samples, err := c.w.run(t, l.collector, l.target)
	if killed { // before the run was stored
		must.Do(t, os.RemoveAll(c.path), os.CopyFS(c.path, os.DirFS(kept)))
		return
	}
	if err != nil {
		if c.calm {
			t.Errorf("seed %d: %s: %v", c.seed, l.collector, err)
		}
		return
	}
	c.scrapes++
	got, least := sum(t, samples, l.family), 0
	for at, n := range l.indexed {
		if at <= int64(sum(t, samples, l.read)) {
			least = max(least, n)
		}
	}
	if got < l.before || got < float64(least) || got > float64(len(l.events)) {
		t.Fatalf("seed %d: %s: %v after %v; the service has %d, of which %d before the reading", c.seed, l.collector, got, l.before, len(l.events), least)
	}
	l.before = got
}
