package app_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// BenchmarkPage measures one scrape of the demo, with the headers of Prometheus 2 and 3.
func BenchmarkPage(b *testing.B) {
	network := simnet.New(simnet.Options{Seed: 1})
	env := withoutRules()
	env.Nodes = "alpha=http://alpha.sim,bravo=http://bravo.sim,charlie=http://charlie.sim,foxtrot=http://foxtrot.sim"
	env.Chains = "C,examplel1=" + network.Chain("examplel1").ID + ",examplepoa=" + network.Chain("examplepoa").ID
	c, err := env.Parse()
	if err != nil {
		b.Fatal(err)
	}
	c.Transport = network.Transport()
	ctx, cancel := context.WithCancel(b.Context())
	h, err := app.New(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer h.Wait()
	defer cancel()
	for ran, of := 0, 1; ran < of; ran, of = h.Progress() {
		time.Sleep(time.Millisecond)
	}
	for name, header := range map[string][2]string{
		"text":             {acceptCurl, "identity"},
		"text, gzip":       {acceptCurl, "gzip"},
		"OpenMetrics,gzip": {acceptOpenMetrics, "gzip"},
		"protobuf,gzip":    {acceptProtobuf, "gzip"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			handler := h.Handler()
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil)
			r.Header.Set("Accept", header[0])
			r.Header.Set("Accept-Encoding", header[1])
			for b.Loop() {
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				b.SetBytes(int64(w.Body.Len()))
			}
		})
	}
}
