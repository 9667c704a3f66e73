package app_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// For the exporter, a step of the network's clock is the same as a step of its own clock. Samples from before the step expire as usual,
// samples after it are current, and no job waits for the clock.
func TestClockStepKeepsNoOldSamples(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, -time.Minute, time.Minute, time.Hour, 30 * 24 * time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				var offset atomic.Int64
				w.Use(simnet.New(simnet.Options{Seed: 1, Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }}), "alpha", "bravo")
				w.Env["SCHEDULES"] = everyMinute
				w.Start(t)
				const head = `avax_chain_head_timestamp_seconds{node="alpha",chain="P"}`
				before := w.Samples(t)
				offset.Store(int64(step))
				time.Sleep(longest)
				after := w.Samples(t)
				if moved := after[head] - before[head] - step.Seconds(); moved < 0 || moved > longest.Seconds()+15 {
					t.Errorf("head moved by %v s in addition to the step of %v", moved, step)
				}
				for _, series := range []string{`avax_node_up{node="alpha"}`, `avax_node_up{node="bravo"}`} {
					if after[series] != 1 {
						t.Errorf("%s: %v", series, after[series])
					}
				}
				w.Node("bravo").Stop()
				time.Sleep(longest)
				if left := about(w.Samples(t), "bravo"); len(left) > 0 {
					t.Errorf("samples of bravo left: %v", left)
				}
			})
		})
	}
}
