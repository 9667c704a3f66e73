package main

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// answersAfter is the time that each simulated node takes to answer.
const answersAfter = 20 * time.Millisecond

// crowd simulates many nodes. The answers come from the few nodes of the simulated network, but each simulated node has its own
// node ID. crowd repeats an answer for a while.
type crowd struct {
	to    http.RoundTripper
	nodes []*simnet.Node
	asked atomic.Int64

	mu      sync.Mutex
	answers map[string]played
}

func newCrowd(network *simnet.Network) *crowd {
	return &crowd{to: network.Transport(), nodes: network.Nodes(), answers: map[string]played{}}
}

type played struct {
	at     time.Time
	status int
	body   []byte
}

var ownID = regexp.MustCompile(`NodeID-[A-Za-z0-9]+`)

const answersAreKept = time.Minute

// ServeHTTP answers requests to /n0000/ext/… and so on.
func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := c.play(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
}

// RoundTrip answers in memory: without sockets, in the same process.
func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.play(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: answer.status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(answer.body)), ContentLength: int64(len(answer.body)), Request: r,
	}, nil
}

func (c *crowd) play(r *http.Request) (played, error) {
	time.Sleep(answersAfter)
	c.asked.Add(1)
	name, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	i, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	if err != nil {
		return played{status: http.StatusNotFound}, nil
	}
	var question []byte
	if r.Body != nil {
		defer r.Body.Close()
		if question, err = io.ReadAll(r.Body); err != nil {
			return played{}, err
		}
	}
	answer, err := c.answer(r, "http://"+c.nodes[i%len(c.nodes)].Name()+".sim/"+path, question)
	if bytes.Contains(question, []byte(`"info.getNodeID"`)) {
		answer.body = ownID.ReplaceAll(answer.body, []byte(nodeID(i)))
	}
	return answer, err
}

func (c *crowd) answer(r *http.Request, url string, question []byte) (played, error) {
	key := url + string(question)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, has := c.answers[key]; has && time.Since(known.at) < answersAreKept {
		return known, nil
	}
	in, err := http.NewRequestWithContext(r.Context(), r.Method, url, bytes.NewReader(question))
	if err != nil {
		return played{}, err
	}
	in.Header = r.Header.Clone()
	in.Header.Del("Accept-Encoding")
	resp, err := c.to.RoundTrip(in)
	if err != nil {
		return played{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	c.answers[key] = played{time.Now(), resp.StatusCode, body}
	return c.answers[key], err
}
