package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"

	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/status"
)

var form = url.Values{"node": {"bravo"}, "for": {"45m"}, "comment": {"upgrade <1.15>"}}

// laterSilence has a silence that begins later, or an error. It records who changes silences.
type laterSilence struct {
	Silences
	err     error
	by      []string
	comment string
}

func (p *laterSilence) Silence(_ context.Context, _ []labels.Matchers, _ time.Duration, by, comment string) error {
	p.by, p.comment = append(p.by, by), comment
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
		ops := &x509.Certificate{Subject: pkix.Name{CommonName: "ops"}}
		checked := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{ops}, VerifiedChains: [][]*x509.Certificate{{ops}}}
		unchecked := &tls.ConnectionState{PeerCertificates: []*x509.Certificate{ops}}
		for _, test := range []struct {
			user     string
			password bool // whether the server checks passwords
			tls      *tls.ConnectionState
			want     string
		}{
			{"olga", true, checked, "olga"}, {"olga", true, nil, "olga"}, {"olga", false, nil, "not known"}, {"olga", false, checked, "ops"},
			{"", false, checked, "ops"}, {"", false, unchecked, "not known"}, {"", false, nil, "not known"},
		} {
			s.Access = Access{TrustLoopback: true, Authenticates: func() bool { return test.password }}
			r := httptest.NewRequest(http.MethodPost, "http://localhost/alerts/silence", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.RemoteAddr = "127.0.0.1:1"
			if r.TLS = test.tls; test.user != "" {
				r.SetBasicAuth(test.user, "secret")
			}
			w := httptest.NewRecorder()
			if s.Handler().ServeHTTP(w, r); w.Code != http.StatusSeeOther {
				t.Fatalf("%d: %s", w.Code, w.Body)
			}
			if by := silences.by[len(silences.by)-1]; by != test.want {
				t.Errorf("%+v: silence by %q", test, by)
			}
		}
		demand(t, read(t, ask(t, s, http.MethodGet, "/alerts").Body), "3 h left, begins in 2 h")
		time.Sleep(2 * time.Second)
		silences.err = errors.New("connection refused")
		demand(t, read(t, ask(t, s, http.MethodGet, "/alerts").Body), "Silences cannot be read: connection refused", "!No silences", "!begins in")
	})
}

// A person names a node, a validator, an L1 or an alert, or writes matchers as for amtool.
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
		return map[string]map[string]string{"NodeID-x": {"name": "xray"}, "V1": {"name": "game 1"}, "alpha": {"team": "red"}}
	}
	sourced(t, s, group(rule("AvaxHeadLag", "warn", alerting.Firing, map[string]string{"node": "alpha", "chain": "C", "owner": "Acme Corp"})))
	const ofAlpha = "node=\"alpha\"\nnode_id=\"NodeID-a\"\nupstream=\"alpha\"\ntarget=~\"alpha(/.*)?\"\n"
	for what, want := range map[string]string{
		"alpha":                             ofAlpha,
		"bravo":                             "node=\"bravo\"\nupstream=\"bravo\"\ntarget=~\"bravo(/.*)?\"\n",
		"NodeID-a":                          ofAlpha,
		"NodeID-x":                          "node_id=\"NodeID-x\"\n",
		"xray":                              "node_id=\"NodeID-x\"\n",
		"NodeID-v":                          "node_id=\"NodeID-v\"\n",
		"game 1":                            "validation_id=\"V1\"\n",
		"V1":                                "validation_id=\"V1\"\n",
		"one":                               "chain=\"one\"\n",
		"C":                                 "chain=\"C\"\n",
		"AvaxHeadLag":                       "alertname=\"AvaxHeadLag\"\n",
		"alertname=AvaxHeadLag, node=alpha": "alertname=\"AvaxHeadLag\",node=\"alpha\"\n",
		`owner="Acme Corp",severity!=page`:  "owner=\"Acme Corp\",severity!=\"page\"\n",
		`node=~"a.*|b.*",chain!~C`:          "node=~\"a.*|b.*\",chain!~\"C\"\n",
	} {
		if code, got := get(t, s, "/silence-matches?of="+url.QueryEscape(what)); code != 200 || got != want {
			t.Errorf("%s: %d %s", what, code, got)
		}
	}
	for what, want := range map[string]string{
		"alpah": `unknown node "alpah", and no validator, L1 or alert has this name: did you mean alpha?`, "": "nothing to silence",
		"colour=red": `no alert has a label "colour"`, "team=red": "AVAX_ALERT_LABELS gives alerts the labels of nodes", `node=~"("`: "missing closing",
		"AvaxHeadLag alpha": "write matchers, such as alertname=AvaxHeadLag, node=alpha",
	} {
		if code, got := get(t, s, "/silence-matches?of="+url.QueryEscape(what)); code != 404 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s", what, code, got)
		}
	}
}

// Where nothing evaluates rules, or the Prometheus does not answer, the built-in alerts and the labels of series have their names, and an error says what
// is not known.
func TestAlertsCanBeSilencedWithoutTheirRules(t *testing.T) {
	for name, source := range map[string]alerting.Source{"no source": nil, "no answer": &stored{err: errors.New("connection refused")}} {
		s := siteWith(t, `avax_node_up{node="alpha"} 1`)
		s.Source = source
		for what, want := range map[string]string{
			"alertname=AvaxHeadLag,severity=page": "alertname=\"AvaxHeadLag\",severity=\"page\"\n", "alertname=Mine": "alertname=\"Mine\"\n", "check=disk": "check=\"disk\"\n",
		} {
			if code, got := get(t, s, "/silence-matches?of="+url.QueryEscape(what)); code != 200 || got != want {
				t.Errorf("%s: %s: %d %s", name, what, code, got)
			}
		}
		because := map[string]string{"no source": "because alerts are not evaluated here", "no answer": "because connection refused"}[name]
		for _, what := range []string{"Mine", "colour=red"} {
			code, got := get(t, s, "/silence-matches?of="+url.QueryEscape(what))
			if code != 404 || !strings.Contains(got, because) || !strings.Contains(got, "as alertname=NAME") {
				t.Errorf("%s: %s: %d %s", name, what, code, got)
			}
		}
	}
}

// The link under an alert silences this alert and no other: not that of another severity, nor one that differs in any label.
func TestSilenceOnlyThisSilencesOneAlert(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="alpha"} 1
		avax_node_info{node="alpha",node_id="NodeID-a",version="v"} 1`)
	s.Silences = laterSilences{&laterSilence{}}
	rules := []alerting.Rule{
		rule("DataTooOld", "warn", alerting.Firing, map[string]string{"collector": "admin", "target": "alpha"},
			map[string]string{"collector": "admin", "target": "bravo"}, map[string]string{"collector": "heads", "target": "alpha/C"}),
		rule("DataTooOld", "page", alerting.Firing, map[string]string{"collector": "admin", "target": "alpha"}),
		rule("WalletDry", "warn", alerting.Firing, map[string]string{"address": "0x1", "chain": "C"}, map[string]string{"address": "0x2", "chain": "C"}),
		rule("OwnerChanged", "page", alerting.Firing, map[string]string{"subnet_id": "S1"}, map[string]string{"subnet_id": "S2"}),
		rule("HeadStale", "page", alerting.Firing, map[string]string{"node": "alpha", "chain": "C", "owner": "acme"},
			map[string]string{"node": "alpha", "chain": "one", "owner": "acme"}),
		rule("BalanceLow", "warn", alerting.Firing, map[string]string{"node_id": "NodeID-a", "chain": "one", "validation_id": "V1"},
			map[string]string{"node_id": "NodeID-a", "chain": "two", "validation_id": "V2"}),
		rule("L1Halts", "page", alerting.Firing, map[string]string{"chain": "one", "owner": "acme"}, map[string]string{"chain": "one", "owner": "beam"}),
		rule("CheckFails", "warn", alerting.Firing, map[string]string{"node": "alpha", "check": `disk "a" full`}, map[string]string{"node": "alpha", "check": "disk b"}),
	}
	sourced(t, s, group(rules...))
	page := read(t, ask(t, s, http.MethodGet, "/alerts").Body)
	only := regexp.MustCompile(`href="explain\?([^"]*)">Explain</a>(?:[^<]|<a[^>]*>[^S]|<a[^>]*>Silence [^o]|</a>)*<a href="alerts\?silence=([^"#]*)#silences">Silence only this`)
	var silenced, explained []string
	for _, link := range only.FindAllStringSubmatch(page, -1) {
		explained = append(explained, link[1])
		_, sets := get(t, s, "/silence-matches?of="+html.UnescapeString(link[2]))
		var these []string
		for line := range strings.Lines(sets) {
			matchers, err := labels.ParseMatchers(line)
			if err != nil {
				t.Fatalf("%s: %s", link[2], sets)
			}
			for _, r := range rules {
				for _, a := range r.Alerts {
					if labels.Matchers(matchers).Matches(notify.LabelSet(a.Labels)) {
						these = status.AppendNew(these, fmt.Sprint(a.Labels))
					}
				}
			}
		}
		if len(these) != 1 || strings.Count(sets, "\n") != 1 {
			t.Errorf("%s silences %d alerts, want one by one silence: %s", link[2], len(these), sets)
		}
		silenced = append(silenced, these...)
	}
	slices.Sort(silenced)
	if n := len(slices.Compact(silenced)); n != 15 {
		t.Errorf("%d of 15 alerts have a link that silences only them", n)
	}
	for _, want := range []string{"target=alpha%2FC", "target=bravo", "target=0x2", "target=S2", "target=alpha"} {
		if !slices.ContainsFunc(explained, func(link string) bool { return strings.HasSuffix(link, want) }) {
			t.Errorf("no link explains %s: %q", want, explained)
		}
	}
}

// A silence of a node is about the alerts that its page shows and that color it, whatever label names the node.
func TestSilenceOfANodeIsAboutWhatItsPageShows(t *testing.T) {
	for _, test := range []struct {
		labels map[string]string
		is     bool
	}{
		{map[string]string{"node": "al.pha"}, true},
		{map[string]string{"node": "al.pha", "chain": "C"}, true},
		{map[string]string{"node_id": "NodeID-a"}, true},
		{map[string]string{"collector": "admin", "target": "al.pha"}, true},
		{map[string]string{"collector": "heads", "target": "al.pha/C"}, true},
		{map[string]string{"collector": "heads", "target": "al.pha/new"}, true},
		{map[string]string{"upstream": "al.pha"}, true},
		{map[string]string{"node": "alxpha"}, false},
		{map[string]string{"node": "al.pha2"}, false},
		{map[string]string{"node_id": "NodeID-b"}, false},
		{map[string]string{"target": "al.pha2"}, false},
		{map[string]string{"target": "alxpha/C"}, false},
		{map[string]string{"target": "other/al.pha"}, false},
		{map[string]string{"upstream": "data"}, false},
		{map[string]string{"chain": "C"}, false},
	} {
		s := siteWith(t, `
			avax_node_up{node="al.pha"} 1
			avax_node_info{node="al.pha",node_id="NodeID-a",version="v"} 1
			avax_chain_height{node="al.pha",chain="C"} 5`)
		s.Silences = laterSilences{&laterSilence{}}
		r := rule("Mine", "page", alerting.Firing, test.labels)
		r.Alerts[0].Annotations["summary"] = "it is wrong"
		sourced(t, s, group(r))
		for _, what := range []string{"al.pha", "NodeID-a"} {
			_, sets := get(t, s, "/silence-matches?of="+what)
			silenced := false
			for line := range strings.Lines(sets) {
				matchers, err := labels.ParseMatchers(line)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				silenced = silenced || labels.Matchers(matchers).Matches(notify.LabelSet(r.Alerts[0].Labels))
			}
			if silenced != test.is {
				t.Errorf("%v: silenced by %s: %v", test.labels, what, silenced)
			}
		}
		if _, page := get(t, s, "/alerts"); strings.Contains(page, ">Silence al.pha</a>") != test.is {
			t.Errorf("%v: a link to silence the node: %v", test.labels, !test.is)
		}
		v := s.view(t.Context(), nil, "", time.Now())
		if red := v.rowOf(v.Node("al.pha")).urgency.Severity == status.Bad; red != test.is {
			t.Errorf("%v: colors the node: %v", test.labels, red)
		}
		if _, page := get(t, s, "/node/al.pha"); strings.Contains(page, "it is wrong") != test.is {
			t.Errorf("%v: on the page of the node: %v", test.labels, !test.is)
		}
	}
}

// A node ID that two nodes claim is left out of a silence, and the silence says so.
func TestClaimedNodeIDIsNotSilenced(t *testing.T) {
	s := siteWith(t, `
		avax_node_up{node="alpha"} 1
		avax_node_up{node="charlie"} 1
		avax_node_up{node="old"} 0
		avax_node_up{node="moved"} 1
		avax_node_info{node="alpha",node_id="NodeID-a",version="v"} 1
		avax_node_info{node="charlie",node_id="NodeID-a",version="v"} 1
		avax_node_info{node="old",node_id="NodeID-m",version="v"} 1
		avax_node_info{node="moved",node_id="NodeID-m",version="v"} 1`)
	sourced(t, s, group())
	silences := &laterSilence{}
	s.Silences = laterSilences{silences}
	for what, id := range map[string]string{"charlie": "", "alpha": "", "NodeID-a": "NodeID-a", "moved": "NodeID-m", "old": ""} {
		_, sets := get(t, s, "/silence-matches?of="+url.QueryEscape(what))
		text, _, left := strings.Cut(sets, " reports, too\n")
		if left = left && strings.HasPrefix(text, "# without the alerts about NodeID-"); left != (id == "") || strings.Contains(sets, "node_id=") != (id != "") {
			t.Errorf("%s: %s", what, sets)
		}
	}
	if err := s.silence(t.Context(), "charlie", "30m", "olga", "disk"); err != nil {
		t.Fatal(err)
	}
	if want := "disk (without the alerts about NodeID-a, which alpha reports, too)"; silences.comment != want {
		t.Errorf("comment %q, want %q", silences.comment, want)
	}
}

// Silences of one second, author and comment share a row only if they were created at once.
func TestSilencesOfDifferentNodesAreRowsOfTheirOwn(t *testing.T) {
	at := time.Now()
	one := func(matches string, after time.Duration) notify.Silence {
		return notify.Silence{By: "olga", Comment: "disk", Matches: matches, Starts: at.Add(after), Ends: at.Add(after + time.Hour)}
	}
	later := one("b of alpha", 0)
	later.Starts = at.Add(time.Millisecond) // the store begins each when it gets it
	if rows := together([]notify.Silence{one("a of alpha", 0), later, one("a of bravo", 100*time.Millisecond)}); len(rows) != 2 || len(rows[0]) != 2 {
		t.Errorf("%v", rows)
	}
}
