package data_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// transport is a service in memory.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func respond(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

func refuse(status int, message string) *http.Response {
	return respond(status, `{"message":"`+message+`","error":"x","statusCode":0}`)
}

func open(t *testing.T, to transport) *scrape.Upstream {
	t.Helper()
	u, err := scrape.New(scrape.Options{Name: "data", URL: "https://data.example.com", Transport: to, Rate: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	return u
}
