package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/notify"
)

var form = url.Values{"node": {"bravo"}, "for": {"45m"}, "comment": {"upgrade <1.15>"}}

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
