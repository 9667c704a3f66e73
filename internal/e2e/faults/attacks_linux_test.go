package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// answered is the maximum duration of a request that normally takes milliseconds.
const answered = 30 * time.Second

// attack is an attack by clients that only reach the port. It ends when stop is closed.
type attack struct {
	name string
	do   func(e *exporter, stop <-chan struct{}) error
	// resident is the memory limit of the process during the attack, in bytes.
	resident int64
	// crowd: a scrape may be rejected with 503, as other requests of a large crowd are.
	crowd bool
}

// These clients are many, and not hostile.
var crowds = []attack{
	{"200 scrapers at once", scraping(true), 160 << 20, true},
	{"200 scrapers with a connection for each scrape", scraping(false), 160 << 20, true},
	{"200 slow readers", crowd(200, readingSlowly), 160 << 20, true},
	{"200 half-open connections", crowd(200, sending("GET /metrics HTTP/1.1\r\nHost: expor", "", 0)), 160 << 20, true},
	{
		"huge bodies",
		crowd(50, sending("POST /metrics HTTP/1.1\r\nHost: exporter\r\nContent-Length: 1000000000\r\n\r\n", strings.Repeat("x", 10_000), 1000)),
		160 << 20,
		true,
	},
}

var attacks = []attack{
	{"60 connections with 400 requests each, whose answers the client does not read", crowd(60, pipelining), 250 << 20, false},
	{"new connections without end, which stay open", connecting, 160 << 20, false},
}

// A scraper is served during any of these attacks, memory and goroutines are bounded, and nothing of the attack remains.
func TestBadClientsDoNotAffectAScraper(t *testing.T) {
	testworld.Full(t)
	network := simnet.New(simnet.Options{Seed: 1, Validators: 200})
	urls := testworld.Serve(t, network)
	e := run(t, confined(t), listed(urls, "alpha", "bravo"), "AVAX_VALIDATORS=all", "AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID)
	e.Ready()
	for _, c := range crowds {
		e.endure(c, "load", "alpha")
	}
}

// Strangers neither keep a scraper on the exporter's machine from its page nor make a node down, although the process has few file
// descriptors. The scraper opens a new connection each time.
func TestStrangersDoNotStopAScrapeFromThisMachine(t *testing.T) {
	testworld.Full(t)
	urls := testworld.Serve(t, simnet.New(simnet.Options{Seed: 1, Validators: 200}))
	// Go raises the limit to the hard one, so lower that.
	e := run(t, confined(t, "ulimit -n 200"),
		append(probed("identity", "validators"), listed(urls, "alpha", "bravo"), "AVAX_VALIDATORS=all", "AVAX_LISTEN=0.0.0.0:0")...)
	e.Ready()
	e.awaitLog("file descriptor limit low")
	for _, a := range attacks {
		e.endure(a, "outside", "alpha", "bravo")
	}
}

// strange returns the address of the exporter as another host sees it.
func strange(e *exporter) (string, error) {
	_, port, err := net.SplitHostPort(strings.TrimPrefix(e.URL, "http://"))
	if err != nil {
		return "", err
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range addresses {
		if own, ok := a.(*net.IPNet); ok && own.IP.To4() != nil && !own.IP.IsLoopback() {
			return net.JoinHostPort(own.IP.String(), port), nil
		}
	}
	return "", errors.New("this machine needs a network with an IPv4 address")
}

// endure runs an attack for some seconds, next to a scraper that opens a new connection each time, and reports it in a table.
func (e *exporter) endure(a attack, table string, nodes ...string) {
	e.t.Helper()
	idle := figuresOf(e.Until("the nodes are up", isUp(nodes...)))
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- a.do(e, stop) }()
	var longest time.Duration
	var peak figures
	served, lost, down := 0, 0, 0
	lasts := 8 * time.Second
	if a.crowd {
		lasts = 3 * time.Second
	}
	for end, last := time.Now().Add(lasts), testworld.Deadline(e.t); time.Now().Before(end) || served == 0 && time.Now().Before(last); time.Sleep(200 * time.Millisecond) {
		began := time.Now()
		e.Client.CloseIdleConnections()
		p, err := e.Scrape()
		if err != nil {
			if !a.crowd || !strings.Contains(err.Error(), "503") {
				e.t.Errorf("%s: scrape after %v: %v", a.name, time.Since(began), err)
				lost++
			}
			continue
		}
		served++
		longest = max(longest, time.Since(began))
		f := figuresOf(p)
		peak = figures{max(peak.Goroutines, f.Goroutines), max(peak.Descriptors, f.Descriptors), max(peak.Heap, f.Heap), max(peak.Resident, e.resident()), 0}
		for _, node := range nodes {
			if value, there := p[`avax_node_up{node="`+node+`"}`]; there && value != 1 {
				down++
			}
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		e.t.Errorf("%s: %v", a.name, err)
	}
	if served == 0 || down > 0 || peak.Resident > a.resident || peak.Goroutines > idle.Goroutines+900 || peak.Descriptors > idle.Descriptors+450 {
		e.t.Errorf("%s: %d scrapes served, nodes down %d times, at most %v, before %v", a.name, served, down, peak, idle)
	}
	e.settled(idle)
	resident, slowest := fmt.Sprintf("%.0f MB", float64(peak.Resident)/1e6), longest.Round(time.Millisecond)
	if table == "load" {
		report(table, fmt.Sprintf("| %s | %d | %d | %s | %v | %d |", a.name, peak.Goroutines, peak.Descriptors, resident, slowest, served))
	} else {
		report(table, fmt.Sprintf("| %s | %s | %v | %d | %d | %d |", a.name, resident, slowest, served, lost, down))
	}
	e.t.Logf("%s: at most %v, longest of %d scrapes %v", a.name, peak, served, slowest)
}

// crowd is an attack by many clients. A client that ends begins again.
func crowd(many int, client func(e *exporter, stop <-chan struct{})) func(*exporter, <-chan struct{}) error {
	return func(e *exporter, stop <-chan struct{}) error {
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				for {
					client(e, stop)
					select {
					case <-stop:
						return
					case <-time.After(20 * time.Millisecond):
					}
				}
			})
		}
		all.Wait()
		return nil
	}
}

// scraping sends requests of 200 clients, each over one connection or over a new one for each request. All are answered, or rejected with
// 503.
func scraping(keepAlive bool) func(*exporter, <-chan struct{}) error {
	return func(e *exporter, stop <-chan struct{}) error {
		var good, failed atomic.Int64
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				client := &http.Client{Timeout: time.Until(testworld.Deadline(e.t)), Transport: &http.Transport{DisableKeepAlives: !keepAlive}}
				defer client.CloseIdleConnections()
				for {
					status := 0
					response, err := client.Get(e.URL + "/metrics")
					if err == nil {
						status = response.StatusCode
						_, err = io.Copy(io.Discard, response.Body)
						_ = response.Body.Close()
					}
					switch {
					case status == http.StatusServiceUnavailable:
					case err != nil || status != http.StatusOK:
						failed.Add(1)
					default:
						good.Add(1)
					}
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond):
					}
				}
			})
		}
		all.Wait()
		if failed.Load() > 0 || good.Load() == 0 {
			return fmt.Errorf("%d requests answered, %d failed", good.Load(), failed.Load())
		}
		return nil
	}
}

// dial opens a connection at little cost, to the address of the exporter or another one.
func dial(address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: answered, Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 2048) })
	}}
	return dialer.Dial("tcp", address)
}

// sending sends a text and then another one repeatedly, and holds the connection.
func sending(first, then string, times int) func(*exporter, <-chan struct{}) {
	return func(e *exporter, stop <-chan struct{}) {
		c, err := dial(strings.TrimPrefix(e.URL, "http://"))
		if err != nil {
			return
		}
		defer c.Close()
		_, err = fmt.Fprint(c, first)
		for n := 0; n < times && err == nil; n++ {
			_, err = fmt.Fprint(c, then)
		}
		<-stop
	}
}

func readingSlowly(e *exporter, stop <-chan struct{}) {
	c, err := dial(strings.TrimPrefix(e.URL, "http://"))
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprint(c, "GET /metrics HTTP/1.1\r\nHost: exporter\r\n\r\n")
	_, _ = bufio.NewReaderSize(c, 16).ReadByte()
	<-stop
}

// pipelining sends requests of a stranger, and reads a byte of the answers now and then, until it is cut off.
func pipelining(e *exporter, stop <-chan struct{}) {
	address, err := strange(e)
	if err != nil {
		return
	}
	c, err := dial(address)
	if err != nil {
		return
	}
	fmt.Fprint(c, strings.Repeat("GET /metrics HTTP/1.1\r\nHost: exporter\r\nAccept: */*\r\n\r\n", 400))
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		for one := make([]byte, 1); ; time.Sleep(100 * time.Millisecond) {
			if _, err := c.Read(one); err != nil {
				return
			}
		}
	}()
	select {
	case <-stop:
	case <-cut:
	}
	_ = c.Close()
	<-cut
}

func connecting(e *exporter, stop <-chan struct{}) error {
	address, err := strange(e)
	if err != nil {
		return err
	}
	const maxConnections = 20_000
	for range maxConnections {
		select {
		case <-stop:
			return nil
		default:
		}
		if c, err := dial(address); err == nil {
			defer c.Close()
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// greedy answers each call with the most expensive answer that fits its limit: lists of the smallest items, in a little gzip.
func greedy() behaviour {
	const large, usual = 16<<20 - 1<<10, 1<<20 - 1<<10
	items := func(member, item string) behaviour { // with distinct identifiers
		var list strings.Builder
		for i := 0; list.Len() < large-len(item)-1<<10; i++ {
			fmt.Fprintf(&list, item+",", i)
		}
		return packed(`{"jsonrpc":"2.0","id":1,"result":{"numPeers":"1","`+member+`":[`, list.String()+fmt.Sprintf(item, -1), `]}}`, large)
	}
	answers := map[string]behaviour{
		"platform.getCurrentValidators": items("validators", `{"nodeID":"%x","weight":1,"startTime":1}`),
		"validators.getCurrentValidators": items(
			"validators",
			`{"validationID":"","nodeID":"%x","weight":1,"startTimestamp":1,"isActive":true,"isL1Validator":true,"isConnected":true,"uptimePercentage":1,"uptimeSeconds":1}`,
		),
		"platform.getBlockchains": items("blockchains", `{"id":"%x","name":"","subnetID":"","vmID":""}`),
		"info.peers": items(
			"peers",
			`{"nodeID":"%x","ip":"","publicIP":"","version":"","lastSent":"2026-01-01T00:00:00Z","lastReceived":"2026-01-01T00:00:00Z","benched":["","","","","","","",""]}`,
		),
		"eth_getChainConfig": packed(`{"jsonrpc":"2.0","id":1,"result":{"chainId":1,"upgrades":{"precompileUpgrades":[{}`, `,{}`, `]}}}`, usual),
		"eth_getActiveRulesAt": packed(
			`{"jsonrpc":"2.0","id":1,"result":{"precompiles":{},"avalancheRules":{},"ethRules":{"a":true`,
			`,"b":true`,
			`}}}`,
			usual,
		),
	}
	return func(w http.ResponseWriter, r *http.Request, good func() answer) {
		body, _ := io.ReadAll(r.Body)
		for method, b := range answers {
			if bytes.Contains(body, []byte(`"`+method+`"`)) {
				b(w, r, good)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		good().send(w)
	}
}

// Ten nodes with the most expensive answers need bounded memory, and a scrape is still answered.
func TestHostileNodesUseLittleMemory(t *testing.T) {
	testworld.Full(t)
	network := simnet.New(simnet.Options{Seed: 1})
	attack := greedy()
	for _, n := range []int{1, 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var nodes []string
			var gates []*gate
			for i := range n {
				gates = append(gates, newGate(t, network.Node("alpha")))
				nodes = append(nodes, fmt.Sprintf("hostile%d=%s", i, gates[i].url()))
			}
			e := run(t, confined(t), append(quickly("up", "chain_config", "chain_rules", "validators", "network", "network_views", "peers", "l1", "l1_views"),
				"AVAX_NODES="+strings.Join(nodes, ","), "AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID, "AVAX_VALIDATORS=all")...)
			e.Ready()
			for _, g := range gates {
				g.behaveAs(attack)
			}
			var peak int64
			failed, scrapes := 0, 0
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
				scrapes++
				if _, err := e.Scrape(); err != nil {
					failed++
				}
				peak = max(peak, e.resident())
			}
			e.needs(fmt.Sprintf("%d hostile nodes with the most expensive answers", n), peak, 256<<20)
			t.Logf("%d hostile nodes: %.0f MB, %d of %d scrapes failed", n, float64(peak)/1e6, failed, scrapes)
			if failed > 0 {
				t.Errorf("%d hostile nodes: %d of %d scrapes failed", n, failed, scrapes)
			}
		})
	}
}

// check exits with 2 if a configuration file is not a regular file.
func TestFIFOsAsFilesAreRejected(t *testing.T) {
	testworld.Full(t)
	fifo := filepath.Join(t.TempDir(), "nodes.json")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	for _, variable := range []string{"AVAX_NODES_FILE", "AVAX_RULES_FILE", "AVAX_NOTIFY_FILE", "AVAX_HTTP_CONFIG_FILE", "AVAX_DATA_API_KEY_FILE", "AVAX_WEB_CONFIG_FILE"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Until(testworld.Deadline(t)))
		cmd := exec.CommandContext(ctx, testworld.ExporterPath(t), "check")
		cmd.Env = append(os.Environ(), variable+"="+fifo)
		if variable == "AVAX_DATA_API_KEY_FILE" {
			cmd.Env = append(cmd.Env, "AVAX_DATA_URL=http://127.0.0.1:1")
		}
		out, err := cmd.CombinedOutput()
		cancel()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), variable) {
			t.Errorf("%s: exit code %d, %v: %s", variable, code, err, out)
		}
	}
}
