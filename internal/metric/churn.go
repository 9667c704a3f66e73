package metric

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// maxNewOfNode is the maximum number of series that a node may add within an hour, apart from those of its first runs. A name that a node
	// invents is a new series, and the history of the rules keeps each for hours.
	maxNewOfNode = 1000
	// maxNew is the same for a target that is not a node.
	maxNew = 5000
	// newOfNodePerNode and newPerNode raise these maxima in a large fleet: a reload may add most of its nodes, and each adds series about its
	// validator to the network and to the views of other nodes.
	newOfNodePerNode, newPerNode = 10, 100
	// firstRuns is the time after which the first run of another job of a node counts, such as of a chain that was found later.
	firstRuns = 10 * time.Minute
	// ofSilent is the number of jobs that export something about a node that does not answer: its first runs begin after them.
	ofSilent = 4
	// churnWindow is the time for which new series are counted.
	churnWindow = time.Hour
)

// Churn limits how many new series targets may export over time. It is not safe for concurrent use.
type Churn struct{ byTarget map[Target]*newSeries }

type newSeries struct {
	first, since time.Time
	jobs, count  int // jobs that had a first run; new series since the time in since
}

// Limit returns the chunks of a run without the families whose new series are too many within the hour. before are the chunks that the job
// exported last; nil if it has exported none yet. nodes is the number of configured nodes. For a family that it leaves out, it returns the
// previous chunk in shown. The error is ErrTooMany.
func (c *Churn) Limit(t Target, nodes int, before, now []Chunk, at time.Time) (kept, shown []Chunk, err error) {
	limit := max(maxNew, newPerNode*nodes)
	if t.Node != "" {
		t, limit = Target{Node: t.Node}, max(maxNewOfNode, newOfNodePerNode*nodes)
	}
	if c.byTarget == nil {
		c.byTarget = map[Target]*newSeries{}
	}
	made := c.byTarget[t]
	if made == nil || at.Sub(made.since) >= churnWindow {
		next := &newSeries{since: at}
		if made != nil {
			next.first, next.jobs = made.first, made.jobs
		}
		made, c.byTarget[t] = next, next
	}
	if before == nil {
		if made.jobs++; made.jobs <= ofSilent {
			made.first = at
		}
		if t.Node == "" || at.Sub(made.first) < firstRuns {
			return now, now, nil
		}
	}
	var errs []error
	for _, chunk := range now {
		var old Chunk
		i := slices.IndexFunc(before, func(b Chunk) bool { return b.Family == chunk.Family })
		if i >= 0 {
			old = before[i]
		}
		added := addedTo(old, chunk)
		if made.count+added > limit {
			errs = append(errs, fmt.Errorf("%w: %s has %d new series, and is not served: within an hour %s may add %d: check the answers of the upstream",
				ErrTooMany, chunk.Family.Name, added, t, limit))
			if i >= 0 {
				shown = append(shown, old)
			}
			continue
		}
		made.count += added
		kept, shown = append(kept, chunk), append(shown, chunk)
	}
	for _, old := range before { // a family without samples in this run: its series are not new when they return
		if !slices.ContainsFunc(now, func(c Chunk) bool { return c.Family == old.Family }) {
			shown = append(shown, old)
		}
	}
	return kept, shown, errors.Join(errs...)
}

// Forget forgets a target without jobs.
func (c *Churn) Forget(t Target) { delete(c.byTarget, t) }

// addedTo returns the number of series of a chunk that the old one lacks. Both are sorted.
func addedTo(old, chunk Chunk) (added int) {
	i := 0
	for _, s := range chunk.Samples {
		for i < len(old.Samples) && chunk.Family.compare(old.Samples[i], s) < 0 {
			i++
		}
		if i < len(old.Samples) && slices.Equal(old.Samples[i].Labels, s.Labels) {
			i++
		} else {
			added++
		}
	}
	return added
}
