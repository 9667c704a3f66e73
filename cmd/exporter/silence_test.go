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

// A command that fails leaves nothing silenced.
func TestSilencesBeforeAnErrorAreEnded(t *testing.T) {
	var ended []string
	posts := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/silence-matches":
			fmt.Fprint(w, alphaMatches+"validation_id=\"V\"\n")
		case r.Method == http.MethodDelete && r.URL.Path == "/api/v2/silence/s2":
			http.Error(w, "no", http.StatusInternalServerError)
		case r.Method == http.MethodDelete:
			ended = append(ended, r.URL.Path)
		case posts == 2:
			http.Error(w, "too many", http.StatusBadRequest)
		default:
			posts++
			fmt.Fprintf(w, `{"silenceID":"s%d"}`, posts)
		}
	}))
	t.Cleanup(s.Close)
	var out strings.Builder
	err := runSilence(t.Context(), []string{"--from", s.URL, "alpha", "30m"}, &out, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "too many") || !strings.Contains(err.Error(), "silence s2 was created and cannot be ended") ||
		strings.Contains(err.Error(), "silence s1") {
		t.Error(err)
	}
	if fmt.Sprint(ended) != "[/api/v2/silence/s1]" || out.Len() > 0 {
		t.Errorf("ended %q, printed %q", ended, &out)
	}
}

// Arguments are matchers as those of amtool: a value may have spaces and commas.
func TestSilenceSendsMatchers(t *testing.T) {
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.FormValue("of")
		http.Error(w, "unknown", http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	for want, args := range map[string][]string{
		`alertname="AvaxHeadLag",owner="Acme, Corp",node!="alpha"`: {"alertname=AvaxHeadLag", "owner=Acme, Corp", "node!=alpha"},
		"game 1": {"game 1"},
	} {
		_ = runSilence(t.Context(), append(append([]string{"--from", s.URL}, args...), "30m"), io.Discard, io.Discard)
		if asked != want {
			t.Errorf("asked about %s, want %s", asked, want)
		}
	}
	err := runSilence(t.Context(), []string{"--from", s.URL, "AvaxHeadLag", "node=alpha", "30m"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "write each matcher as an argument") {
		t.Error(err)
	}
}
