package collectors

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// DataService is the Data service, with what its collectors store between runs.
type DataService struct {
	*data.Client
	// Network is the service's name of the network: mainnet, fuji or testnet. Empty: the network of the nodes.
	Network string
	// Currency is that of prices and values, such as usd.
	Currency string
	Ledger   Ledger

	unknown rejections // calls that the service cannot answer
	history lock       // held by the run that reads a long history

	mu       sync.Mutex
	answered map[string]bool // calls that were answered
	network  string          // the name in use; empty until it is known
	checked  time.Time       // when a node last confirmed it
	evmIDs   map[string]uint64
}

// entry returns the name of an entry in the ledger.
func (s *DataService) entry(parts ...string) string {
	return s.networkName() + " " + strings.Join(parts, " ")
}

// networkName returns the name of the network after FindNetwork has found it.
func (s *DataService) networkName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network
}

// dataNetworks are the networks that the Data service knows, by ID.
var dataNetworks = map[uint64]string{1: data.Mainnet, 5: data.Fuji}

// FindNetwork determines the network for calls to the Data service: DataService.Network or, if that is empty, the network
// of the nodes. A contradiction between the two is an error. While no node answers, the previous result counts, and
// Network counts without confirmation.
func (ups *Upstreams) FindNetwork(ctx context.Context) (string, error) {
	s := ups.Data
	s.mu.Lock()
	network, checked := s.network, s.checked
	s.mu.Unlock()
	if !checked.IsZero() && time.Since(checked) < slowFacts {
		return network, nil
	}
	id, err := ups.NetworkID, error(nil)
	if id == 0 {
		id, err = first(ctx, ups.Targets, func(ctx context.Context, n *Node) (uint64, error) {
			return n.NetworkID(scrape.MaxAge(ctx, slowFacts))
		})
	}
	belongs := dataNetworks[id]
	fails := func(format string, args ...any) (string, error) {
		return "", &SettingError{SettingServiceNetwork, &scrape.Error{Op: "info.getNetworkID", Outcome: scrape.Rejected, Err: fmt.Errorf(format, args...)}}
	}
	switch {
	case err != nil && network != "":
		return network, nil
	case err != nil && s.Network == "":
		return "", &SettingError{SettingServiceNetwork, fmt.Errorf("no node reported the network: %w", err)}
	case err != nil:
		belongs = s.Network
	case belongs == "" && s.Network == "":
		return fails("the nodes belong to network %d, which the Data service does not know", id)
	case belongs != "" && s.Network != "" && (belongs == data.Mainnet) != (s.Network == data.Mainnet):
		return fails("%s is configured, and the nodes belong to %s", s.Network, belongs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.network = cmp.Or(s.Network, belongs)
	if err == nil {
		s.checked = time.Now()
	}
	return s.network, nil
}

// checkChain returns an error if an answer about a chain names another chain. An answer may name none.
func (ups *Upstreams) checkChain(ctx context.Context, op string, c Chain, named string) error {
	b, err := ups.knownBlockchain(ctx, c)
	if named == "" || err != nil || named == b.ID {
		return err
	}
	ups.Data.mu.Lock()
	id, known := ups.Data.evmIDs[b.ID]
	ups.Data.mu.Unlock()
	if !known {
		if id, err = evmChainID(ctx, ups.Targets, c); err != nil {
			return nil // no node answers
		}
		ups.Data.mu.Lock()
		if ups.Data.evmIDs == nil {
			ups.Data.evmIDs = map[string]uint64{}
		}
		ups.Data.evmIDs[b.ID] = id
		ups.Data.mu.Unlock()
	}
	if named != strconv.FormatUint(id, 10) {
		return anotherAnswer(op, fmt.Sprintf("chain %s (%d)", b.ID, id), "chain "+named)
	}
	return nil
}

// anotherAnswer is the error for an answer that does not belong to the question.
func anotherAnswer(op, asked, answered string) error {
	if len(answered) > metric.MostValue {
		answered = answered[:metric.MostValue]
	}
	return &scrape.Error{Op: op, Outcome: scrape.Malformed, Err: fmt.Errorf("requested %s, the answer is about %q", asked, answered)}
}

// ofChain calls the Data service about a chain, which the service knows by its blockchain ID. The error is
// ErrNotOffered if the service does not know the answer, such as for chains that it does not index. The
// call is then repeated after a minute, and then less and less often, up to an hour. If the service has known
// the answer before, the error is that of the service.
func ofChain[T any](ctx context.Context, ups *Upstreams, c Chain, callName string, put func(chainID string) (T, error)) (T, error) {
	var none T
	callName += " " + c.Name
	if err := ups.Data.unknown.refused(callName); err != nil {
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
		ups.Data.answered[callName] = true
		ups.Data.unknown.accept(callName)
	case scrape.OutcomeOf(err) == scrape.NotFound && !ups.Data.answered[callName]:
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
		ups.Data.unknown.refuse(callName, err, unknownHolds)
	}
	return answer, err
}

// unknownHolds is the time before the first repetition of a call that the Data service could not answer. It may be
// starting, or about to index the chain.
const unknownHolds = time.Minute

// readable leaves out the items of a list that cannot be read; a note of the run says so.
func readable[T any](out *metric.Batch, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		noted := false
		for item, err := range list {
			if data.IsItem(err) {
				if !noted {
					out.Note("left out what cannot be read: %v", err)
				}
				noted = true
				continue
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// calls is the Cost of a collector whose jobs call op this many times each.
func calls(op string, each int) func(Watchlist, int) map[string]int {
	return func(_ Watchlist, jobs int) map[string]int { return map[string]int{op: each * jobs} }
}

// lock is a mutex. Waiting for it ends with a context.
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

// Operations of the Data service, by their names in its client.
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
