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

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
)

var form = url.Values{"node": {"bravo"}, "for": {"45m"}, "comment": {"upgrade <1.15>"}}

// laterSilence has a silence that begins later, or an error. It records who changes silences.
type laterSilence struct {
	Silences
	err error
	by  []string
}

func (p *laterSilence) Silence(_ context.Context, _ [][]notify.Match, _ time.Duration, by, _ string) error {
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

// A person names a node, a validator, an L1, an alert or a label. Several words narrow it.
func TestAnythingCanBeSilenced(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="alpha"} 1
		avax_node_up{node="bravo"} 1
		avax_node_info{node="alpha",node_id="NodeID-a",version="v"} 1
		avax_validator_present{node_id="NodeID-a"} 1
		avax_validator_present{node_id="NodeID-x"} 1
		avax_l1_weight{chain="one"} 100
		avax_chain_height{node="alpha",chain="C"} 5
		avax_l1_validator_weight{chain="one",node_id="NodeID-v",validation_id="V1"} 100`)
	s.Labels = func() map[string]map[string]string {
		return map[string]map[string]string{"alpha": {"owner": "acme"}, "NodeID-x": {"owner": "acme", "name": "xray"}, "V1": {"name": "game", "owner": "acme"}}
	}
	sourced(t, s, group(rule("AvaxHeadLag", "warn", alerting.Firing, map[string]string{"node": "alpha", "chain": "C", "stage": "settled"})))
	for what, want := range map[string]string{
		"alpha":             "node=\"alpha\"\nnode_id=\"NodeID-a\"\n",
		"bravo":             "node=\"bravo\"\n",
		"NodeID-a":          "node=\"alpha\"\nnode_id=\"NodeID-a\"\n",
		"NodeID-x":          "node_id=\"NodeID-x\"\n",
		"xray":              "node_id=\"NodeID-x\"\n",
		"NodeID-v":          "node_id=\"NodeID-v\"\n",
		"game":              "validation_id=\"V1\"\n",
		"V1":                "validation_id=\"V1\"\n",
		"one":               "chain=\"one\"\n",
		"C":                 "chain=\"C\"\n",
		"AvaxHeadLag":       "alertname=\"AvaxHeadLag\"\n",
		"AvaxHeadLag alpha": "alertname=\"AvaxHeadLag\", node=\"alpha\"\nalertname=\"AvaxHeadLag\", node_id=\"NodeID-a\"\n",
		"AvaxHeadLag C":     "alertname=\"AvaxHeadLag\", chain=\"C\"\n",
		"severity=warn":     "severity=\"warn\"\n",
		"stage=settled":     "stage=\"settled\"\n",
		"owner=acme":        "owner=\"acme\"\nnode=~\"alpha\"\nnode_id=~\"NodeID-a|NodeID-x\"\nvalidation_id=~\"V1\"\n",
	} {
		if code, got := get(t, s, "/silence-matches?of="+url.QueryEscape(what)); code != 200 || got != want {
			t.Errorf("%s: %d %s", what, code, got)
		}
	}
	for what, want := range map[string]string{
		"alpah": `unknown node "alpah", and no validator, L1 or alert has this name: did you mean alpha?`, "": "nothing to silence",
		"colour=red": `no alert, node or validator has a label "colour"`, "a b c d e": "5 words", "AvaxHeadLag nobody": `unknown node "nobody"`,
	} {
		if code, got := get(t, s, "/silence-matches?of="+url.QueryEscape(what)); code != 404 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", what, code, got)
		}
	}
}
