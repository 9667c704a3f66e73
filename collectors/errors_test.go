package collectors_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/recorded"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

func TestUnknownMethodIsCalledOnceAnHour(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		for minute := range 70 {
			if page, err := w.run(t, "fee_config", "C"); !errors.Is(err, nodes.ErrNotOffered) || page != "" {
				t.Fatalf("after %d minutes: %q, %v", minute, page, err)
			}
			if got, want := w.callCount("alpha", "eth_feeConfig"), 1+minute/60; got != want {
				t.Fatalf("after %d minutes: %d calls, want %d", minute, got, want)
			}
			time.Sleep(time.Minute)
		}
		if got := w.callCount("foxtrot", "eth_feeConfig"); got != 0 {
			t.Errorf("the other node got %d calls, want none: the error for an unknown method counts as an answer", got)
		}
	})
}

// A starting node has no chains yet. Its answer is the same as for a chain that it does not run.
func TestMissingChainIsRetried(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Node("alpha").Start()
		time.Sleep(2 * time.Second)
		if page, err := w.run(t, "heads", "alpha/C"); !errors.Is(err, nodes.ErrNotOffered) || page != "" {
			t.Errorf("before the chain is created: %q, %v", page, err)
		}
		time.Sleep(4 * time.Second)
		if page, err := w.run(t, "heads", "alpha/C"); scrape.OutcomeOf(err) != scrape.Bootstrapping || page != "" {
			t.Errorf("while the chain bootstraps: %q, %v", page, err)
		}
		time.Sleep(10 * time.Second)
		if page, err := w.run(t, "heads", "alpha/C"); err != nil || !strings.Contains(page, `avax_chain_height{node="alpha",chain="C"}`) {
			t.Errorf("after the chain bootstrapped: %q, %v", page, err)
		}
	})
}

func TestNextNodeAnswersForAnUntrackedChain(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "delta", "foxtrot") // delta tracks no subnet
		if page, err := w.run(t, "fee_config", "examplel1"); err != nil || page == "" {
			t.Errorf("one node runs the chain: %q, %v", page, err)
		}
		w.network.Node("foxtrot").Stop()
		if _, err := w.run(t, "fee_config", "examplel1"); scrape.OutcomeOf(err) != scrape.Unreachable || errors.Is(err, nodes.ErrNotOffered) {
			t.Errorf("the node that runs the chain is down: %v", err)
		}
		w.setNodes(t, "delta")
		if _, err := w.run(t, "fee_config", "examplel1"); !errors.Is(err, nodes.ErrNotOffered) {
			t.Errorf("no node runs the chain: %v", err)
		}
	})
}

func TestUnofferedMethodLeavesOtherSamples(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Node("alpha").Inject(simnet.Refused(-32000, `rpc: can't find method "avm.GetTxFee"`), "avm.getTxFee")
		page, err := w.run(t, "identity", "alpha")
		if !errors.Is(err, nodes.ErrNotOffered) || !strings.Contains(page, "avax_node_info{") || strings.Contains(page, "avax_node_tx_fee_avax") {
			t.Errorf("%q, %v", page, err)
		}
	})
}

func TestDisabledAPIIsNotOffered(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.Node("alpha").SetAdminAPI(false)
		w.network.Node("alpha").Inject(simnet.WrongHost(), "GET /ext/health")
		for _, collector := range []string{"admin", "health"} {
			if page, err := w.run(t, collector, "alpha"); !errors.Is(err, nodes.ErrNotOffered) || page != "" {
				t.Errorf("%s: %q, %v", collector, page, err)
			}
		}
	})
}

// repeating is a node that repeats recorded answers. It is connected through its handler.
type repeating struct{ http.Handler }

func (n repeating) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	n.ServeHTTP(w, r)
	return w.Result(), nil
}

// After one health check has hung, the node repeats its last results for ever: healthy, with timestamps that stand still.
func TestRepeatedHealthAnswerIsNotHealthy(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		answers, err := recorded.NewNode("healthy")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC))) // the answers are of the day before
		w.ups.SetNodes([]*nodes.Node{nodes.New(node.New(open(t, repeating{answers}, "alpha")))})
		_, j := w.job(t, "health", "alpha")
		for minute, want := range []string{"1", "1", "0"} {
			batch := metric.NewBatch(specOf(t, "health").Families)
			if err := j.Collect(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			var page string
			for _, c := range batch.Chunks() {
				page += string(c.Text())
			}
			wantSeries(t, page, `avax_node_healthy{node="alpha"}`, want)
			if noted := strings.Contains(strings.Join(batch.Notes(), ""), "have not run for 2m0s: one of them hangs"); noted != (want == "0") {
				t.Errorf("minute %d: notes %v", minute, batch.Notes())
			}
			time.Sleep(time.Minute)
		}
	})
}
