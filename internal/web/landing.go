package web

import (
	"bytes"
	"net/http"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"
	h "maragu.dev/gomponents/html"
)

// landing serves the start page of an exporter without a source of alerts: links, and the state of the collectors.
func (s *Site) landing(w http.ResponseWriter, r *http.Request) error {
	var state bytes.Buffer
	if err := h.Div(dim("Alerts are not evaluated here: "+errNoSource.Error()+"."), collectorSections(s.Store.Jobs(), judge(nil, nil), time.Now())).Render(&state); err != nil {
		return err
	}
	page, err := toolkit.NewLandingPage(toolkit.LandingConfig{
		Name: "avax-exporter", Description: "Prometheus exporter for Avalanche nodes, validators and L1s", Version: s.Version,
		CSS: statusCSS, ExtraHTML: state.String(), Profiling: "false",
		Links: []toolkit.LandingLinks{
			{Address: "metrics", Text: "Metrics"}, {Address: "safe-to-stop", Text: "Safe to stop", Description: "whether a node may be stopped, with ?node=NAME"},
			{Address: "-/ready", Text: "Ready"}, {Address: "-/healthy", Text: "Healthy"},
		},
	})
	if err != nil {
		return err
	}
	page.ServeHTTP(w, r)
	return nil
}
