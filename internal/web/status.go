package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"net/http"
	"time"
)

//go:embed status.css
var statusCSS string

// repository is where the documents are that the page leads to.
const repository = "https://github.com/avax-exporter/avax-exporter"

// policy lets the page show what is in it and nothing else: its one style, its
// icon, no script.
var policy = func() string {
	style := sha256.Sum256([]byte(statusCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(style[:]) +
		"'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
}()

// status is the page for people, made on the server from the samples that
// /metrics serves at this moment.
func (s *Site) status(w http.ResponseWriter, r *http.Request) {
	var page bytes.Buffer
	if err := statusPage(s.view(time.Now())).Render(&page); err != nil {
		s.Log.Error("status page", "err", err)
		http.Error(w, "the status page has a mistake, /metrics is not affected", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	body := zip(w, encodingOf(w, r))
	defer body.Close()
	_, _ = page.WriteTo(body)
}
