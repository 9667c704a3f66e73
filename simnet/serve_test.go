package simnet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// serve opens sockets for a network whose nodes start almost at once.
func serve(t *testing.T) (net *simnet.Network, urls map[string]string, cancel func()) {
	t.Helper()
	net = simnet.New(simnet.Options{Startup: simnet.Startup{Listen: 30 * time.Millisecond}})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	urls = must.Get(net.Serve(ctx))(t)
	return net, urls, cancel
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return string(b), err
}

// eventually repeats a request until its answer is accepted.
func eventually(t *testing.T, url string, satisfies func(body string, err error) bool) {
	t.Helper()
	testworld.Await(t, url, func() error {
		if body, err := get(t.Context(), url); !satisfies(body, err) {
			return errors.Join(fmt.Errorf("still %q", body), err)
		}
		return nil
	})
}

func TestRestartedNodeKeepsItsPort(t *testing.T) {
	net, urls, cancel := serve(t)
	if len(urls) != 9 || urls["metrics"] == "" || urls["data"] == "" || urls["observer"] == "" {
		t.Fatalf("got %v", urls)
	}
	health := urls["alpha"] + "/ext/health"
	if body, err := get(t.Context(), health); err != nil || !strings.Contains(body, `"healthy":true`) {
		t.Fatalf("got %q, %v", body, err)
	}
	refused := func(_ string, err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
	net.Node("alpha").Stop()
	eventually(t, health, refused)
	if body, err := get(t.Context(), urls["metrics"]+"/v1/avg_tps/43112"); err != nil || !strings.Contains(body, `"status":200`) {
		t.Errorf("other node: %q, %v", body, err)
	}
	if body, err := get(t.Context(), urls["data"]+"/v1/chains/43112/blocks/1249999"); err != nil || !strings.Contains(body, `"blockNumber":"1249999"`) {
		t.Errorf("Data service: %q, %v", body, err)
	}
	net.Node("alpha").Start()
	eventually(t, health, func(_ string, err error) bool { return err == nil })
	cancel()
	for _, url := range urls {
		eventually(t, url, refused)
	}
}

func TestConnectionFaultsOnRealSockets(t *testing.T) {
	net, urls, _ := serve(t)
	url, node := urls["alpha"]+"/ext/health", net.Node("alpha")

	node.Inject(simnet.Hung())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := get(ctx, url); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("hung: %v", err)
	}
	node.Recover()
	node.Inject(simnet.CutOff())
	if body, err := get(t.Context(), url); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasPrefix(body, `{"checks"`) {
		t.Errorf("cut off: %.20q, %v", body, err)
	}
	node.Recover()
	node.Inject(simnet.Reset())
	if _, err := get(t.Context(), url); err == nil {
		t.Error("reset: no error")
	}
	node.Recover()
	if body, err := get(t.Context(), url); err != nil || !strings.Contains(body, `"healthy":true`) {
		t.Errorf("recovered: %q, %v", body, err)
	}
}
