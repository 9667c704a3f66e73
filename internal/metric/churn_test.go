package metric_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

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
