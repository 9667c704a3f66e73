package collectors

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// service is what the collectors that ask the Data service remember between
// their runs.
type service struct {
	unknown refusals  // what the service does not know
	memory  state.Dir // until the exporter stops
	reading lock      // held by who reads a long history

	mu       sync.Mutex
	known    map[string]node.Blockchain // by Chain.Ref
	answered map[string]bool            // questions that had an answer
	claims   map[string]string
}

// blockchain finds a followed chain on the P-Chain. What was found once is not
// asked again, so that the Data service can be asked while the nodes are down.
func (ups *Upstreams) blockchain(ctx context.Context, c Chain) (node.Blockchain, error) {
	ups.mu.Lock()
	b, known := ups.known[c.Ref]
	ups.mu.Unlock()
	if known {
		return b, nil
	}
	b, err := c.Blockchain(ctx, ups)
	if err != nil {
		return b, err
	}
	ups.mu.Lock()
	defer ups.mu.Unlock()
	if ups.known == nil {
		ups.known = map[string]node.Blockchain{}
	}
	ups.known[c.Ref] = b
	return b, nil
}

// ofChain puts a question, named by what it is about, to the Data service, which
// knows the chain by its blockchain ID. The error is ErrNotOffered where the
// service does not know what it is asked about, as the chains that it does not
// index; then it is left in peace for an hour. It cannot know no more what it
// knew before: that is an error like others.
func ofChain[T any](ctx context.Context, ups *Upstreams, c Chain, question string, put func(chainID string) (T, error)) (T, error) {
	var none T
	question += " " + c.Name
	if err := ups.unknown.refused(question); err != nil {
		return none, err
	}
	b, err := ups.blockchain(ctx, c)
	if err != nil {
		return none, err
	}
	answer, err := put(b.ID)
	ups.mu.Lock()
	defer ups.mu.Unlock()
	switch {
	case err == nil:
		if ups.answered == nil {
			ups.answered = map[string]bool{}
		}
		ups.answered[question] = true
	case scrape.OutcomeOf(err) == scrape.NotFound && !ups.answered[question]:
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
		ups.unknown.refuse(question, err)
	}
	return answer, err
}

// claim tells whether a job may speak for what others come upon as well, as two
// nodes with one ID: a series is served by one job. Whoever claims it first has
// it for as long as it is there.
func (ups *Upstreams) claim(what, who string, there func(who string) bool) bool {
	ups.mu.Lock()
	defer ups.mu.Unlock()
	if holder, held := ups.claims[what]; held && holder != who && there(holder) {
		return false
	}
	if ups.claims == nil {
		ups.claims = map[string]string{}
	}
	ups.claims[what] = who
	return true
}

// keeper returns where books are kept.
func (ups *Upstreams) keeper() *state.Dir {
	if ups.State != nil {
		return ups.State
	}
	return &ups.memory
}

// bookOf names what is kept of a network's part in one word.
func (ups *Upstreams) bookOf(parts ...string) string {
	return strings.ToLower(ups.Network) + " " + strings.Join(parts, " ")
}

// recall returns a book, empty where there is none yet; it is told if it was lost.
func recall[T any](ups *Upstreams, out *metric.Batch, name string) T {
	book, _, err := state.Load[T](ups.keeper(), name)
	if err != nil {
		out.Note("%v", err)
	}
	return book
}

// keep keeps a book; a disk that does not take it costs no run.
func keep(ups *Upstreams, out *metric.Batch, name string, book any) {
	if err := ups.keeper().Save(name, book); err != nil {
		out.Note("%v", err)
	}
}

// misnamed adds the advice to look at the configuration where the service
// refused, or does not know, what stands there.
func misnamed(err error, variable string) error {
	if scrape.OutcomeOf(err) == scrape.NotFound {
		return fmt.Errorf("%w: correct %s", err, variable)
	}
	return mistaken(err, variable)
}

// perAddress binds a collector to addresses on every followed chain.
func perAddress(addresses func(*Upstreams) []string, collect func(ctx context.Context, ups *Upstreams, c Chain, address string, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		if ups.Data == nil {
			return nil
		}
		var jobs []Job
		for _, address := range addresses(ups) {
			for _, c := range ups.Chains() {
				jobs = append(jobs, Job{address + "/" + c.Name, func(ctx context.Context, out *metric.Batch) error {
					return collect(ctx, ups, c, address, out)
				}})
			}
		}
		return jobs
	}
}

// calls is the Cost of a collector whose jobs call one op so often each.
func calls(op string, each int, bind func(*Upstreams) []Job) func(*Upstreams) map[string]int {
	return func(ups *Upstreams) map[string]int { return map[string]int{op: each * len(bind(ups))} }
}

func watchEVM(ups *Upstreams) []string       { return ups.WatchEVM }
func watchContracts(ups *Upstreams) []string { return ups.WatchContracts }

// lock is a mutex that a context ends the waiting for.
type lock struct {
	once sync.Once
	turn chan struct{}
}

func (l *lock) lock(ctx context.Context) (unlock func(), err error) {
	l.once.Do(func() { l.turn = make(chan struct{}, 1) })
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// What the Data service is asked, as its client names it.
const (
	opBlockchains          = "GET /v1/networks/{network}/blockchains"
	opSubnet               = "GET /v1/networks/{network}/subnets/{subnetId}"
	opRewards              = "GET /v1/networks/{network}/rewards"
	opAssetTransactions    = "GET /v1/networks/{network}/blockchains/{blockchainId}/assets/{assetId}/transactions"
	opBlock                = "GET /v1/chains/{chainId}/blocks/{blockId}"
	opNativeBalance        = "GET /v1/chains/{chainId}/addresses/{address}/balances:getNative"
	opCollectibles         = "GET /v1/chains/{chainId}/addresses/{address}/balances:listCollectibles"
	opERC721Transfers      = "GET /v1/chains/{chainId}/addresses/{address}/transactions:listErc721"
	opInternalTransactions = "GET /v1/chains/{chainId}/addresses/{address}/transactions:listInternals"
	opDeployments          = "GET /v1/chains/{chainId}/contracts/{address}/deployments"
	opICMMessages          = "GET /v1/icm/addresses/{address}/messages"
	opSignatures           = "GET /v1/signatureAggregator/{network}/aggregateSignatures/{txHash}"
	opReindex              = "POST /v1/chains/{chainId}/nfts/collections/{address}/tokens/{tokenId}:reindex"
)
