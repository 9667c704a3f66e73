package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// startRepeater: repeater — starts an upstream that rejects every request. Its error texts repeat the request with all
// secrets. $REPEATER is its host:port.
func startRepeater(ts *testscript.TestScript, _ bool, _ []string) {
	var answers atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		words := fmt.Sprintf("you sent %s %v %s", r.URL, r.Header, body)
		user, password, _ := r.BasicAuth()
		words += " as " + user + ":" + password
		quoted, _ := json.Marshal(words)
		answer := answers.Add(1) % 6
		if strings.HasPrefix(r.URL.Path, "/api/v2/") || strings.HasPrefix(r.URL.Path, "/canary-") {
			answer %= 3 // of an Alertmanager, a webhook and a heartbeat, a status of success is enough
		}
		if answer == 3 && !strings.HasPrefix(r.URL.Path, "/ext/") {
			answer = 5 // without this, the exporter would accept the answer of a service
		}
		switch answer {
		case 0:
			http.Error(w, words, http.StatusBadRequest)
		case 1:
			http.Error(w, `{"message":[`+string(quoted)+`]}`, http.StatusUnauthorized)
		case 2:
			http.Redirect(w, r, "http://"+user+":"+password+"@elsewhere.invalid/"+password, http.StatusFound)
		case 3:
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":`+string(quoted)+`},"id":1}`)
		case 4:
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0",`+string(quoted)+`:}`)
		case 5:
			_, _ = io.WriteString(w, words)
		}
	}))
	ts.Defer(server.Close)
	ts.Setenv("REPEATER", strings.TrimPrefix(server.URL, "http://"))
}

// getEverything: everything FILE [TEXT] — requests every path of the exporter, until the answers contain a text. It stores all answers with their
// headers, whatever their status.
func getEverything(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(testworld.Poll(of(ts).t, func() error {
		all := everyAnswer(ts)
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(all), 0o600))
		for _, text := range args[1:] {
			if !strings.Contains(all, text) {
				return fmt.Errorf("no %q in the answers:\n%s", text, all)
			}
		}
		return nil
	}))
}

func everyAnswer(ts *testscript.TestScript) string {
	ctx, cancel := context.WithDeadline(context.Background(), testworld.Deadline(of(ts).t))
	defer cancel()
	var all strings.Builder
	for _, ask := range []string{
		"GET /", "GET /metrics", "GET /alerts", "GET /alerts?format=json", "GET /api/v1/alerts", "GET /api/v1/incidents", "GET /api/v1/rules", "GET /api/v1/l1/C/plan",
		"GET /safe-to-stop", "GET /safe-to-stop?node=url", "GET /safe-to-remove?validation=url", "GET /-/ready", "GET /-/healthy", "GET /nowhere", "POST /-/reload",
	} {
		method, path, _ := strings.Cut(ask, " ")
		req, err := http.NewRequestWithContext(ctx, method, "http://"+ts.Getenv("AVAX_LISTEN")+path, nil)
		ts.Check(err)
		req.SetBasicAuth("prometheus", ts.Getenv("WEB_PASSWORD"))
		resp, err := http.DefaultClient.Do(req)
		ts.Check(err)
		fmt.Fprintf(&all, "%s: %s %v\n", ask, resp.Status, resp.Header)
		_, err = io.Copy(&all, resp.Body)
		ts.Check(err)
		ts.Check(resp.Body.Close())
	}
	return all.String()
}

// secretless: secretless FILE… — fails if a file contains a secret of the script: the canary, me:canary in the form of basic
// authentication, a password hash, or a line of a key.
func secretless(ts *testscript.TestScript, _ bool, args []string) {
	secrets := []string{"canary", "bWU6Y2FuYXJ5", "$2a$"}
	keys, err := filepath.Glob(ts.MkAbs("*.key"))
	ts.Check(err)
	for _, key := range keys {
		text, err := os.ReadFile(key)
		ts.Check(err)
		if lines := strings.Split(string(text), "\n"); lines[1] != "" {
			secrets = append(secrets, lines[1])
		}
	}
	for _, file := range args {
		text := ts.ReadFile(file)
		if text == "" {
			ts.Fatalf("%s is empty", file)
		}
		for line := range strings.Lines(text) {
			for _, secret := range secrets {
				if strings.Contains(line, secret) {
					ts.Fatalf("%s contains the secret %s: %s", file, secret, line)
				}
			}
		}
	}
}
