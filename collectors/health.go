package collectors

import (
	"context"
	"fmt"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	healthCheckFailing = metric.New("avax_node_health_check_failing",
		"1 if a check that the node makes failed when it last ran, 0 if not: of the node itself (network, diskspace) or of a chain, by its name. "+
			"Checks run every 30 s. Absent until the first run, and where the health API is not offered.",
		"node", "check").AtMost(mostNamed)
	chainProcessing = metric.New("avax_chain_processing_blocks",
		"Blocks of the chain that the node votes on, neither accepted nor rejected yet. Where no new block comes, 0 means idle, and more means stuck.",
		"node", "chain").AtMost(mostNamed)
	chainLongestProcessing = metric.New("avax_chain_longest_processing_seconds",
		"How long the oldest of these blocks has been voted on.", "node", "chain").AtMost(mostNamed)
)

var health = &Spec{
	Name:     "health",
	Help:     "What does the node find wrong with itself, and is a quiet chain idle or stuck?",
	Calls:    []string{"GET /ext/health"},
	Every:    30 * time.Second,
	Families: []*metric.Family{healthCheckFailing, chainProcessing, chainLongestProcessing},
	Scope:    metric.ScopeNode,
	Bind:     perNode(collectHealth),
}

func collectHealth(ctx context.Context, t *Targets, n *Node, out *metric.Batch) error {
	answer, err := ask(n, "health", func() (node.Health, error) { return n.Health(ctx) })
	if scrape.OutcomeOf(err) == scrape.Forbidden { // a proxy before the node shuts it off
		return fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	if err != nil {
		return err
	}
	for called, check := range answer.Checks {
		name := t.chainName(called)
		if !check.Timestamp.IsZero() { // it has run
			out.SetBool(healthCheckFailing, check.Error != "", n.Name(), name)
		}
		if check.Chain == nil {
			continue
		}
		if blocks := check.Chain.ProcessingBlocks; blocks != nil {
			out.Set(chainProcessing, float64(*blocks), n.Name(), name)
		}
		if longest := check.Chain.LongestProcessingBlock; longest != nil {
			out.Set(chainLongestProcessing, longest.Seconds(), n.Name(), name)
		}
	}
	return nil
}
