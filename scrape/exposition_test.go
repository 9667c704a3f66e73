package scrape_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/scrape"
)

// WriteText writes the same as client_golang for the same families.
func TestTextEqualsThatOfClientGolang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scrape.NewMetrics()
		for _, name := range []string{"bravo", `a"l\p` + "\nha"} {
			asked := 0
			u := open(t, scrape.Options{Name: name, URL: "http://node", Metrics: m, Transport: transport(func(r *http.Request) (*http.Response, error) {
				if asked++; asked == 3 {
					r := respond(429, "")
					r.Header.Set("Retry-After", "30")
					return r, nil
				}
				return slow(time.Duration(asked)*123*time.Millisecond, good)(r)
			})})
			for range 4 {
				_ = callRPC(u)
			}
		}
		families, err := m.Gather()
		if err != nil || len(families) != 4 { // without HTTPS
			t.Fatalf("%d families, %v", len(families), err)
		}
		for _, format := range []expfmt.Format{expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeOpenMetrics)} {
			var want, got strings.Builder
			encoder := expfmt.NewEncoder(&want, format)
			for _, f := range families {
				if err := encoder.Encode(f); err != nil {
					t.Fatal(err)
				}
			}
			if err := m.WriteText(&got, format.FormatType()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%s: -library +own\n%s", format, diff)
			}
		}
	})
}
