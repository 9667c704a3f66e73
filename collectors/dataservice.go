package collectors

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// DataService is the Data service with what its collectors remember between runs.
type DataService struct {
	*data.Client
	// Network is the service's name of the network: mainnet, fuji or testnet.
	Network string
	// Currency is that of prices and values, such as usd.
	Currency string
	// Ledger keeps what was counted.
	Ledger Ledger

	unknown refusals // what the service does not know
	history lock     // held by the run that reads a long history

	mu       sync.Mutex
	answered map[string]bool // questions that had an answer
}

// entry returns the name in the ledger of something of the service's network.
func (s *DataService) entry(parts ...string) string {
	return strings.ToLower(s.Network) + " " + strings.Join(parts, " ")
}

// ofChain puts a question, named by what it is about, to the Data service, which
// knows the chain by its blockchain ID. The error is ErrNotOffered where the
// service does not know what it is asked about, as the chains that it does not
// index; then it is left in peace for an hour. It cannot know no more what it
// knew before: that is an error like others.
func ofChain[T any](ctx context.Context, ups *Upstreams, c Chain, question string, put func(chainID string) (T, error)) (T, error) {
	var none T
	question += " " + c.Name
	if err := ups.Data.unknown.refused(question); err != nil {
		return none, err
	}
	b, err := ups.knownBlockchain(ctx, c)
	if err != nil {
		return none, err
	}
	answer, err := put(b.ID)
	ups.Data.mu.Lock()
	defer ups.Data.mu.Unlock()
	switch {
	case err == nil:
		if ups.Data.answered == nil {
			ups.Data.answered = map[string]bool{}
		}
		ups.Data.answered[question] = true
	case scrape.OutcomeOf(err) == scrape.NotFound && !ups.Data.answered[question]:
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
		ups.Data.unknown.refuse(question, err)
	}
	return answer, err
}

// calls is the Cost of a collector whose jobs call one op so often each.
func calls(op string, each int) func(Watchlist, int) map[string]int {
	return func(_ Watchlist, jobs int) map[string]int { return map[string]int{op: each * jobs} }
}

// misnamed adds the advice to look at the configuration where the service
// refused, or does not know, what stands there.
func misnamed(err error, variable string) error {
	if scrape.OutcomeOf(err) == scrape.NotFound {
		return fmt.Errorf("%w: correct %s", err, variable)
	}
	return mistaken(err, variable)
}

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
