package app_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// The heap does not grow while a node and the Data service fail repeatedly: a half-hour needs no more memory than the half-hour before,
// which had the same faults. With -model.for the test covers a day.
func TestHeapDoesNotGrow(t *testing.T) {
	testworld.Full(t)
	passes := 3
	if *modelFor > 0 {
		passes = 360
	}
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.WithData()
		w.Env["DATA_BUDGET"] = "100000/m"
		w.Env["VALIDATORS"] = "all"
		w.Env["WATCH_ADDRESSES"] = simnet.Account + ",P-" + simnet.Owner
		w.Env["WATCH_CONTRACTS"] = simnet.Account

		w.Start(t)
		heap := func() uint64 {
			for range passes {
				w.Network.Node("bravo").Inject(simnet.Unavailable())
				time.Sleep(time.Minute)
				w.Network.Node("bravo").Recover()
				w.Network.DataService().Inject(simnet.HTML())
				time.Sleep(time.Minute)
				w.Network.DataService().Recover()
				time.Sleep(2 * time.Minute)
				w.Samples(t)
			}
			w.Network.ResetCalls()
			runtime.GC()
			runtime.GC() // memory held by finalizers
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		const noise = 1 << 20
		before, after := heap(), heap()
		t.Logf("%.2f MB, then %.2f MB", float64(before)/1e6, float64(after)/1e6)
		if after > before+noise {
			t.Errorf("heap grew from %d to %d bytes", before, after)
		}
	})
}
