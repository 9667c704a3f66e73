package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	httpconfig "github.com/prometheus/common/config"

	"github.com/avax-exporter/avax-exporter/internal/files"
	"github.com/avax-exporter/avax-exporter/scrape"
)

// askEvery is the interval between requests of a list of nodes at a URL.
const askEvery = 30 * time.Second

// nodesURL is a list of nodes that an HTTP server has, in Prometheus' http_sd format.
type nodesURL struct {
	mu     sync.Mutex
	access *httpconfig.HTTPClientConfig // nil: the default
	asked  time.Time                    // zero: never
	answer content
}

// isURL reports whether AVAX_NODES_FILE is a URL.
func isURL(path string) bool {
	return strings.HasPrefix(path, "http://") || strings.HasPrefix(path, "https://")
}

// place returns how errors name a file or a URL. The rest of the URL may be secret.
func place(path string) string {
	if u, err := url.Parse(path); isURL(path) && err == nil {
		return u.Scheme + "://" + u.Host
	}
	return path
}

// checkNodesURL returns an error if the URL cannot be requested.
func checkNodesURL(address string) error {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return errors.New("the URL contains a user or password: use basic_auth in AVAX_HTTP_CONFIG_FILE for the upstream discovery")
	}
	address, _, _ = strings.Cut(address, "?") // a list often has parameters
	return scrape.CheckURLLike(address, "https://inventory.example/nodes")
}

// refreshNodes requests the list of nodes again, if AVAX_NODES_FILE is a URL and the last answer is older than maxAge. It takes no lock of
// its caller, because it waits for a server.
func (c *Config) refreshNodes(ctx context.Context, maxAge time.Duration) {
	if !isURL(c.NodesFile) || checkNodesURL(c.NodesFile) != nil {
		return
	}
	l := &c.listed
	l.mu.Lock()
	recent, access := !l.asked.IsZero() && time.Since(l.asked) < maxAge, l.access
	l.mu.Unlock()
	if recent {
		return
	}
	timeout := time.Duration(c.Timeout)
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	data, err := c.requestNodes(ctx, access)
	if err != nil {
		err = fmt.Errorf("%s: %w", place(c.NodesFile), err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked, l.answer = time.Now(), content{data, err}
}

// requestNodes returns the answer of the server.
func (c *Config) requestNodes(ctx context.Context, access *httpconfig.HTTPClientConfig) ([]byte, error) {
	if access == nil {
		access = &httpconfig.HTTPClientConfig{EnableHTTP2: true, ProxyConfig: httpconfig.ProxyConfig{ProxyFromEnvironment: true}} // without redirects
	}
	client, err := httpconfig.NewClientFromConfig(*access, "nodes")
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	if c.Transport != nil {
		client.Transport = c.Transport
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.NodesFile, nil)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // it contains the URL
			err = wrapped.Err
		}
		return nil, fmt.Errorf("no list of nodes: %w: correct the URL, or start the server", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, files.MaxSize+1))
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, fmt.Errorf("status %s: add credentials for the upstream discovery to AVAX_HTTP_CONFIG_FILE", resp.Status)
	case scrape.SpeaksTLS(resp.StatusCode, body):
		return nil, errors.New("the server speaks TLS: write https:// in AVAX_NODES_FILE")
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %s: correct the URL", resp.Status)
	case kind != "application/json":
		return nil, fmt.Errorf("the answer is %.60q, not application/json: write the URL of a list in Prometheus' http_sd format", kind)
	}
	if err == nil && len(body) > files.MaxSize {
		err = fmt.Errorf("the list is larger than %d MiB: divide it", files.MaxSize>>20)
	}
	return body, err
}

// listedNodes returns the last answer of the server. The first call requests it.
func (c *Config) listedNodes() content {
	c.refreshNodes(context.Background(), 365*24*time.Hour)
	c.listed.mu.Lock()
	defer c.listed.mu.Unlock()
	return c.listed.answer
}

// setNodesAccess sets the credentials for the next request of the list.
func (c *Config) setNodesAccess(access *httpconfig.HTTPClientConfig) {
	c.listed.mu.Lock()
	defer c.listed.mu.Unlock()
	c.listed.access = access
}
