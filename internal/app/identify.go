package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// others returns a line for each node at whose address another program answers.
func (t *targets) others(ctx context.Context, jobs []*metric.Job) (lines []string) {
	for _, c := range t.conns {
		if !slices.ContainsFunc(jobs, func(j *metric.Job) bool { return j.Last.Target.Node == c.Name && isNoNode(j.Last.Err) }) {
			continue
		}
		if program := t.program(ctx, c); program != "" {
			lines = append(lines, fmt.Sprintf("%s: %s answers at this address, not a node. A node's API is on port 9650.", c.Name, program))
		}
	}
	return lines
}

// isNoNode reports whether an answer is that of a server without the API that every node has.
func isNoNode(err error) bool {
	call, ok := errors.AsType[*scrape.Error](err)
	return ok && strings.HasPrefix(call.Op, "info.") &&
		slices.Contains([]scrape.Outcome{scrape.NotFound, scrape.Malformed, scrape.Rejected, scrape.NotOffered}, call.Outcome)
}

var (
	healthy   = regexp.MustCompile(`^([A-Z][A-Za-z]+( Server| Agent)?) is (Healthy|Ready)`)
	pageTitle = regexp.MustCompile(`(?i)<title>\s*([^<]{1,60}?)\s*</title>`)
)

// program returns the name by which the server at the address of a node calls itself; empty if it has none. No credentials are sent.
func (t *targets) program(ctx context.Context, c nodeConn) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	transport := t.cfg.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.TLSClientConfig = c.TLS
		defer own.CloseIdleConnections()
		transport = own
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host || len(via) > 3 {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	for path, form := range map[string]*regexp.Regexp{"/-/healthy": healthy, "/": pageTitle} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.URL, "/")+path, nil)
		if err != nil {
			return ""
		}
		r.URL.User = nil
		resp, err := client.Do(r)
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
		_ = resp.Body.Close()
		if m := form.FindSubmatch(body); m != nil && resp.StatusCode == http.StatusOK {
			return remedy.Brief(m[1])
		}
	}
	return ""
}
