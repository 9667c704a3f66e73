package web

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// series returns a series with one value a minute from a time on.
func series(from time.Time, labels model.Metric, values ...float64) *model.SampleStream {
	s := &model.SampleStream{Metric: labels}
	for i, v := range values {
		s.Values = append(s.Values, model.SamplePair{Timestamp: model.TimeFromUnixNano(from.Add(time.Duration(i) * time.Minute).UnixNano()),
			Value: model.SampleValue(v)})
	}
	return s
}

// The cost of an incident is the downtime that it added, and the reward that was within reach before and is not after it.
func TestEpisodeShowsWhatItCost(t *testing.T) {
	from := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	alpha, bravo := model.Metric{"node": "alpha", "node_id": "NodeID-A"}, model.Metric{"node": "bravo", "node_id": "NodeID-B"}
	downtimes := model.Matrix{series(from, bravo, 0, 0, 0, 0, 0, 0), series(from, alpha, 60, 60, 60, 360, 1860, 3600)}
	rewards := model.Matrix{series(from, bravo, 7, 7, 7, 7, 7, 7), series(from, alpha, 1204, 1204, 1204, 1204, 0, 0)}
	begins := func(minutes float64) time.Time { return from.Add(time.Duration(minutes * float64(time.Minute))) }
	for _, c := range []struct {
		name string
		it   episode
		want string
	}{
		{"ended", episode{map[string]string{"node": "alpha"}, begins(1.5), begins(4.5)}, "30 min of downtime; reward at risk 1204 AVAX, of which 1204 lost"},
		{"ended before the reward was lost", episode{map[string]string{"node_id": "NodeID-A"}, begins(1.5), begins(3.5)},
			"5 min of downtime; reward at risk 1204 AVAX, of which 0 lost"},
		{"fires", episode{map[string]string{"node": "alpha"}, begins(3.5), time.Time{}}, "54 min of downtime; reward at risk 1204 AVAX, of which 1204 lost"},
		{"no downtime", episode{map[string]string{"node": "bravo"}, begins(1.5), begins(4.5)}, ""},
		{"another node", episode{map[string]string{"node": "charlie"}, begins(1.5), begins(4.5)}, ""},
		{"no value before it", episode{map[string]string{"node": "alpha"}, begins(-1), begins(4.5)}, ""},
		{"about no node", episode{map[string]string{"chain": "C"}, begins(1.5), begins(4.5)}, ""},
	} {
		if got := c.it.cost(downtimes, rewards); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
