package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
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

// crowd simulates many nodes with the few of the simulated network, each with its own ID. It repeats their answers for a while.
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

// serve answers requests to /n0000/ext/… and so on, until the listener closes. It reads only what the exporter sends, because the nodes share the
// cores with the exporter: net/http would take three times the CPU.
func (c *crowd) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			in := bufio.NewReaderSize(conn, 2<<10)
			for c.exchange(in, conn) == nil {
			}
		}()
	}
}

// exchange reads one request and answers it.
func (c *crowd) exchange(in *bufio.Reader, out io.Writer) error {
	first, err := in.ReadString('\n')
	if err != nil {
		return err
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) <= 2 {
			break
		}
		if value, is := bytes.CutPrefix(line, []byte("Content-Length: ")); is {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	question := make([]byte, length)
	if _, err := io.ReadFull(in, question); err != nil {
		return err
	}
	method, rest, _ := strings.Cut(first, " ")
	path, _, _ := strings.Cut(rest, " ")
	answer, err := c.play(method, path, question)
	if err != nil {
		return err
	}
	text := fmt.Appendf(make([]byte, 0, 128+len(answer.body)), "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		answer.status, http.StatusText(answer.status), len(answer.body))
	_, err = out.Write(append(text, answer.body...))
	return err
}

// RoundTrip answers in memory: without sockets, in the same process.
func (c *crowd) RoundTrip(r *http.Request) (*http.Response, error) {
	var question []byte
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if question, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	answer, err := c.play(r.Method, r.URL.Path, question)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: answer.status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(answer.body)), ContentLength: int64(len(answer.body)), Request: r,
	}, nil
}

func (c *crowd) play(method, path string, question []byte) (played, error) {
	time.Sleep(answersAfter)
	c.asked.Add(1)
	name, path, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	i, err := strconv.Atoi(strings.TrimPrefix(name, "n"))
	if err != nil {
		return played{status: http.StatusNotFound}, nil
	}
	answer, err := c.answer(method, "http://"+c.nodes[i%len(c.nodes)].Name()+".sim/"+path, question)
	if bytes.Contains(question, []byte(`"info.getNodeID"`)) {
		answer.body = ownID.ReplaceAll(answer.body, []byte(nodeID(i)))
	}
	return answer, err
}

func (c *crowd) answer(method, url string, question []byte) (played, error) {
	key := url + string(question)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, has := c.answers[key]; has && time.Since(known.at) < answersAreKept {
		return known, nil
	}
	in, err := http.NewRequestWithContext(context.Background(), method, url, bytes.NewReader(question))
	if err != nil {
		return played{}, err
	}
	in.Header.Set("Content-Type", "application/json")
	resp, err := c.to.RoundTrip(in)
	if err != nil {
		return played{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	c.answers[key] = played{time.Now(), resp.StatusCode, body}
	return c.answers[key], err
}
