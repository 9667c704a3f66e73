package scrape_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// transport is an upstream in memory, which also works in synthetic time.
type transport = promhttp.RoundTripperFunc

// answering gives the same answer to every request.
func answering(body string) transport {
	return func(*http.Request) (*http.Response, error) { return respond(http.StatusOK, body), nil }
}

func respond(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
