package collectors

import (
	"context"
	"fmt"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
)

var (
	observerInfo = metric.New("avax_observer_info",
		"An observer: an endpoint that is not one of your nodes; always 1. A series with an observer's name in the label node shows what the observer reports.",
		"node")
	observerUp = metric.New("avax_observer_up",
		"1 if a request to the observer had a result within the last 5 minutes, 0 if not. An error is not a result.", "node")
	observerMismatch = metric.New("avax_observer_network_mismatch",
		"1 if the observer belongs to another network than the nodes, 0 if not. If 1, the exporter makes no other calls to it. Absent if the network of the "+
			"observer or of the nodes is not known.", "node")
	observerOffers = metric.New("avax_observer_method_offered",
		"1 if the observer answers the method on at least one chain, 0 if it does not offer the method. Only methods that were called have a series.", "node",
		"method").AtMost(collector.MaxNamed)
)

// observer sets avax_observer_up to 0 if the observer does not answer. The run does not fail.
var observer = &collector.Spec{
	Name:     "observer",
	Help:     "State of observers and the methods that they offer.",
	Calls:    []string{"info.getNetworkID"},
	Every:    time.Minute,
	Families: []*metric.Family{observerInfo, observerUp, observerMismatch, observerOffers},
	Bind:     collector.Per(collector.Observers, collectObserver),
}

// observerTimeout is the time without a result after which an observer counts as down.
const observerTimeout = 5 * time.Minute

func collectObserver(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	n := on.Node
	out.Set(observerInfo, 1, n.Name())
	var lost error
	switch err := findNetwork(ctx, ups, n, out); {
	case err == nil:
	case scrape.IsLost(err): // avax_observer_network_mismatch does not end in silence
		lost = metric.WithSamples(fmt.Errorf("network of %s no longer known: %w", n.Name(), err))
	default:
		out.Note("network of %s not known: %v", n.Name(), err)
	}
	out.SetBool(observerUp, !n.Succeeded().IsZero() && time.Since(n.Succeeded()) < observerTimeout, n.Name())
	offered := map[string]bool{}
	missing := metric.Table{About: "Methods that observers do not offer.", Columns: []string{"Observer", "Method", "Why"}}
	for _, o := range n.Offers() {
		offered[o.Op] = offered[o.Op] || o.Err == nil
		if o.Err != nil {
			missing.Rows = append(missing.Rows, []string{n.Name(), o.Op, o.Err.Error()})
		}
	}
	for method, is := range offered {
		out.SetBool(observerOffers, is, n.Name(), method)
	}
	out.Table(missing)
	return lost
}

// findNetwork tells whether the observer belongs to the network of the nodes.
func findNetwork(ctx context.Context, ups *collector.Upstreams, n *nodes.Node, out *metric.Batch) error {
	network, err := n.NetworkID(scrape.MaxAge(ctx, observerTimeout/2))
	if err != nil {
		return err
	}
	expected, err := ups.Network(ctx)
	if err != nil {
		return err
	}
	out.SetBool(observerMismatch, network != expected, n.Name())
	if network != expected {
		out.Note("%s belongs to network %d, expected network %d", n.Name(), network, expected)
	}
	return nil
}
