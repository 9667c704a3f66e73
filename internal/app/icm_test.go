package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

// icmLanes are the pairs of chains between which messages are sent: each of three chains sends and receives some.
var icmLanes = [][2]string{{"C", "examplel1"}, {"examplel1", "C"}, {"C", "examplepoa"}, {"examplepoa", "examplel1"}}

// icmWorld runs the app with the collector icm_chains over two nodes that run three chains, and sends a message a minute between each pair.
func icmWorld(t *testing.T, test func(t *testing.T, w *world)) {
	inWorld(t, incident{quick: true, nodes: []string{"alpha", "foxtrot"}, change: func(a *apptest.World) {
		a.Env["COLLECTORS"] += ",icm_chains"
	}}, func(t *testing.T, w *world) {
		time.Sleep(3 * time.Minute)
		w.send()
		test(t, w)
	})
}

// send sends a message a minute between each pair of chains.
func (w *world) send() {
	for _, lane := range icmLanes {
		w.SendICM(lane[0], lane[1], time.Minute)
	}
}

// ofEach returns that alerts are told about each pair of chains, each after so many minutes at most.
func ofEach(alerts map[string]int) map[string]int {
	all := map[string]int{}
	for alert, most := range alerts {
		for _, lane := range icmLanes {
			all[alert+" "+lane[0]+" "+lane[1]] = most
		}
	}
	return all
}

// A day of messages between three chains: which notifications are sent, and when. What a relayer does on a well day, and idle hours, are none.
func TestDayOfMessages(t *testing.T) {
	testworld.Story(t)
	icmWorld(t, func(t *testing.T, w *world) {
		for _, fault := range []struct {
			what       string
			lasts      time.Duration
			begin, end func()
			want       map[string]int // told, and the most minutes from the begin
			says       []string       // in the text of each
		}{
			{"well", 3 * time.Hour, func() {}, func() {}, nil, nil},
			{
				"the relayer restarts, for as long as it usually does", time.Hour,
				func() {
					w.HoldICM(true)
					time.Sleep(8 * time.Minute)
					w.HoldICM(false)
				}, func() {}, nil, nil,
			},
			{
				"a node shows blocks that are not accepted", 40 * time.Minute,
				func() {
					w.Node("foxtrot").Fork("C")
					time.Sleep(time.Minute)
					w.Node("foxtrot").CatchUp("C")
				}, func() {}, nil, nil,
			},
			{"nobody sends a message at night", 5 * time.Hour, w.StopICM, w.send, nil, nil},
			{
				"the relayer stops", 90 * time.Minute,
				func() { w.HoldICM(true) }, func() { w.HoldICM(false) },
				ofEach(map[string]int{"warn AvaxICMUndelivered": 30, "page AvaxICMUndelivered": 50}),
				[]string{"essage is 0x", " in block "},
			},
			{
				"calls fail, and nobody repeats them", time.Hour,
				func() { w.FailICM(true) },
				func() {
					w.FailICM(false)
					w.RetryICM()
				},
				ofEach(map[string]int{"warn AvaxICMExecutionFailed": 22}),
				[]string{"The message is 0x", "failed in block "},
			},
			{
				"the relayer delivers only what pays a fee", time.Hour,
				func() { w.PaidICM(true) }, func() {},
				ofEach(map[string]int{"warn AvaxICMUndelivered": 30}),
				[]string{"The message is 0x", "paid more"},
			},
			{ // what paid no fee still waits, and that is known
				"and after that nobody sends a message", 3 * time.Hour,
				func() {
					w.PaidICM(false)
					w.StopICM()
				}, func() {}, nil, nil,
			},
		} {
			if testing.Short() {
				fault.lasts = min(fault.lasts, 50*time.Minute)
			}
			before, began := len(w.Receiver.Alerts()), time.Now()
			fault.begin()
			time.Sleep(fault.lasts)
			got := w.told(before, began)
			for _, a := range w.Receiver.Alerts()[before:] {
				for _, words := range fault.says {
					if a.Status == "firing" && strings.HasPrefix(a.Labels["alertname"], "AvaxICM") && !strings.Contains(a.Annotations["description"], words) {
						t.Errorf("%s: the text of %v says nothing of %q: %s", fault.what, a.Labels, words, a.Annotations["description"])
					}
				}
			}
			fault.end()
			wantTold(t, fault.what, got, fault.want)
			time.Sleep(30 * time.Minute)
		}
	})
}
