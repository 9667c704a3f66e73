package app_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// A host that runs the node and the exporter reboots: the node stops first, and both are back 50 seconds later. What the old exporter recorded about
// the node that was down ends at the start, also if the exporter has another name now, as a container has that is created again. If the node stays
// down, nothing that was recorded before delays its page.
func TestRebootOfTheHostPagesNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instance string // of the second exporter
		back     bool   // whether the node is back
	}{
		"both are back":                        {"exporter:9865", true},
		"both are back, under another name":    {"recreated:9865", true},
		"the node stays down":                  {"exporter:9865", false},
		"the node stays down, for another one": {"recreated:9865", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				w.Env["NODES"], w.Env["CHAINS"], w.Env["METRICS_URL"] = apptest.URLs("alpha"), "C", ""
				w.Env["COLLECTORS"] = "up,fleet,identity,validators"
				w.Notify(t)
				w.Start(t)
				time.Sleep(time.Minute)
				w.Node("alpha").Stop()
				time.Sleep(40 * time.Second)
				w.Stop()
				time.Sleep(50 * time.Second)
				if c.back {
					w.Node("alpha").Start()
				}
				w.Env["EXTERNAL_LABELS"] = "instance=" + c.instance
				w.StartNow(t)
				const watched = 8 * time.Minute
				began, pending := time.Now(), watched
				for time.Since(began) < watched {
					time.Sleep(5 * time.Second)
					_, found := w.Get(t, "/api/v1/query?query="+url.QueryEscape(`ALERTS{alertname="AvaxNodeDown"}`))
					if strings.Contains(found, "AvaxNodeDown") {
						pending = min(pending, time.Since(began))
					}
				}
				paged := watched
				for _, a := range w.Receiver.Alerts() {
					switch {
					case a.Labels["alertname"] == "AvaxWatchdog":
					case c.back:
						t.Errorf("after %v: %s %v", a.At.Sub(began), a.Status, a.Labels)
					case a.Labels["severity"] == "page":
						paged = min(paged, a.At.Sub(began))
					}
				}
				if !c.back && (pending > 90*time.Second || paged > 5*time.Minute) {
					t.Errorf("pending after %v, paged after %v", pending, paged)
				}
			})
		})
	}
}
