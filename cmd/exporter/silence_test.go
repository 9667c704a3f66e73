package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// guarded starts a server that requires an Authorization header, and returns its URL.
func guarded(t *testing.T, authorization, answer string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != authorization {
			http.Error(w, "<p>who are you?", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const alphaMatches = `node="alpha"
node_id="NodeID-a"
`

func TestSilenceUsesCredentialsOfAlertmanager(t *testing.T) {
	t.Setenv("AVAX_ALERTMANAGERS", guarded(t, "Bearer canary", `{"silenceID":"one"}`))
	t.Setenv("AVAX_HTTP_CONFIG_FILE", testworld.File(t, `[{upstreams: [alertmanager], http_config: {authorization: {credentials: canary}}}]`))
	var out strings.Builder
	must.Do(t, runSilence(t.Context(), []string{"--from", guarded(t, "", alphaMatches), "alpha", "30m"}, &out, io.Discard))
	if n := strings.Count(out.String(), "(silence one)"); n != 2 {
		t.Errorf("%d silences were created, want those of the node and of its node ID:\n%s", n, &out)
	}
}

// If the exporter denies access, the error has the remedy.
func TestPasswordMissing(t *testing.T) {
	url := guarded(t, "Basic canary", "")
	err := runSilence(t.Context(), []string{"--from", url, "alpha", "30m"}, io.Discard, io.Discard)
	_, tool := tools[0].answer(t.Context(), exporter{address: url}, nil)
	for command, err := range map[string]error{"silence": err, "mcp": tool} {
		if err == nil || !strings.Contains(err.Error(), "answers 401 Unauthorized; write the user and the password in --from") {
			t.Errorf("%s: %v", command, err)
		}
	}
}
