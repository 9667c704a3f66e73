package collector_test

import (
	"context"
	"slices"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// A reload may change the value of a name. The next run of its collector uses the new one.
func TestNextRunUsesTheReloadedValueOfAName(t *testing.T) {
	ups := &collector.Upstreams{Pool: nodes.NewPool(nil, nil)}
	var used []string
	bind := collector.Per(collector.Items(collector.Watchlist.AssetItems), func(_ context.Context, _ *collector.Upstreams, on collector.Subject, _ *metric.Batch) error {
		used = append(used, on.Item.Name+"="+on.Item.Value)
		return nil
	})
	ups.SetWatch(collector.Watchlist{Assets: []collector.Item{{Name: "gold", Value: "a"}}})
	job := bind(ups)[0]
	for _, value := range []string{"a", "b"} {
		ups.SetWatch(collector.Watchlist{Assets: []collector.Item{{Name: "gold", Value: value}}})
		must.Do(t, job.Collect(t.Context(), nil))
	}
	if want := []string{"gold=a", "gold=b"}; !slices.Equal(used, want) {
		t.Errorf("used %v, want %v", used, want)
	}
}
