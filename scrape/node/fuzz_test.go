package node_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// FuzzAnswerIsAValueOrAnError gives each method any answer. The seeds are recorded answers of a real node.
func FuzzAnswerIsAValueOrAnError(f *testing.F) {
	all := node.Methods()
	answers := must.Get(recorded.Load("client_healthy"))(f)
	for _, a := range answers {
		i := slices.IndexFunc(all, func(m *scrape.Method) bool { return strings.Contains(a.Request, `"`+m.Name+`"`) })
		if i >= 0 && a.Status == http.StatusOK && len(a.Response) < 4<<10 {
			f.Add(uint8(i), a.Response)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, answer string) {
		m := all[int(which)%len(all)]
		value, err := node.New(open(t, saying(answer))).Call(t.Context(), m, "C", nil)
		switch {
		case err == nil && value == nil:
			t.Errorf("%s: neither value nor error for %q", m.Name, answer)
		case err != nil && (len(err.Error()) > 2<<10 || strings.ContainsAny(err.Error(), "\r\n\x1b\x00")):
			t.Errorf("error that does not fit into a line of the log: %q", err)
		}
	})
}
