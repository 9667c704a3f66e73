package app_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestMain(m *testing.M) {
	testworld.SyntheticTime()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		http.DefaultClient.CloseIdleConnections()
		os.Exit(code)
	}))
}

// exporter is a running exporter, accessed over HTTP.
type exporter struct{ url string }

// start runs the exporter with this environment until the test ends, and returns after the first run of every collector.
func start(t *testing.T, env config.Environment) exporter {
	t.Helper()
	return startLogging(t, env, t.Output())
}

const day = 24 * time.Hour

func startLogging(t *testing.T, env config.Environment, log io.Writer) exporter {
	t.Helper()
	env["LISTEN"] = "127.0.0.1:0"
	c := must.Get(env.Parse())(t)
	ctx, cancel := context.WithCancel(context.Background())
	address := make(chan net.Addr, 1)
	stopped := make(chan error, 1)
	go func() {
		stopped <- app.Run(ctx, app.Options{
			Config: c, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Started: func(a net.Addr) { address <- a },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("exporter exited: %v", err)
		}
	})
	var e exporter
	select {
	case a := <-address:
		e.url = "http://" + a.String()
	case err := <-stopped:
		stopped <- nil
		t.Fatal(err)
	}
	e.until(t, "/-/ready", func(status int, _ string) bool { return status == http.StatusOK })
	return e
}

// get requests a page of the exporter.
func (e exporter) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, e.url+path, nil))(t)
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(text)
}

// until repeats a request until the answer is accepted.
func (e exporter) until(t *testing.T, path string, wanted func(status int, body string) bool) (body string) {
	t.Helper()
	testworld.Await(t, path, func() (err error) {
		var status int
		if status, body = e.get(t, path); !wanted(status, body) {
			err = fmt.Errorf("status %d:\n%s", status, body)
		}
		return err
	})
	return body
}

// samples parses a page of the text format: values by series.
func samples(t *testing.T, page string) testworld.Samples {
	t.Helper()
	return must.Get(testworld.ParseSamples(page))(t)
}
