package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// notifying is the environment of an exporter that sends an alert to each webhook when a node is down.
func notifying(t *testing.T, nodes string, webhooks map[string]string, more ...string) []string {
	t.Helper()
	var routes, receivers strings.Builder
	for name, url := range webhooks {
		fmt.Fprintf(&routes, "    - {receiver: %s, continue: true}\n", name)
		fmt.Fprintf(&receivers, "  - {name: %s, webhook_configs: [{url_file: %q}]}\n", name, testworld.File(t, url))
	}
	dir := t.TempDir()
	file, rules := filepath.Join(dir, "notify.yml"), filepath.Join(dir, "rules.yml")
	write(t, file, "route:\n  receiver: nobody\n  group_by: [alertname]\n  group_wait: 10ms\n  group_interval: 1s\n  routes:\n"+
		routes.String()+"receivers:\n  - name: nobody\n"+receivers.String())
	write(t, rules, downRules("Down"))
	return append(append(quickly("up"), "AVAX_NODES="+nodes, "AVAX_NOTIFY_FILE="+file, "AVAX_RULES_FILE="+rules, "AVAX_ALERTING_INTERVAL=500ms"), more...)
}

const stored = "avax_exporter_notify_state_stored"

// A hung receiver delays no notification to another.
func TestHungReceiverDelaysNoOtherReceiver(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	alpha := newGate(t, network.Node("alpha"))
	pages := testworld.Webhook(t)
	hanging := newGate(t, http.NotFoundHandler())
	hanging.behaveAs(hung)
	endless := newGate(t, http.NotFoundHandler())
	endless.behaveAs(raw("HTTP/1.1 500 no\r\n\r\n", "x"))
	e := start(t, notifying(t, "alpha=http://"+alpha.address, map[string]string{
		"good": pages.URL, "hung": "http://" + hanging.address, "endless": "http://" + endless.address,
	})...)
	e.Ready()
	pages.Wait(testworld.Firing("Watchdog"))
	before := figuresOf(e.Until("up", testworld.Is(`avax_node_up{node="alpha"}`, 1)))
	alpha.shut()
	pages.Wait(testworld.Firing("Down"))
	alpha.open()
	pages.Wait(testworld.Resolved("Down"))
	for _, name := range []string{"hung", "endless"} {
		e.Until(name+" is reported as failing", testworld.Is(`avax_exporter_receiver_up{integration="webhook[0]",receiver="`+name+`"}`, 0))
	}
	peak := e.resident()
	report("outside", figure("receivers that hang or send endless answers", peak))
	if peak > 200<<20 {
		t.Errorf("%d MB of memory", peak>>20)
	}
	before.Goroutines += 30 // of repeated notifications
	before.Descriptors += 10
	e.settled(before)
}

// After an outage a receiver gets firing alerts once, and never those that ended during the outage.
func TestReceiverOutageLosesNoFiringAlert(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	gates := map[string]*gate{}
	var nodes []string
	for _, name := range []string{"alpha", "bravo", "charlie"} {
		gates[name] = newGate(t, network.Node(name))
		nodes = append(nodes, name+"=http://"+gates[name].address)
	}
	pages := testworld.Webhook(t)
	to, err := url.Parse(pages.URL)
	if err != nil {
		t.Fatal(err)
	}
	phone := newGate(t, httputil.NewSingleHostReverseProxy(to))
	e := start(t, notifying(t, strings.Join(nodes, ","), map[string]string{"phone": "http://" + phone.address}, "AVAX_STATE_DIR="+t.TempDir())...)
	e.Ready()
	pages.Wait(testworld.Firing("Watchdog"))
	const (
		up     = `avax_exporter_receiver_up{integration="webhook[0]",receiver="phone"}`
		failed = `avax_exporter_receiver_notifications_total{integration="webhook[0]",outcome="failed",receiver="phone"}`
	)
	before := e.Until("the receiver is up", testworld.Is(up, 1))
	stop, watched := make(chan struct{}), make(chan scrapes, 1)
	go func() { watched <- e.scrape(before, stop) }()

	phone.shut()
	down := time.Now()
	gates["bravo"].shut() // stays down
	gates["charlie"].shut()
	e.Until("both fire", testworld.Is(`avax_exporter_alerts{state="firing"}`, 3)) // with the watchdog
	e.Until("the metrics show that the receiver is down", testworld.Is(up, 0))
	gates["charlie"].open()
	e.Until("charlie came and went", testworld.Is(`avax_exporter_alerts{state="firing"}`, 2))
	time.Sleep(*outage - time.Since(down))
	during := e.Until("the receiver is still down", func(p page) error { return errors.Join(testworld.Is(up, 0)(p), atLeast(failed, 3)(p)) })
	const slack = 24 << 20 // garbage that was not collected yet
	if b, o := figuresOf(before), figuresOf(during); o.Heap > b.Heap+slack || o.Goroutines > b.Goroutines+20 || o.Descriptors > b.Descriptors+20 {
		t.Errorf("before %v, during the outage %v", b, o)
	}
	lasted := time.Since(down)

	phone.open()
	pages.Wait(aboutNode(testworld.Firing("Down"), "bravo"))
	e.Until("the receiver is up again", testworld.Is(up, 1))
	gates["bravo"].open()
	pages.Wait(aboutNode(testworld.Resolved("Down"), "bravo"))
	close(stop)
	if seen := <-watched; seen.err != nil {
		t.Error(seen.err)
	}
	fired := map[string]int{}
	for _, a := range pages.Alerts() {
		if testworld.Firing("Down")(a) {
			fired[a.Labels["node"]]++
		}
	}
	if fired["bravo"] != 1 || fired["charlie"] > 0 {
		t.Errorf("notifications by node: %v, want bravo once and charlie never", fired)
	}
	after := e.settled(figuresOf(before))
	reportOutage("receiver", "before", figuresOf(before))
	reportOutage("receiver", fmt.Sprintf("after %v without the receiver", lasted.Round(time.Second)), figuresOf(during))
	reportOutage("receiver", "after the outage", after)
}

// With a full disk, only the notification state is not saved. It is saved as soon as there is free space.
func TestFullDiskLosesOnlyNotificationState(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	alpha := newGate(t, network.Node("alpha"))
	pages := testworld.Webhook(t)
	// No file accepts a byte; the soft limit can be raised again.
	cmd := exec.Command("sh", "-c", `ulimit -S -f 0 && exec "$0"`, testworld.ExporterPath(t))
	e := run(t, cmd, notifying(t, "alpha=http://"+alpha.address, map[string]string{"good": pages.URL}, "AVAX_STATE_DIR="+t.TempDir())...)
	e.Ready()
	pages.Wait(testworld.Firing("Watchdog"))
	e.Until("nothing is stored", testworld.Is(stored, 0))
	alpha.shut()
	pages.Wait(testworld.Firing("Down"))
	e.awaitLog("notification state not saved")
	setLimit(t, e.PID(), syscall.RLIMIT_FSIZE, ^uint64(0), ^uint64(0))
	alpha.open()
	pages.Wait(testworld.Resolved("Down"))
	e.Until("it is stored", testworld.Is(stored, 1))
	if n := strings.Count(e.Log(), "notification state not saved"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, e.Log())
	}
}

// The second of two processes with one directory logs it, works, writes nothing, and takes over when the first has ended.
func TestOnlyOneOfTwoProcessesWritesState(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	alpha := newGate(t, network.Node("alpha"))
	pages := testworld.Webhook(t)
	environment := notifying(t, "alpha=http://"+alpha.address, map[string]string{"good": pages.URL}, "AVAX_STATE_DIR="+t.TempDir())
	first := start(t, environment...)
	first.Until("the first one stores", testworld.Is(stored, 1))
	pages.Wait(testworld.Firing("Watchdog"))
	second := start(t, environment...)
	second.awaitLog("another process uses the directory: give each exporter its own directory")
	second.Ready()
	alpha.shut()
	pages.Wait(testworld.Firing("Down"))
	second.Until("the second one stores nothing", testworld.Is(stored, 0))
	first.End(syscall.SIGKILL)
	alpha.open()
	pages.Wait(testworld.Resolved("Down"))
	second.Until("the second one stores", testworld.Is(stored, 1))
}

// Many signals reload the receivers each time, and lose no notification.
func TestManySIGHUPsLoseNoPage(t *testing.T) {
	testworld.Full(t)
	network := simnet.New(simnet.Options{Seed: 1})
	alpha := newGate(t, network.Node("alpha"))
	pages := testworld.Webhook(t)
	e := start(t, notifying(t, "alpha=http://"+alpha.address, map[string]string{"good": pages.URL}, "AVAX_STATE_DIR="+t.TempDir())...)
	e.Ready()
	pages.Wait(testworld.Firing("Watchdog"))
	idle := figuresOf(e.Until("up", testworld.Is(`avax_node_up{node="alpha"}`, 1)))
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for range 2000 {
			e.Signal(syscall.SIGHUP)
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	alpha.shut()
	pages.Wait(testworld.Firing("Down"))
	alpha.open()
	pages.Wait(testworld.Resolved("Down"))
	close(stop)
	<-ended
	peak := e.resident()
	report("outside", figure("SIGHUP every 5 ms, with notifications", peak))
	if peak > 250<<20 {
		t.Errorf("%d MB of memory", peak>>20)
	}
	e.settled(idle)
}

// Alertmanagers with invalid answers do not affect others.
func TestHostileAlertmanagersDoNotAffectOthers(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	alpha := newGate(t, network.Node("alpha"))
	var taken, elsewhere atomic.Int64
	good := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken.Add(1) }))
	t.Cleanup(good.Close)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	const markup = `<script>alert(1)</script>`
	urls := []string{good.URL}
	for _, b := range []behaviour{
		hung, raw("HTTP/1.1 200 OK\r\n\r\n", "x"), raw("HTTP/1.1 200 OK\r\nX: ", "x"), bomb(64), redirecting(other.URL),
		raw("HTTP/1.1 500 "+markup+"\r\nContent-Length: 0\r\n\r\n", ""), raw("HTTP/1.1 500 "+strings.Repeat("y", 60_000)+"\r\nContent-Length: 0\r\n\r\n", ""),
	} {
		g := newGate(t, http.NotFoundHandler())
		g.behaveAs(b)
		urls = append(urls, "http://"+g.address)
	}
	rules := filepath.Join(t.TempDir(), "rules.yml")
	write(t, rules, downRules("Down"))
	e := start(t, append(quickly("up"), "AVAX_NODES=alpha=http://"+alpha.address, "AVAX_ALERTMANAGERS="+strings.Join(urls, ","), "AVAX_RULES_FILE="+rules, "AVAX_ALERTING_INTERVAL=500ms")...)
	e.Ready()
	for range 3 {
		before := taken.Load()
		alpha.shut()
		testworld.Await(t, "the good one has it", func() error {
			if taken.Load() == before {
				return errors.New("nothing is taken")
			}
			return nil
		})
		e.Until("it fires", testworld.Is(`avax_exporter_alerts{state="firing"}`, 2))
		alpha.open()
		e.Until("it is over", testworld.Is(`avax_exporter_alerts{state="firing"}`, 1))
	}
	testworld.Await(t, "the page shows its words as text", func() error {
		_, body, err := e.Get("/alerts")
		if strings.Contains(body, markup) {
			t.Fatal("markup on the page")
		}
		return wants(body, err, "&lt;script&gt;alert(1)&lt;/script&gt;")
	})
	if elsewhere.Load() > 0 {
		t.Error("redirect followed")
	}
	for line := range strings.Lines(e.Log()) {
		if len(line) > 12<<10 {
			t.Errorf("log line of %d bytes: %.200s", len(line), line)
		}
	}
	peak := e.resident()
	report("outside", figure("Alertmanagers that hang, redirect or send endless answers", peak))
	if peak > 200<<20 {
		t.Errorf("%d MB of memory", peak>>20)
	}
}
