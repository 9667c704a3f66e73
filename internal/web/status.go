package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"io"
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

// status serves the page for people, made on the server from what is known at
// this moment.
type status struct {
	site *Site
	page shared
}

func (s *status) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, err := s.page.get(func(w io.Writer) error { return statusPage(s.site.view(time.Now())).Render(w) })
	if err != nil {
		s.site.Log.Error("status page", "err", err)
		http.Error(w, "the status page has a mistake, /metrics is not affected", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = writePage(w, page, encodingOf(w, r)) // a browser may go away
}
