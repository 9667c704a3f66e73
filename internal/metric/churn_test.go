package metric_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// The jobs of a new node may export what there is. A job that a node gets later counts, so invented chains add few series.
func TestFirstRunOfALaterJobCounts(t *testing.T) {
	family := metric.New("avax_test_value", "A value.", "name")
	batch := metric.NewBatch([]*metric.Family{family})
	for i := range 800 {
		batch.Set(family, 1, strconv.Itoa(i))
	}
	chunks, began := batch.Chunks(), time.Unix(0, 0)
	var churn metric.Churn
	served := func(target metric.Target, after time.Duration) (jobs int) {
		for range 5 {
			if kept, _, err := churn.Limit(target, 2, nil, chunks, began.Add(after)); err == nil && len(kept) == 1 {
				jobs++
			}
		}
		return jobs
	}
	alpha, bravo := metric.Target{Node: "alpha"}, metric.Target{Node: "bravo"}
	if n := served(alpha, time.Minute); n != 5 {
		t.Errorf("%d of 5 first runs of a new node are served", n)
	}
	if n := served(metric.Target{Node: "alpha", Chain: "invented"}, 20*time.Minute); n != 1 {
		t.Errorf("%d of 5 later jobs are served, want 1", n)
	}
	if n := served(alpha, 3*time.Hour); n != 1 {
		t.Errorf("%d of 5 jobs are served three hours later, want 1", n)
	}
	if kept, _, err := churn.Limit(bravo, 2, nil, chunks[:1], began); err != nil || len(kept) != 1 {
		t.Error("the probe of a node that does not answer is not served")
	}
	if n := served(bravo, 3*time.Hour); n != 5 {
		t.Errorf("%d of 5 first runs of a node that answers after three hours are served", n)
	}
}

// A reload may add most nodes of a fleet at once. Their series are served, about all of them, but not any number of series.
func TestNewSeriesMayGrowWithTheFleet(t *testing.T) {
	family := metric.New("avax_test_validator", "A value of a validator.", "node_id")
	chunks := func(series int) []metric.Chunk {
		batch := metric.NewBatch([]*metric.Family{family})
		for i := range series {
			batch.Set(family, 1, strconv.Itoa(i))
		}
		return batch.Chunks()
	}
	for _, c := range []struct {
		target        metric.Target
		nodes, series int
		served        bool
	}{
		{metric.Target{}, 2, 5000, true},
		{metric.Target{}, 2, 5002, false},
		{metric.Target{}, 230, 230 * 40, true},
		{metric.Target{}, 230, 230 * 101, false},
		{metric.Target{Node: "alpha"}, 2, 1000, true},
		{metric.Target{Node: "alpha"}, 2, 1002, false},
		{metric.Target{Node: "alpha"}, 500, 500 * 4, true},
		{metric.Target{Node: "alpha"}, 500, 500 * 11, false},
	} {
		var churn metric.Churn
		kept, _, err := churn.Limit(c.target, c.nodes, chunks(1), chunks(c.series), time.Unix(0, 0))
		if served := err == nil && len(kept) == 1; served != c.served || !served && !errors.Is(err, metric.ErrTooMany) {
			t.Errorf("%d new series of %s with %d nodes: served %t, want %t: %v", c.series, c.target, c.nodes, served, c.served, err)
		}
	}
}
