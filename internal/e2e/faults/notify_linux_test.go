package faults_test

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

const (
	stored = "avax_exporter_notify_state_stored"
	firing = `avax_exporter_alerts{state="firing"}`
)

// A hung receiver delays no notification to another.
func TestHungReceiverDelaysNoOtherReceiver(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, nodes := gated(t, "alpha")
	pages := testworld.Webhook(t)
	hanging, endless := newGate(t, http.NotFoundHandler()), newGate(t, http.NotFoundHandler())
	hanging.behaveAs(hung)
	endless.behaveAs(raw("HTTP/1.1 500 no\r\n\r\n", "x"))
	e := start(t, notifying(t, nodes, map[string]string{"good": pages.URL, "hung": hanging.url(), "endless": endless.url()})...)
	e.Ready()
	pages.Wait(testworld.Firing("Watchdog"))
	before := figuresOf(e.Until("up", isUp("alpha")))
	gates["alpha"].shut()
	pages.Wait(testworld.Firing("Down"))
	gates["alpha"].open()
	pages.Wait(testworld.Resolved("Down"))
	for _, name := range []string{"hung", "endless"} {
		e.Until(name+" is reported as failing", testworld.Is(`avax_exporter_receiver_up{integration="webhook[0]",receiver="`+name+`"}`, 0))
	}
	e.needs("receivers that hang or send endless answers", e.resident(), 200<<20)
	before.Goroutines += 30 // of repeated notifications
	before.Descriptors += 10
	e.settled(before)
}

var outageLasts = flag.Duration(
	"outage",
	2*time.Minute,
	"how long an Alertmanager or a receiver is down; make faults writes the figures of 10m into docs/reliability.md",
)

// outage is a time in which alerts cannot be delivered.
type outage struct {
	table       string // of docs/reliability.md
	without     string // what is down
	environment []string
	stop, start func()
	up, failed  string // series
}

// losesNoFiringAlert checks that /metrics answers during the outage, and that memory stays small. Afterwards, the alert of bravo, which
// fires since then, is sent once. That of charlie, which fired only meanwhile, is never sent.
func (o outage) losesNoFiringAlert(t *testing.T, gates map[string]*gate, pages *testworld.Receiver) *exporter {
	t.Helper()
	e := start(t, o.environment...)
	e.Ready()
	pages.Wait(testworld.Firing("Watchdog"))
	before := e.Until("it is up", testworld.Is(o.up, 1))
	stop, watched := make(chan struct{}), make(chan scrapes, 1)
	go func() { watched <- e.scrape(before, stop) }()

	o.stop()
	down := time.Now()
	gates["bravo"].shut()
	gates["charlie"].shut()
	e.Until("both fire", testworld.Is(firing, 3)) // with the watchdog
	e.Until("the metrics show the outage", testworld.Is(o.up, 0))
	gates["charlie"].open()
	e.Until("charlie came and went", testworld.Is(firing, 2))
	time.Sleep(*outageLasts - time.Since(down))
	during := e.Until("the outage continues", func(p page) error { return errors.Join(testworld.Is(o.up, 0)(p), atLeast(o.failed, 3)(p)) })
	const slack = 24 << 20 // garbage that was not collected yet
	if b, d := figuresOf(before), figuresOf(during); d.Heap > b.Heap+slack || d.Goroutines > b.Goroutines+20 || d.Descriptors > b.Descriptors+20 {
		t.Errorf("before %v, during the outage %v", b, d)
	}
	lasted := time.Since(down)

	o.start()
	pages.Wait(testworld.Firing("Down", "node=bravo"))
	e.Until("it is up again", testworld.Is(o.up, 1))
	gates["bravo"].open()
	pages.Wait(testworld.Resolved("Down", "node=bravo"))
	close(stop)
	seen := <-watched
	if seen.err != nil {
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
	t.Logf(
		"down for %v; %d scrapes, the longest in %v; before %v, during the outage %v, after it %v",
		lasted.Round(time.Second),
		seen.pages,
		seen.longest,
		figuresOf(before),
		figuresOf(during),
		after,
	)
	figuresOf(before).report(o.table, "before")
	figuresOf(during).report(o.table, fmt.Sprintf("after %v without %s", lasted.Round(time.Second), o.without))
	after.report(o.table, "after the outage")
	return e
}

func TestAlertmanagerOutageLosesNoAlert(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, nodes := gated(t, "alpha", "bravo", "charlie")
	pages := testworld.Webhook(t)
	alertmanager := testworld.Alertmanager(t, pages.URL)
	e := outage{
		table: "outage", without: "an Alertmanager", stop: alertmanager.Stop, start: alertmanager.Start,
		environment: append(append(quickly("up"), nodes, "AVAX_ALERTMANAGERS="+alertmanager.URL), judging(t, downRules("Down"))...),
		up:          fmt.Sprintf("avax_exporter_alertmanager_up{alertmanager=%q}", strings.TrimPrefix(alertmanager.URL, "http://")),
		failed:      `avax_exporter_notifications_total{outcome="failed"}`,
	}.losesNoFiringAlert(t, gates, pages)
	e.Until("the lost alert is counted", testworld.Is(`avax_exporter_notifications_total{outcome="missed"}`, 1))
	for _, line := range []string{"notifications to Alertmanager failed", "notifications to Alertmanager recovered", "alert ended without a notification"} {
		if n := strings.Count(e.Log(), line); n != 1 {
			t.Errorf("logged %d times %q:\n%s", n, line, e.Log())
		}
	}
}

func TestReceiverOutageLosesNoFiringAlert(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, nodes := gated(t, "alpha", "bravo", "charlie")
	pages := testworld.Webhook(t)
	to := must.Get(url.Parse(pages.URL))(t)
	phone := newGate(t, httputil.NewSingleHostReverseProxy(to))
	outage{
		table: "receiver", without: "the receiver", stop: phone.shut, start: phone.open,
		environment: notifying(t, nodes, map[string]string{"phone": phone.url()}),
		up:          `avax_exporter_receiver_up{integration="webhook[0]",receiver="phone"}`,
		failed:      `avax_exporter_receiver_notifications_total{integration="webhook[0]",outcome="failed",receiver="phone"}`,
	}.losesNoFiringAlert(t, gates, pages)
}

// With a full disk, only the state of alerts and notifications is not saved. It is saved as soon as there is free space.
func TestFullDiskLosesOnlyNotificationState(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, nodes := gated(t, "alpha")
	pages := testworld.Webhook(t)
	// No file accepts a byte; the soft limit can be raised again.
	cmd := exec.Command("sh", "-c", `ulimit -S -f 0 && exec "$0"`, testworld.ExporterPath(t))
	e := run(t, cmd, notifying(t, nodes, map[string]string{"good": pages.URL})...)
	e.Ready()
	pages.Wait(testworld.Firing("Watchdog"))
	e.Until("nothing is stored", testworld.Is(stored, 0))
	gates["alpha"].shut()
	pages.Wait(testworld.Firing("Down"))
	e.awaitLog("notification state not saved")
	e.awaitLog("alert state not saved")
	setLimit(t, e.PID(), syscall.RLIMIT_FSIZE, ^uint64(0), ^uint64(0))
	gates["alpha"].open()
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
	gates, nodes := gated(t, "alpha")
	pages := testworld.Webhook(t)
	environment := notifying(t, nodes, map[string]string{"good": pages.URL})
	first := start(t, environment...)
	first.Until("the first one stores", testworld.Is(stored, 1))
	pages.Wait(testworld.Firing("Watchdog"))
	second := start(t, environment...)
	second.awaitLog("another process uses the directory: give each exporter its own directory")
	second.Ready()
	gates["alpha"].shut()
	pages.Wait(testworld.Firing("Down"))
	second.Until("the second one stores nothing", testworld.Is(stored, 0))
	first.End(syscall.SIGKILL)
	gates["alpha"].open()
	pages.Wait(testworld.Resolved("Down"))
	second.Until("the second one stores", testworld.Is(stored, 1))
}

// Many signals, which reload the receivers each time, lose no notification and no scrape.
func TestManySIGHUPsLoseNoScrapeAndNoPage(t *testing.T) {
	testworld.Full(t)
	gates, nodes := gated(t, "alpha", "bravo")
	pages := testworld.Webhook(t)
	e := start(t, notifying(t, nodes, map[string]string{"good": pages.URL})...)
	e.Ready()
	pages.Wait(testworld.Firing("Watchdog"))
	idle := e.Until("up", isUp("alpha", "bravo"))
	stop, ended, watched := make(chan struct{}), make(chan struct{}), make(chan scrapes, 1)
	go func() { watched <- e.scrape(idle, stop) }()
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
	gates["bravo"].shut()
	pages.Wait(testworld.Firing("Down"))
	gates["bravo"].open()
	pages.Wait(testworld.Resolved("Down"))
	close(stop)
	<-ended
	if seen := <-watched; seen.err != nil {
		t.Error(seen.err)
	}
	e.needs("SIGHUP every 5 ms, with notifications", e.resident(), 250<<20)
	e.settled(figuresOf(idle))
}

// Alertmanagers with invalid answers do not affect others.
func TestHostileAlertmanagersDoNotAffectOthers(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, nodes := gated(t, "alpha")
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
		urls = append(urls, g.url())
	}
	e := start(t, append(append(quickly("up"), nodes, "AVAX_ALERTMANAGERS="+strings.Join(urls, ",")), judging(t, downRules("Down"))...)...)
	e.Ready()
	for range 3 {
		before := taken.Load()
		gates["alpha"].shut()
		testworld.Await(t, "the good one has it", func() error {
			if taken.Load() == before {
				return errors.New("nothing is taken")
			}
			return nil
		})
		e.Until("it fires", testworld.Is(firing, 2))
		gates["alpha"].open()
		e.Until("it is over", testworld.Is(firing, 1))
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
	e.needs("Alertmanagers that hang, redirect or send endless answers", e.resident(), 200<<20)
}

// Invalid rules stop a start, and change nothing of a running process.
func TestInvalidRulesFileStopsOnlyAStart(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	gates, nodes := gated(t, "alpha", "bravo")
	pages := testworld.Webhook(t)
	rules := filepath.Join(t.TempDir(), "rules.yml")
	environment := append(
		quickly("up", "identity"),
		nodes,
		"AVAX_ALERTMANAGERS="+testworld.Alertmanager(t, pages.URL).URL,
		"AVAX_RULES_FILE="+rules,
		"AVAX_ALERTING_INTERVAL=200ms",
	)
	bad := []string{
		strings.Replace(downRules("Down"), "== 0", "==", 1),
		strings.Replace(downRules("Down"), "expr: avax", "exp: avax", 1),
		downRules("Down")[:60],
		"\x00",
		"",
	}
	where := []string{rules + ": 5:", "line 5: ", "line ", rules, rules}
	for i, content := range bad {
		write(t, rules, content)
		cmd := exec.Command(testworld.ExporterPath(t))
		cmd.Env = append(append(os.Environ(), "AVAX_LISTEN=127.0.0.1:0"), environment...)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "AVAX_RULES_FILE: "+rules) || !strings.Contains(string(out), where[i]) {
			t.Errorf("%q at the start: exit code %d:\n%s", content, code, out)
		}
	}

	write(t, rules, downRules("Down"))
	e := start(t, environment...)
	const read = `avax_exporter_config_last_reload_successful{what="rules"}`
	e.Until("the rules are read", testworld.Is(read, 1))
	pages.Wait(testworld.Firing("Watchdog"))
	reload := func(content string) {
		t.Helper()
		write(t, rules, content)
		e.Signal(syscall.SIGHUP)
	}
	for i, content := range bad {
		reload(content)
		testworld.Await(t, fmt.Sprintf("the log contains %q", content), func() error {
			if n := strings.Count(e.Log(), "keeping the previous configuration"); n <= i {
				return fmt.Errorf("%d failed reloads in the log:\n%s", n, e.Log())
			}
			return nil
		})
		e.Until("the metric reports it", testworld.Is(read, 0))
	}
	e.awaitLog(`keeping the previous configuration.*` + rules + `: 5:`)
	gates["bravo"].shut()
	pages.Wait(testworld.Firing("Down", "node=bravo"))
	e.Until("the rules are still invalid", testworld.Is(read, 0))
	reload(downRules("Gone"))
	e.Until("the metric reports it", testworld.Is(read, 1))
	e.awaitLog(`configuration reloaded.*alert rules`)
	pages.Wait(testworld.Firing("Gone", "node=bravo"))
}
