package dataservice

import (
	"fmt"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/collector"
)

// Whatever IDs a service writes, there are few lanes.
func TestLanesOfMessagesAreFew(t *testing.T) {
	for _, of := range []func(i int) (source, destination string){
		func(i int) (string, string) { return fmt.Sprint(i), "C" },
		func(i int) (string, string) { return collector.Other, fmt.Sprint(i) },
		func(i int) (string, string) { return fmt.Sprint(i), collector.Other },
	} {
		var lanes []icmLane
		for i := range 3 * icmMaxLanes {
			source, destination := of(i)
			lanes, _ = addMessage(lanes, icmMessage{Source: source, Destination: destination})
		}
		if len(lanes) > icmMaxLanes+1 {
			t.Errorf("%d lanes, want at most %d", len(lanes), icmMaxLanes+1)
		}
	}
}
