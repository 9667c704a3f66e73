package web

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"
	"time"
)

//go:embed status.html
var statusHTML string

//go:embed status.css
var statusCSS string

// repository is where the documents are that the page leads to.
const repository = "https://github.com/avax-exporter/avax-exporter"

var statusPage = template.Must(template.New("status").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(statusCSS) },
	"runbook": func(alert string) string { return repository + "/blob/main/docs/runbooks/" + alert + ".md" },
	"docs":    func(page string) string { return repository + "/blob/main/docs/" + page },
	"count":   func(n int) string { return count(float64(n)) },
	"list":    func(items []string) string { return strings.Join(items, ", ") },
	"utc":     func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
}).Parse(statusHTML))

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
	if err := statusPage.Execute(&page, s.view(time.Now())); err != nil {
		s.Log.Error("status page", "err", err)
		http.Error(w, "the status page has a mistake, /metrics is not affected", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	body := zip(w, encodingOf(w, r))
	defer body.Close()
	_, _ = page.WriteTo(body)
}
