package alerts

import (
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// The alerts of the digest have the severity of the watchdog, so that status pages do not show them as problems.
func TestDigestIsAddedWithoutProblems(t *testing.T) {
	t.Parallel()
	both := must.Get(With(Options{Digest: true}))(t)
	before, _ := parseRules(t, Rules)
	after, _ := parseRules(t, both)
	all, digest := parseRules(t, Digest)
	if len(digest) == 0 || len(after) != len(before)+len(all) {
		t.Errorf("%d rules and %d of the digest became %d", len(before), len(all), len(after))
	}
	for _, r := range digest {
		if r.Labels["severity"] != "none" || r.Labels["digest"] != "weekly" || !strings.HasPrefix(r.Alert, "Avax") {
			t.Errorf("%s: %v", r.Alert, r.Labels)
		}
	}
}
