package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/notify"
)

const nodeDown = `
groups:
  - name: nodes
    rules:
      - {alert: NodeDown, expr: avax_node_up == 0, labels: {severity: page}, annotations: {summary: "{{ $labels.node }} is down"}}
`

// silencing runs a world whose site sends notifications.
func silencing(t *testing.T, authenticated bool, do func(s *world)) {
	t.Helper()
	inWorld(t, []byte(nodeDown), func(s *world) {
		ctx, cancel := context.WithCancel(s.ctx)
		n, err := notify.Start(ctx, notify.Options{
			Config:     notify.Config{Text: []byte("route: {receiver: nobody}\nreceivers: [{name: nobody}]")},
			Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer n.Wait()
		defer cancel()
		s.site.Silences = n
		if !authenticated {
			s.site.Access = Access{}
		}
		do(s)
	})
}

// post submits a form, and returns the status and the redirect.
func (s *world) post(path string, form url.Values, headers ...string) (status int, to, body string) {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("olga", "secret")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.site.Handler().ServeHTTP(w, r)
	return w.Code, w.Header().Get("Location"), w.Body.String()
}

var form = url.Values{"node": {"bravo"}, "for": {"45m"}, "comment": {"upgrade <1.15>"}}

func TestAlertsPageCreatesAndEndsSilences(t *testing.T) {
	silencing(t, true, func(s *world) {
		s.network.Node("bravo").Stop()
		s.wait(3 * time.Minute)
		demand(t, s.get("/alerts"), "No silences", `href="alerts?silence=bravo#silences"`)
		demand(t, s.get("/alerts?silence=bravo"), `name="node" value="bravo"`, `href="safe-to-stop?node=bravo"`)
		if status, to, body := s.post("/alerts/silence", form, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther || to != "../alerts#silences" {
			t.Fatalf("status %d, redirect %q: %s", status, to, body)
		}
		page := s.get("/alerts")
		demand(t, page, `node="bravo"`, `node_id="NodeID-`, "olga", "upgrade <1.15>", "44 min left", "!No silences")
		ids := regexp.MustCompile(`name="id" value="([^"]+)"`).FindAllStringSubmatch(page, -1)
		if len(ids) != 2 {
			t.Fatalf("%d silences with an end button, want 2", len(ids))
		}
		for _, id := range ids {
			if status, _, body := s.post("/alerts/end", url.Values{"id": {id[1]}}, "Sec-Fetch-Site", "same-origin"); status != http.StatusSeeOther {
				t.Fatalf("%d: %s", status, body)
			}
		}
		demand(t, s.get("/alerts"), "No silences")
		for _, wrong := range []url.Values{
			{"node": {"nobody"}, "for": {"30m"}}, {"node": {"bravo"}, "for": {"-1h"}}, {"node": {"bravo"}, "for": {"tomorrow"}}, {"node": {""}, "for": {"1h"}},
		} {
			if status, _, _ := s.post("/alerts/silence", wrong); status != http.StatusBadRequest {
				t.Errorf("%v: status %d", wrong, status)
			}
		}
		demand(t, s.get("/alerts"), "No silences")
	})
}

func TestSilencesRejectCrossSiteRequests(t *testing.T) {
	silencing(t, true, func(s *world) {
		for _, headers := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://evil.example"}, {"Origin", "null"},
		} {
			if status, _, _ := s.post("/alerts/silence", form, headers...); status != http.StatusForbidden {
				t.Errorf("%s: %s: status %d", headers[0], headers[1], status)
			}
		}
		demand(t, s.get("/alerts"), "No silences")
		w := httptest.NewRecorder()
		s.site.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/alerts/silence?"+form.Encode(), nil))
		if w.Code == http.StatusSeeOther || w.Code == http.StatusOK {
			t.Errorf("GET: status %d", w.Code)
		}
		demand(t, s.get("/alerts"), "No silences")
	})
}

func TestSilenceFormNeedsAccess(t *testing.T) {
	silencing(t, false, func(s *world) {
		if err := s.site.Silences.Silence(t.Context(), notify.NodeMatches("bravo", ""), longestSilence, "olga", "upgrade"); err != nil {
			t.Fatal(err)
		}
		demand(t, s.get("/alerts?silence=alpha"), `node="bravo"`, `avax-exporter silence --comment "why" alpha 30m`, "!<form", "!<button")
		if status, _, _ := s.post("/alerts/silence", form); status != http.StatusForbidden {
			t.Errorf("status %d", status)
		}
	})
}

// laterSilence has a silence that begins later, or an error. It records who changes silences.
type laterSilence struct {
	Silences
	err error
	by  []string
}

func (p *laterSilence) Silence(_ context.Context, _ []notify.Match, _ time.Duration, by, _ string) error {
	p.by = append(p.by, by)
	return nil
}

type laterSilences struct{ *laterSilence }

func (p laterSilences) Silences(context.Context) ([]notify.Silence, error) {
	return []notify.Silence{{Starts: time.Now().Add(2 * time.Hour), Ends: time.Now().Add(3 * time.Hour)}}, p.err
}

func TestSilenceNamesItsUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := siteWith(t, `avax_node_up{node="bravo"} 1`)
		sourced(t, s, group())
		silences := &laterSilence{}
		s.Silences = laterSilences{silences}
		certificate := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: "ops"}}}}
		for _, test := range []struct {
			user string
			tls  *tls.ConnectionState
		}{{"olga", certificate}, {"", certificate}, {"", nil}} {
			r := httptest.NewRequest(http.MethodPost, "/alerts/silence", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if r.TLS = test.tls; test.user != "" {
				r.SetBasicAuth(test.user, "secret")
			}
			w := httptest.NewRecorder()
			if s.Handler().ServeHTTP(w, r); w.Code != http.StatusSeeOther {
				t.Fatalf("%d: %s", w.Code, w.Body)
			}
		}
		if want := []string{"olga", "ops", "web"}; !slices.Equal(silences.by, want) {
			t.Errorf("silences by %q, want %q", silences.by, want)
		}
		demand(t, read(t, ask(t, s, http.MethodGet, "/alerts").Body), "3 h left, begins in 2 h")
		time.Sleep(2 * time.Second)
		silences.err = errors.New("connection refused")
		demand(t, read(t, ask(t, s, http.MethodGet, "/alerts").Body), "Silences cannot be read: connection refused", "!No silences", "!begins in")
	})
}
