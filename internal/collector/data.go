package collector

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
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"golang.org/x/sync/semaphore"
)

// DataService is the client of the Data service, with the state that its collectors keep between runs.
type DataService struct {
	*data.Client
	// Network is the network for calls, by the name that the service uses: mainnet, fuji or testnet. Empty: the
	// network of the nodes.
	Network string
	// Currency is the currency of prices and values, such as usd.
	Currency string

	History *semaphore.Weighted // held by a run while it reads a long history; other runs wait

	listing *semaphore.Weighted // held by a run while it uses chains
	chains  []data.Blockchain   // all chains of the network, if no node is configured; nil if not known

	mu       sync.Mutex
	answered map[string]bool // calls for which the service has returned data at least once, by name
	tried    map[string]bool // stored values that a run of this process has read
	network  string          // result of FindNetwork; empty if not known
	checked  time.Time       // time of the last check that the nodes belong to network
}

// NewDataService returns a service whose collectors have not run yet.
func NewDataService(client *data.Client, network, currency string) *DataService {
	return &DataService{
		Client: client, Network: network, Currency: currency, History: semaphore.NewWeighted(1), listing: semaphore.NewWeighted(1),
		answered: map[string]bool{}, tried: map[string]bool{},
	}
}

// Entry returns the key of the stored value for these parts.
func (s *DataService) Entry(parts ...string) string {
	return s.NetworkName() + " " + strings.Join(parts, " ")
}

// OrStored returns the error of a run. If it is the first run of this process that reads the stored value, its totals are
// exported (metric.HasSamples): they may be the totals of an earlier process.
func (s *DataService) OrStored(entry string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !s.tried[entry] && scrape.OutcomeOf(err) != scrape.NotFound {
		err = metric.WithSamples(err)
	}
	s.tried[entry] = true
	return err
}

// NetworkName returns the last result of FindNetwork.
func (s *DataService) NetworkName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.network
}

// dataNetworks are the names of the networks that the Data service covers, by network ID.
var dataNetworks = map[uint64]string{1: data.Mainnet, 5: data.Fuji}

// FindNetwork determines the network for calls to the Data service. That is DataService.Network if it is set, else the
// network of the nodes. FindNetwork returns an error if the nodes belong to a different network than
// DataService.Network. If no node answers, it returns the previous result. If there is none, it returns
// DataService.Network.
func (ups *Upstreams) FindNetwork(ctx context.Context) (string, error) {
	s := ups.Data
	s.mu.Lock()
	network, checked := s.network, s.checked
	s.mu.Unlock()
	if !checked.IsZero() && time.Since(checked) < StaticAge {
		return network, nil
	}
	id, err := ups.Network(ctx)
	belongs := dataNetworks[id]
	fails := func(format string, args ...any) (string, error) {
		return "", &nodes.SettingError{Variable: "AVAX_NETWORK", Err: &scrape.Error{Op: "info.getNetworkID", Outcome: scrape.Rejected,
			Err: fmt.Errorf(format, args...)}}
	}
	switch {
	case err != nil && network != "":
		return network, nil
	case err != nil && s.Network == "":
		return "", &nodes.SettingError{Variable: "AVAX_NETWORK", Err: fmt.Errorf("no node reported the network: %w", err)}
	case err != nil:
		belongs = s.Network
	case belongs == "" && s.Network == "":
		return fails("the nodes belong to network %d, which the Data service does not know", id)
	case belongs != "" && s.Network != "" && (belongs == data.Mainnet) != (s.Network == data.Mainnet):
		return fails("%s is configured, but the nodes belong to %s", s.Network, belongs)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.network = cmp.Or(s.Network, belongs)
	if err == nil {
		s.checked = time.Now()
	}
	return s.network, nil
}

// KnownBlockchain returns the P-Chain's entry of the chain, from the nodes. If no node is configured, it is from the Data service.
func (ups *Upstreams) KnownBlockchain(ctx context.Context, c nodes.Chain) (node.Blockchain, error) {
	if ups.Data == nil || !ups.IsEmpty() {
		return ups.Pool.KnownBlockchain(ctx, c)
	}
	b, err := ups.listedBlockchain(ctx, c)
	return node.Blockchain{ID: b.BlockchainID, SubnetID: b.SubnetID, Name: b.BlockchainName}, err
}

// listedEVMChainID returns the EVM chain ID of a chain from the Data service.
func (ups *Upstreams) listedEVMChainID(ctx context.Context, c nodes.Chain) (uint64, error) {
	b, err := ups.listedBlockchain(ctx, c)
	if err == nil && b.EVMChainID == 0 {
		err = fmt.Errorf("the Data service lists no EVM chain ID of chain %s", c.Name)
	}
	return uint64(b.EVMChainID), err
}

// listedBlockchain returns the Data service's entry of the chain.
func (ups *Upstreams) listedBlockchain(ctx context.Context, c nodes.Chain) (data.Blockchain, error) {
	network, err := ups.FindNetwork(ctx)
	if err != nil {
		return data.Blockchain{}, err
	}
	if err := ups.Data.listing.Acquire(ctx, 1); err != nil {
		return data.Blockchain{}, err
	}
	defer ups.Data.listing.Release(1)
	if ups.Data.chains == nil {
		var all []data.Blockchain
		for b, err := range ups.Data.Blockchains(ctx, network) {
			switch {
			case err == nil:
				all = append(all, b)
			case !data.IsItem(err):
				return data.Blockchain{}, err
			}
		}
		ups.Data.chains = all
	}
	for _, b := range ups.Data.chains {
		if b.BlockchainID == c.Ref || b.SubnetID == node.PrimaryNetworkID && strings.EqualFold(b.BlockchainName, c.Ref+"-Chain") {
			return b, nil
		}
	}
	ups.Data.chains = nil // the service may list the chain later
	return data.Blockchain{}, &nodes.SettingError{Variable: "AVAX_CHAINS", Err: &scrape.Error{Op: data.ListBlockchains.Op(), Outcome: scrape.NotFound,
		Err: fmt.Errorf("the Data service has no chain %q", c.Ref)}}
}

// listLength is what earlier readings of a list had.
type listLength struct {
	Shown int
	Lower int // of the last reading, if it had fewer items; -1: it had not
}

// ConfirmedCount returns how many items a list of the Data service has, after a reading with count items. A reading may lack a page, or an item
// that moved to another page. So the number falls only if two readings in succession have fewer items than before, to the higher of the two.
func (ups *Upstreams) ConfirmedCount(entry string, count int) (int, error) {
	now := listLength{count, -1}
	if before, known := state.Load[listLength](&ups.Memory, entry); known && count < before.Shown {
		now = listLength{before.Shown, count}
		if before.Lower >= 0 {
			now.Shown = max(count, before.Lower)
		}
	}
	return now.Shown, ups.Memory.Save(entry, now)
}

// CheckChain returns an error if an answer of the Data service is not about chain c. answered is the EVM chain ID or the
// blockchain ID in the answer. It is empty if the answer contains no ID.
func (ups *Upstreams) CheckChain(ctx context.Context, op string, c nodes.Chain, answered string) error {
	b, err := ups.KnownBlockchain(ctx, c)
	if answered == "" || err != nil || answered == b.ID {
		return err
	}
	id, err := EVMChainID(ctx, ups, c)
	if err == nil && answered != strconv.FormatUint(id, 10) {
		return WrongAnswer(op, fmt.Sprintf("chain %s (%d)", b.ID, id), "chain "+answered)
	}
	return nil // if no node answers, the answer cannot be checked
}

// WrongAnswer returns the error for an answer that does not belong to the request.
func WrongAnswer(op, requested, answered string) error {
	if len(answered) > metric.MaxValue {
		answered = answered[:metric.MaxValue]
	}
	return &scrape.Error{Op: op, Outcome: scrape.Malformed, Err: fmt.Errorf("requested %s, but the answer is about %q", requested, answered)}
}

// OfChain runs call, which requests data of a chain from the Data service. If the service answers "not found" (404), the
// error is metric.ErrNotOffered, because the service does not index every chain (data.RepeatAfter says when the call is
// repeated). If the service has returned data for the call before, the run fails with the service's error instead.
func OfChain[T any](ctx context.Context, ups *Upstreams, c nodes.Chain, callName string, call func(chainID string) (T, error)) (T, error) {
	var none T
	callName += " " + c.Name
	b, err := ups.KnownBlockchain(ctx, c)
	if err != nil {
		return none, err
	}
	answer, err := call(b.ID)
	ups.Data.mu.Lock()
	defer ups.Data.mu.Unlock()
	switch {
	case err == nil:
		ups.Data.answered[callName] = true
	case scrape.OutcomeOf(err) == scrape.NotFound && !ups.Data.answered[callName]:
		err = fmt.Errorf("%w: %w", metric.ErrNotOffered, err)
	}
	return answer, err
}

// Readable returns the list without its malformed items. It adds a note about the first malformed item.
func Readable[T any](out *metric.Batch, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		noted := false
		for item, err := range list {
			if data.IsItem(err) {
				if !noted {
					out.Note("skipped malformed items: %v", err)
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

// Calls returns a function for Spec.Cost: each job calls op perJob times.
func Calls(op string, perJob int) func(Watchlist, int) map[string]int {
	return func(_ Watchlist, jobs int) map[string]int { return map[string]int{op: perJob * jobs} }
}
