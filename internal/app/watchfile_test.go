package app_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// A changed AVAX_WATCH_FILE counts within ten seconds. With an error, the previous list stays.
func TestWatchFileIsFollowed(t *testing.T) {
	t.Parallel()
	file := testworld.File(t, "addresses: {owner: P-"+simnet.Owner+"}\n")
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Env["WATCH_FILE"] = file
		w.Env["METRICS_URL"] = ""
		w.Start(t)
		expect := func(when string, addresses ...string) {
			t.Helper()
			time.Sleep(20 * time.Second) // ten for the file, and the first runs
			got := map[string]bool{}
			for series := range w.Samples(t) {
				for _, address := range []string{"P-" + simnet.Owner, simnet.Account} {
					if strings.Contains(series, "_balance_") && strings.Contains(series, `address="`+address+`"`) {
						got[address] = true
					}
				}
			}
			if len(got) != len(addresses) {
				t.Errorf("%s: balances of %v, want %v", when, got, addresses)
			}
			for _, a := range addresses {
				if !got[a] {
					t.Errorf("%s: no balance of %s", when, a)
				}
			}
		}
		change := func(text string) {
			t.Helper()
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		}
		expect("at the start", "P-"+simnet.Owner)
		change("addresses: {owner: P-" + simnet.Owner + ", hot: '" + simnet.Account + "'}\ndelegators: {fund: P-" + simnet.Delegator + "}\n")
		expect("with another", "P-"+simnet.Owner, simnet.Account)
		for _, named := range []string{
			`avax_watch_labels{address="` + simnet.Account + `",name="hot"}`, `avax_watch_labels{address="P-` + simnet.Owner + `",name="owner"}`,
			`avax_exporter_collector_success{collector="native_balances",target="hot/C"}`, `avax_exporter_collector_success{collector="addresses",target="owner"}`,
		} {
			if w.Samples(t)[named] != 1 {
				t.Errorf("no %s: the name does not reach the reader", named)
			}
		}
		change("addresses: {owner: x}\n")
		expect("with an error", "P-"+simnet.Owner, simnet.Account)
		if log := w.Log.String(); !strings.Contains(log, "reload failed") || !strings.Contains(log, "AVAX_WATCH_FILE: ") {
			t.Errorf("log: %s", log)
		}
		change("addresses: {hot: '" + simnet.Account + "'}\n")
		expect("without the first", simnet.Account)
	})
}
