package collectors_test

import (
	"slices"
	"testing"

	"github.com/avax-exporter/avax-exporter/collectors"
)

// Two jobs of a collector with the same target would export duplicate series.
func TestJobTargetsAreUnique(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.ups.SetNodes(append(slices.Clone(w.ups.Nodes()), watch(t, w)))
		for _, spec := range collectors.All() {
			for _, ids := range [][]string{nil, {w.network.NodeID("alpha")}} {
				w.ups.Watch.Validators.IDs = ids
				texts := map[string]bool{}
				for _, j := range spec.Bind(w.ups) {
					if texts[j.Target.String()] {
						t.Errorf("%s: two jobs for %s", spec.Name, j.Target)
					}
					texts[j.Target.String()] = true
				}
			}
		}
	})
}
