package collectors_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Without the deprecated methods, the collectors have the same series, apart from the number of blockchains, which nothing else counts. If a node
// offers the methods again, they are called again.
func TestOtherMethodsReplaceDeprecatedOnes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		all := func() (series []string) {
			for _, spec := range collectors.All() {
				if spec.Cost == nil || spec.Name == "native_balances" || spec.Name == "subnets" {
					for line := range strings.Lines(w.page(t, spec.Name)) {
						if name, _, _ := strings.Cut(line, " "); !strings.HasPrefix(line, "#") && !changing.MatchString(name) {
							series = append(series, name)
						}
					}
				}
			}
			return slices.Compact(slices.Sorted(slices.Values(series)))
		}
		before, balances := all(), w.page(t, "addresses")
		var deprecated []string
		for _, m := range node.Methods() {
			if m.Deprecated != "" {
				deprecated = append(deprecated, m.Name)
			}
		}
		w.refuseOnNodes(deprecated...)
		w.network.Observer().Inject(simnet.Refused(-32601, "the method is not available"), deprecated...)
		time.Sleep(collector.StaticAge + time.Minute)
		w.ups.Pool = nodes.NewPool(slices.Concat(w.ups.Nodes(), w.ups.Observers()), w.ups.Chains()) // which knows no chain yet
		after := all()
		after = append(after, "avax_network_blockchains")
		slices.Sort(after)
		if missing := slices.DeleteFunc(slices.Clone(before), func(s string) bool { return slices.Contains(after, s) }); len(missing) > 0 || len(before) < 300 {
			t.Errorf("missing %q of %d series", missing, len(before))
		}
		if got := w.page(t, "addresses"); got != balances {
			t.Errorf("balances before:\n%s\nafter:\n%s", balances, got)
		}

		for _, name := range []string{"alpha", "foxtrot"} {
			w.network.Node(name).Recover()
		}
		time.Sleep(2 * time.Hour)
		w.network.ResetCalls()
		w.page(t, "addresses")
		if w.callCount("alpha", "platform.getBalance") == 0 || w.callCount("alpha", "platform.getUTXOs") > 0 {
			t.Error("alpha offers the method again, but another one is called")
		}
	})
}

// changing are series that come and go with time.
var changing = regexp.MustCompile(`avax_(node_peer_version|node_health_check|l1_proposer_can_build)`)
