package collectors

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// DataService is the Data service, with what its collectors store between runs.
type DataService struct {
	*data.Client
	// Network is the service's name of the network: mainnet, fuji or testnet.
	Network string
	// Currency is that of prices and values, such as usd.
	Currency string
	Ledger   Ledger

	unknown refusals // questions that the service does not know
	history lock     // held by the run that reads a long history

	mu       sync.Mutex
	answered map[string]bool // questions that had an answer
}

// entry returns the name of an entry in the ledger.
func (s *DataService) entry(parts ...string) string {
	return strings.ToLower(s.Network) + " " + strings.Join(parts, " ")
}

// ofChain asks the Data service a question about a chain, which the service knows by
// its blockchain ID. The error is ErrNotOffered where the service does not know the
// answer, as of chains that it does not index; the question is then not repeated for
// an hour. Where it has known the answer before, the error is that of the service.
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

// calls is the Cost of a collector each of whose jobs calls op so often.
func calls(op string, each int) func(Watchlist, int) map[string]int {
	return func(_ Watchlist, jobs int) map[string]int { return map[string]int{op: each * jobs} }
}

// lock is a mutex; waiting for it ends with a context.
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

// Operations of the Data service, as its client names them.
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
