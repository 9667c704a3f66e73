package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// answers are what a server may answer to /safe-to-stop, and whether it is a yes of the exporter.
var stopAnswers = []struct {
	name  string
	yes   bool
	serve http.HandlerFunc
}{
	{"yes", true, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "yes: without it 91.91 % of the stake of P would stay connected, 80 % is needed")
	}},
	{"no", false, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no: P: 59.8 %", http.StatusConflict) }},
	{"not known", false, func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not known: P", http.StatusServiceUnavailable)
	}},
	{"no with 200", false, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "no: P: 59.8 %") }},
	{"login page", false, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "<!doctype html><title>Log in</title>") }},
	{"login page that begins with yes", false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintln(w, "yes <p>Log in")
	}},
	{"redirect to a login page", false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			fmt.Fprintln(w, "<!doctype html><title>Log in</title>")
			return
		}
		http.Redirect(w, r, "/login", http.StatusFound)
	}},
	{"redirect to a yes", false, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			fmt.Fprintln(w, "yes: this is another exporter")
			return
		}
		http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
	}},
	{"nothing", false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
	{"empty", false, func(http.ResponseWriter, *http.Request) {}},
	{"JSON", false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintln(w, `{"yes": true}`)
	}},
}

func TestOnlyTheExportersYesIsYes(t *testing.T) {
	for _, answer := range stopAnswers {
		server := httptest.NewServer(answer.serve)
		defer server.Close()
		for _, path := range []string{"/safe-to-stop?node=a", "/safe-to-remove?validation=a"} {
			text, err := exporter{address: server.URL, token: "secret"}.verdict(t.Context(), path)
			if (err == nil) != answer.yes {
				t.Errorf("%s: %s: %q, %v", path, answer.name, text, err)
			}
		}
	}
}

// The loops of the documents end only for the exporter's yes.
func TestDocumentedLoopsEndOnlyForYes(t *testing.T) {
	testworld.Needs(t, "curl")
	documents := must.Get(filepath.Glob("../../docs/*.md"))(t)
	more := must.Get(filepath.Glob("../../docs/runbooks/*.md"))(t)
	loop := regexp.MustCompile(`(?:until|while|if) (.*(?:safe-to-stop|safe-to-remove|is-back).*?); (?:do|then)`)
	loops := 0
	for _, name := range append(append(documents, more...), "../../README.md") {
		text := must.Get(os.ReadFile(name))(t)
		for _, found := range loop.FindAllStringSubmatch(string(text), -1) {
			condition := found[1]
			if strings.HasPrefix(condition, "avax-exporter ") || strings.HasPrefix(condition, "ask ") {
				continue // TestOnlyTheExportersYesIsYes, TestDocumentedStatefulSetWaitsForYes
			}
			loops++
			for _, answer := range stopAnswers {
				server := httptest.NewServer(answer.serve)
				command := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(condition, "http://exporter:9865", server.URL))
				command.Env = append(os.Environ(), "node=a", "began=1", "http_proxy=", "HTTP_PROXY=")
				out, err := command.Output()
				server.Close()
				if (err == nil) != answer.yes {
					t.Errorf("%s: %s: %s: %q, %v", name, condition, answer.name, out, err)
				}
			}
		}
	}
	if loops == 0 {
		t.Error("no loop found")
	}
}
