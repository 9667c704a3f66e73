package app

import (
	"slices"
	"testing"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// configuredOnly are the calls of collectors that do more than read, by collector. The operator must configure them.
var configuredOnly = map[string][]string{
	"signatures":   {"data.aggregateSignatures"},
	"nft_metadata": {"data.reindex"},
}

// Scheduled collectors only read: none declares a call that changes a node, and the two that change something at the Data service
// run only if they are configured.
func TestScheduledCallsOnlyRead(t *testing.T) {
	changes := map[string]*scrape.Method{}
	for _, m := range Methods() {
		if m.Changes == "" {
			continue
		}
		changes[m.Op()] = m
	}
	if len(changes) < 10 {
		t.Fatalf("%d calls change something", len(changes))
	}
	declared := 0
	for _, spec := range collectors.All() {
		for _, call := range spec.Calls {
			declared++
			if m, is := changes[call]; is && !slices.Contains(configuredOnly[spec.Name], m.Name) {
				t.Errorf("collector %s would %s (%s)", spec.Name, m.Changes, call)
			}
		}
	}
	if declared < 50 {
		t.Errorf("%d calls declared by collectors", declared)
	}
}
