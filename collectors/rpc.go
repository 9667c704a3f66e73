package collectors

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

const rpcCheck = "check is what is asked: balance, block, receipts, logs (of the last 100 blocks) or history (a balance at block 1, only of nodes with " +
	"the label archive: \"true\")."

var (
	rpcSuccess = metric.New("avax_rpc_check_success",
		"1 if the node gave the right answer in time, 0 if not. The answer is wrong if most of your nodes give another one about the same block. "+rpcCheck+
			" Absent while the node bootstraps the chain or does not run it.", "node", "chain", "check")
	rpcFailure = metric.New("avax_rpc_check_failure_info",
		"Why avax_rpc_check_success is 0; always 1. outcome is the outcome of a call, such as timeout, or one of these. wrong: see avax_rpc_check_success. behind: "+
			"more than 16 blocks behind most of your nodes. no_state: the node does not have the state of the block.", "node", "chain", "check", "outcome")
	rpcSeconds = metric.New("avax_rpc_check_last_seconds",
		"Time until the node had answered the last query, right or wrong. Includes retries. "+rpcCheck, "node", "chain", "check")
	rpcDuration = metric.NewHistogram("avax_rpc_check_duration_seconds",
		"Times until the node had answered, right or wrong, since the exporter started. "+rpcCheck, "node", "chain", "check")
)

var rpc = &collector.Spec{
	Name: "rpc",
	Help: "What users of a chain ask its nodes: whether each of your nodes answers, how fast, and whether the answer is that of most of your nodes. Off by " +
		"default, because of its cost: on a busy chain, the logs of 100 blocks are several megabytes.",
	Calls:    []string{"eth_getBlockByNumber", "eth_getBalance", "eth_getBlockReceipts", "eth_getLogs"},
	Every:    collector.HeadsEvery,
	Off:      true,
	Critical: true,
	Families: []*metric.Family{rpcSuccess, rpcFailure, rpcSeconds, rpcDuration},
	Bind:     collector.PerBegin(collector.Chains, beginRPC),
}

const (
	// rpcMaxLag is how many blocks a node may be behind most of your nodes. Users notice more.
	rpcMaxLag = 16
	rpcLogs   = 100 // blocks whose logs are queried
	// burnAddress receives the fees of each block, unless an L1 has another receiver. So its balance shows of which block a state is.
	burnAddress = "0x0100000000000000000000000000000000000000"
)

// rpcChecks are what users ask about a block, in this order: the slowest is last, because each may take its share of the remaining time.
var rpcChecks = []struct {
	name string
	fact *nodes.Fact // nil: another alert is about a difference
	ask  func(ctx context.Context, n *nodes.Node, chain string, at uint64) (string, error)
}{
	{"block", nil, func(ctx context.Context, n *nodes.Node, chain string, at uint64) (string, error) {
		b, err := n.EthBlockByNumber(ctx, chain, &at)
		return b.Hash, err
	}},
	{"balance", &nodes.FactBalances, balanceAt},
	{"history", &nodes.FactBalances, func(ctx context.Context, n *nodes.Node, chain string, _ uint64) (string, error) {
		return balanceAt(ctx, n, chain, 1)
	}},
	{"receipts", &nodes.FactReceipts, func(ctx context.Context, n *nodes.Node, chain string, at uint64) (string, error) {
		count, err := n.EthBlockReceipts(ctx, chain, at)
		return strconv.Itoa(count), err
	}},
	{"logs", &nodes.FactLogs, func(ctx context.Context, n *nodes.Node, chain string, at uint64) (string, error) {
		count, err := n.EthLogs(ctx, chain, at-min(at, rpcLogs-1), at)
		return strconv.Itoa(count), err
	}},
}

func balanceAt(ctx context.Context, n *nodes.Node, chain string, at uint64) (string, error) {
	wei, err := n.EthBalanceAt(ctx, chain, burnAddress, at)
	if err != nil {
		return "", err
	}
	return wei.String(), nil
}

// rpcAnswers are what one node answered in a run.
type rpcAnswers struct {
	of     *nodes.Node
	head   uint64
	err    error  // of the query for the newest block; then there are no answers
	at     uint64 // the block of the queries
	behind bool
	by     map[string]*rpcAnswer // by check
}

type rpcAnswer struct {
	value   string
	took    time.Duration
	outcome string // empty: right
}

const wrong = "wrong"

// beginRPC keeps the histograms of a chain.
func beginRPC() collector.Collect {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{Buckets: prometheus.DefBuckets}, []string{"node", "check"})
	return func(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
		own, _ := ups.OfNetwork()
		all, err := nodes.Each(ctx, own, nodes.BasisHeight, func(ctx context.Context, n *nodes.Node) (*rpcAnswers, error) {
			ctx, _ = scrape.Sharing(ctx, collector.HeadsEvery)
			b, err := collector.NewestBlock(ctx, n, on.Chain)
			if errors.Is(err, metric.ErrNotOffered) || scrape.OutcomeOf(err) == scrape.Bootstrapping {
				return nil, err
			}
			return &rpcAnswers{of: n, head: uint64(b.Number), err: err, by: map[string]*rpcAnswer{}}, nil
		})
		if err != nil {
			return err
		}
		askAll(ctx, on.Chain, all)
		compareAll(ups.Pool, all)
		for _, a := range all {
			for check, answer := range a.by {
				of := []string{a.of.Name(), on.Chain.Name, check}
				out.SetBool(rpcSuccess, answer.outcome == "", of...)
				if answer.outcome != "" {
					out.Set(rpcFailure, 1, append(of, answer.outcome)...)
				}
				h := durations.WithLabelValues(a.of.Name(), check)
				if answer.took > 0 {
					h.Observe(answer.took.Seconds())
					out.Set(rpcSeconds, answer.took.Seconds(), of...)
				}
				out.SetHistogram(rpcDuration, h.(prometheus.Histogram), of...)
			}
		}
		return nil
	}
}

// askAll asks each node about the newest block that all nodes have, except those that are far behind, and these about their own.
func askAll(ctx context.Context, c nodes.Chain, all []*rpcAnswers) {
	var heads []float64
	for _, a := range all {
		if a.err == nil {
			heads = append(heads, float64(a.head))
		}
	}
	var common uint64
	if len(heads) > 0 {
		reached := nodes.Reached(heads)
		common = uint64(slices.Min(slices.DeleteFunc(heads, func(h float64) bool { return h+rpcMaxLag < reached })))
	}
	var asked sync.WaitGroup
	for _, a := range all {
		a.at, a.behind = min(a.head, common), a.err == nil && a.head < common
		asked.Go(func() { a.ask(ctx, c) })
	}
	asked.Wait()
}

// ask makes the queries one after the other, so that none slows down another.
func (a *rpcAnswers) ask(ctx context.Context, c nodes.Chain) {
	for i, q := range rpcChecks {
		if q.name == "history" && !a.of.IsArchive() {
			continue
		}
		answer, err := &rpcAnswer{}, a.err
		if err == nil {
			limited, cancel := nodes.DivideTime(ctx, len(rpcChecks)-i)
			began := time.Now()
			answer.value, err = q.ask(limited, a.of, c.Ref, a.at)
			answer.took = max(time.Since(began), 1)
			cancel()
		}
		switch outcome := scrape.OutcomeOf(err); {
		case outcome == scrape.LocalLimit: // says nothing about the node
			continue
		case node.IsStateMissing(err):
			answer.outcome = "no_state"
		case err != nil:
			answer.outcome = string(outcome)
		case a.behind && q.name != "history":
			answer.outcome = "behind"
		}
		a.by[q.name] = answer
	}
}

// compareAll finds out which answers are wrong: those that differ from what most nodes answer. All are about the same block, except those of nodes that are
// behind. The block comes first: a node that has another one gives wrong answers about it.
func compareAll(p *nodes.Pool, all []*rpcAnswers) {
	forked := map[*rpcAnswers]bool{}
	for _, q := range rpcChecks {
		var same []*rpcAnswers
		var values []string
		var from []*nodes.Node
		for _, a := range all {
			switch answer := a.by[q.name]; {
			case answer == nil || answer.outcome != "":
			case forked[a]:
				answer.outcome = wrong
			default:
				same, values, from = append(same, a), append(values, answer.value), append(from, a.of)
			}
		}
		most := nodes.Majority(values, exactly)
		if most == nil { // it is not known which answer is right
			continue
		}
		if q.fact != nil {
			p.NoteContradicted(*q.fact, from, most)
		}
		for i, a := range same {
			if values[i] != values[most[0]] {
				a.by[q.name].outcome = wrong
				forked[a] = forked[a] || q.name == "block"
			}
		}
	}
}
