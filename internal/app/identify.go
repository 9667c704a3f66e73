package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/remedy"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// others returns a line for each node at whose address another program answers, or one that speaks TLS.
func (t *targets) others(ctx context.Context, jobs []*metric.Job) (lines []string) {
	for _, c := range t.conns {
		fails := func(as func(error) bool) bool {
			return slices.ContainsFunc(jobs, func(j *metric.Job) bool { return j.Last.Target.Node == c.Name && as(j.Last.Err) })
		}
		if fails(isNoNode) {
			if program := t.program(ctx, c); program != "" {
				lines = append(lines, fmt.Sprintf("%s: %s answers at this address, not a node. A node's API is on port 9650.", c.Name, program))
			}
		} else if fails(isClosed) {
			if advice := ofTLS(ctx, c.URL); advice != "" {
				lines = append(lines, c.Name+": the server at this address speaks TLS. "+advice)
			}
		}
	}
	return lines
}

// isClosed reports whether a server closed the connection instead of an answer, as some do that expect TLS.
func isClosed(err error) bool {
	call, ok := errors.AsType[*scrape.Error](err)
	return ok && call.Outcome == scrape.Unreachable && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET))
}

// ofTLS returns what to do about an address with http:// where a server answers a TLS handshake; empty if none does.
func ofTLS(ctx context.Context, address string) string {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := new(tls.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "80")))
	if err == nil {
		_ = conn.Close()
	}
	_, ofCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	failed, _ := errors.AsType[*net.OpError](err)
	switch {
	case scrape.IsOfStaking(err):
		return scrape.StakingPort
	case err == nil, ofCertificate, failed != nil && failed.Op == "remote error": // the last is an alert of TLS
		return "Write https:// in its address."
	}
	return ""
}

// isNoNode reports whether an answer is that of a server without the API that every node has.
func isNoNode(err error) bool {
	call, ok := errors.AsType[*scrape.Error](err)
	return ok && strings.HasPrefix(call.Op, "info.") &&
		slices.Contains([]scrape.Outcome{scrape.NotFound, scrape.Malformed, scrape.Rejected, scrape.NotOffered}, call.Outcome)
}

var (
	healthy   = regexp.MustCompile(`^([A-Z][A-Za-z]+( Server| Agent)?) is (Healthy|Ready)`)
	buildInfo = regexp.MustCompile(`(?m)^(\w{3,40})_build_info\{`) // of most programs with metrics; go_build_info says nothing
	pageTitle = regexp.MustCompile(`(?i)<(?:title|h1|h2)>\s*([^<]{1,60}?)\s*</`)
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
	for _, ask := range []struct {
		path string
		name *regexp.Regexp
	}{{"/-/healthy", healthy}, {"/metrics", buildInfo}, {"/", pageTitle}} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.URL, "/")+ask.path, nil)
		if err != nil {
			return ""
		}
		r.URL.User = nil
		resp, err := client.Do(r)
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		_ = resp.Body.Close()
		if m := ask.name.FindSubmatch(body); m != nil && resp.StatusCode == http.StatusOK {
			return remedy.Brief(m[1])
		}
	}
	return ""
}
