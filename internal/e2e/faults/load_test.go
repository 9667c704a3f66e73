package faults_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// crowd is a kind of bad client. behave returns the numbers of its requests that succeeded, were rejected, and failed.
type crowd struct {
	name   string
	many   int
	behave func(e *exporter, stop <-chan struct{}) (good, refused, failed int)
	// Limits of goroutines and descriptors during the attack, in addition to those before.
	goroutines, descriptors int
	answered                bool // its requests are answered, or rejected with 503
}

var crowds = []crowd{
	{name: "200 scrapers at once", many: 200, behave: scraping, goroutines: 900, descriptors: 450, answered: true},
	{name: "200 scrapers with a connection for each scrape", many: 200, behave: knocking, goroutines: 900, descriptors: 450, answered: true},
	{name: "200 slow readers", many: 200, behave: readingSlowly, goroutines: 500, descriptors: 450},
	{name: "200 half-open connections", many: 200, behave: halfOpen, goroutines: 500, descriptors: 450},
	{name: "huge headers", many: 50, behave: hugeHeaders, goroutines: 300, descriptors: 200},
	{name: "huge bodies", many: 50, behave: hugeBodies, goroutines: 300, descriptors: 200},
	{name: "no HTTP", many: 50, behave: babbling, goroutines: 300, descriptors: 200},
}

// Memory limits of a process during an attack, in bytes.
const (
	maxHeap     = 64 << 20
	maxResident = 160 << 20
)

// A scraper is served during any of these attacks, memory and goroutines are bounded, and nothing of the attack remains.
func TestBadClientsDoNotAffectAScraper(t *testing.T) {
	testworld.Full(t)
	network := simnet.New(simnet.Options{Seed: 1, Validators: 200})
	urls, err := network.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := run(t, confined(t), "AVAX_NODES=alpha="+urls["alpha"]+",bravo="+urls["bravo"], "AVAX_VALIDATORS=all", "AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID)
	e.Ready()
	idle := figuresOf(e.Until("a page", testworld.Is(`avax_node_up{node="alpha"}`, 1)))
	lasts := 3 * time.Second // the exporter's own metrics may be a second old
	for _, c := range crowds {
		stop := make(chan struct{})
		var good, refused, failed atomic.Int64
		var members sync.WaitGroup
		for range c.many {
			members.Go(func() {
				g, r, f := c.behave(e, stop)
				good.Add(int64(g))
				refused.Add(int64(r))
				failed.Add(int64(f))
			})
		}
		var peak figures
		var longest time.Duration
		patient := 0
		for end, last := time.Now().Add(lasts), testworld.Deadline(t); time.Now().Before(end) || patient == 0 && time.Now().Before(last); time.Sleep(20 * time.Millisecond) {
			began := time.Now()
			p, err := e.Scrape()
			if err != nil {
				if strings.Contains(err.Error(), "503") {
					continue // rejected, as other requests of a large crowd are
				}
				t.Errorf("%s: scraper: %v", c.name, err)
				continue
			}
			patient++
			longest = max(longest, time.Since(began))
			f := figuresOf(p)
			f.Resident = e.resident()
			peak = figures{max(peak.Goroutines, f.Goroutines), max(peak.Descriptors, f.Descriptors), max(peak.Heap, f.Heap), max(peak.Resident, f.Resident)}
			if f.Goroutines > idle.Goroutines+c.goroutines || f.Descriptors > idle.Descriptors+c.descriptors || f.Heap > maxHeap || f.Resident > maxResident {
				t.Errorf("%s: %v", c.name, f)
			}
		}
		close(stop)
		members.Wait()
		if patient == 0 {
			t.Errorf("%s: scraper never served", c.name)
		}
		if c.answered && (failed.Load() > 0 || good.Load() == 0) {
			t.Errorf("%s: %d answered, %d rejected, %d failed", c.name, good.Load(), refused.Load(), failed.Load())
		}
		e.settled(idle)
		report("load", fmt.Sprintf("| %s | %d | %d | %.0f MB | %v | %d |", c.name, peak.Goroutines, peak.Descriptors, float64(peak.Resident)/1e6, longest.Round(time.Millisecond), patient))
		t.Logf("%s: at most %v; %d answered, %d rejected, %d failed; scraper served %d times, at most in %v",
			c.name, peak, good.Load(), refused.Load(), failed.Load(), patient, longest)
	}
}

// scrapeOnce sends one request.
func scrapeOnce(client *http.Client, e *exporter) (good, refused, failed int) {
	response, err := client.Get(e.URL + "/metrics")
	if err != nil {
		return 0, 0, 1
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	switch {
	case response.StatusCode == http.StatusServiceUnavailable:
		return 0, 1, 0
	case err != nil || response.StatusCode != http.StatusOK:
		return 0, 0, 1
	}
	return 1, 0, 0
}

// scraping sends requests repeatedly over one connection.
func scraping(e *exporter, stop <-chan struct{}) (good, refused, failed int) {
	client := &http.Client{Timeout: time.Until(testworld.Deadline(e.t)), Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	return again(client, e, stop)
}

// knocking opens a connection for each request.
func knocking(e *exporter, stop <-chan struct{}) (good, refused, failed int) {
	return again(&http.Client{Timeout: time.Until(testworld.Deadline(e.t)), Transport: &http.Transport{DisableKeepAlives: true}}, e, stop)
}

func again(client *http.Client, e *exporter, stop <-chan struct{}) (good, refused, failed int) {
	for {
		g, r, f := scrapeOnce(client, e)
		good, refused, failed = good+g, refused+r, failed+f
		select {
		case <-stop:
			return good, refused, failed
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// holding opens a connection, sends this, and keeps it open.
func holding(e *exporter, stop <-chan struct{}, say func(net.Conn)) (good, refused, failed int) {
	connection, err := net.Dial("tcp", strings.TrimPrefix(e.URL, "http://"))
	if err != nil {
		return 0, 0, 1
	}
	defer connection.Close()
	say(connection)
	<-stop
	return 0, 0, 0
}

func readingSlowly(e *exporter, stop <-chan struct{}) (int, int, int) {
	return holding(e, stop, func(c net.Conn) {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(2048)
		}
		fmt.Fprint(c, "GET /metrics HTTP/1.1\r\nHost: exporter\r\n\r\n")
		_, _ = bufio.NewReaderSize(c, 16).ReadByte()
	})
}

func halfOpen(e *exporter, stop <-chan struct{}) (int, int, int) {
	return holding(e, stop, func(c net.Conn) { fmt.Fprint(c, "GET /metrics HTTP/1.1\r\nHost: expor") })
}

func hugeHeaders(e *exporter, stop <-chan struct{}) (int, int, int) {
	return holding(e, stop, func(c net.Conn) {
		fmt.Fprint(c, "GET /metrics HTTP/1.1\r\nHost: exporter\r\n")
		for i := 0; i < 10_000; i++ {
			if _, err := fmt.Fprintf(c, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	})
}

func hugeBodies(e *exporter, stop <-chan struct{}) (int, int, int) {
	return holding(e, stop, func(c net.Conn) {
		fmt.Fprint(c, "POST /metrics HTTP/1.1\r\nHost: exporter\r\nContent-Length: 1000000000\r\n\r\n")
		for range 1000 {
			if _, err := fmt.Fprint(c, strings.Repeat("x", 10_000)); err != nil {
				return
			}
		}
	})
}

func babbling(e *exporter, stop <-chan struct{}) (int, int, int) {
	return holding(e, stop, func(c net.Conn) {
		for range 100 {
			if _, err := fmt.Fprint(c, "\x16\x03\x01\x00\xa5\x01\x00\x00", strings.Repeat("\xff", 1000)); err != nil {
				return
			}
		}
	})
}
