package collectors

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	rewardsSum = metric.NewCounter("avax_rewards_avax_total",
		"All rewards paid for a monitored validator, in AVAX: to the validator (VALIDATOR), to its delegators (DELEGATOR), or to the validator from its delegators' rewards (VALIDATOR_FEE).", "node_id", "type")
	rewardsCount = metric.NewCounter("avax_rewards_total",
		"Number of rewards paid.", "node_id", "type")
	rewardsLast = metric.New("avax_rewards_last_timestamp_seconds",
		"Time of the newest reward, in Unix seconds.", "node_id", "type")
	rewardsValue = metric.New("avax_rewards_value",
		"Value of the rewards, each at the price of its day. A reward counts only once the Data service has its price, which takes a day.",
		"node_id", "type", "currency")
)

var rewards = &Spec{
	Name:     "rewards",
	Help:     "Rewards paid for the validators of AVAX_VALIDATORS, or for your nodes if it lists none. Samples appear after the whole history has been read.",
	Calls:    []string{opRewards, "info.getNodeID", "info.getNetworkID"},
	Every:    time.Hour,
	Families: []*metric.Family{rewardsSum, rewardsCount, rewardsLast, rewardsValue},
	Scope:    metric.ScopeNode | metric.ScopeItem,
	Bind:     withData(bindRewards),
	Cost:     calls(opRewards, 1),
}

func bindRewards(ups *Upstreams) []Job {
	if len(ups.Watch.Validators.IDs) > 0 {
		return perItem(Watchlist.validatorIDs, collectRewards)(ups)
	}
	return perNode(func(ctx context.Context, t *Targets, n *Node, out *metric.Batch) error {
		id, err := n.ID(ctx)
		if err != nil || !t.nodeReports(n, "rewards of "+id) {
			return err
		}
		return collectRewards(ctx, ups, id, out)
	})(ups)
}

func collectRewards(ctx context.Context, ups *Upstreams, id string, out *metric.Batch) error {
	name := ups.Data.entry("validator-rewards", id, ups.Data.Currency)
	totals := load[rewardTotals](&ups.Data.Ledger, out, name)
	r := rewardReader{
		rewardTotals: &totals,
		known:        totals.known(),
		fresh:        map[string]bool{},
		keep:         func() { ups.Data.Ledger.save(out, name, totals) },
		history:      &ups.Data.history,
		page: func(ctx context.Context, token string) (data.RewardPage, error) {
			query := data.RewardQuery{
				NodeIDs: []string{id}, SortOrder: data.Descending, Currency: ups.Data.Currency, Paging: data.Paging{PageSize: rewardPageSize},
			}
			p, err := ups.Data.RewardPage(scrape.MaxAge(ctx, 0), ups.Data.networkName(), query, token)
			for _, r := range p.Rewards {
				switch {
				case err != nil:
				case r.Err != nil:
					out.Note("left out a reward that cannot be read: %v", r.Err)
				case r.Value.NodeID != id:
					err = anotherAnswer(opRewards, id, r.Value.NodeID)
				}
			}
			return p, err
		},
	}
	if err := r.read(ctx); err != nil {
		return fmt.Errorf("rewards of %s: the next run reads on: %w", id, err)
	}
	if !totals.Whole {
		out.Note("the rewards of %s are exported after their whole history is read, which takes several runs", id)
		return nil
	}
	totals.set(out, id, ups.Data.Currency)
	return nil
}

// rewardTotals holds the totals of a validator's rewards. The order of the list is not documented, so each reward counts
// once, by its identity. Rewards that may still get a price are stored one by one, the others as sums.
type rewardTotals struct {
	Open    map[string]openReward // by identity
	Settled map[string]rewardSum  // by type
	Counted []byte                // identities in Settled, each cut to rewardHashSize

	Whole bool      // the list was read to its end at least once
	Swept time.Time // when it was read to its end
	Token string    // page token at which reading continues; empty: the first page
}

type openReward struct {
	Type  string
	At    time.Time
	Paid  wire.NanoAVAX
	Worth *float64 // nil if not known yet
}

type rewardSum struct {
	Count  int
	Newest time.Time
	Paid   wire.NanoAVAX
	Priced int // number with a price
	Worth  float64
}

func (s rewardSum) with(r openReward) rewardSum {
	s.Count++
	s.Newest = later(s.Newest, r.At)
	s.Paid += r.Paid
	if r.Worth != nil {
		s.Priced++
		s.Worth += *r.Worth
	}
	return s
}

const (
	// rewardSettles is the time after the payment in which a reward may still get its price.
	rewardSettles = 72 * time.Hour
	// rewardSweep is the time between reads of the whole list. In between, runs read down to known rewards.
	rewardSweep = 24 * time.Hour
	// rewardPageSize is the maximum page size, since each page costs the same.
	rewardPageSize = 100
	// historyPause leaves most compute units of a minute to others. Only one list at a time is read beyond its first page.
	historyPause = 6 * time.Second
	// mostRewards is the maximum number of stored rewards per validator, about 50 MB. A longer list is rejected.
	mostRewards = 200_000
)

// rewardHash is the prefix of the hash of a reward's identity. A ledger has room for about 90,000 of them.
type rewardHash [rewardHashSize]byte

const rewardHashSize = 8

func hashReward(id string) rewardHash {
	hash := sha256.Sum256([]byte(id))
	return rewardHash(hash[:])
}

func (b *rewardTotals) known() map[rewardHash]bool {
	known := map[rewardHash]bool{}
	for id := range slices.Chunk(b.Counted, rewardHashSize) {
		if len(id) == rewardHashSize { // otherwise the file was edited
			known[rewardHash(id)] = true
		}
	}
	return known
}

// rewardReader reads rewards into totals.
type rewardReader struct {
	*rewardTotals
	known   map[rewardHash]bool // identities in Settled
	fresh   map[string]bool     // new ones of this run, by identity
	page    func(ctx context.Context, token string) (data.RewardPage, error)
	keep    func() // stores the totals
	history *lock
}

// read reads the first pages of the list down to a known reward, and once a day the whole list. A run that reaches its
// deadline leaves the rest to the next run.
func (r *rewardReader) read(ctx context.Context) error {
	if r.Open == nil {
		r.Open = map[string]openReward{}
	}
	if r.Settled == nil {
		r.Settled = map[string]rewardSum{}
	}
	began := time.Now()
	p, err := r.page(ctx, "")
	if err != nil {
		return err
	}
	news, token := r.add(p.Rewards), p.NextPageToken
	sweep := began.Sub(r.Swept) >= rewardSweep
	defer r.keep()
	if token != "" && (news || sweep) {
		unlock, err := r.history.lock(ctx)
		if err != nil {
			return nil
		}
		defer unlock()
	}
	for token != "" && (news || sweep) {
		if !news && r.Token != "" {
			token, r.Token = r.Token, "" // earlier pages are read
		}
		r.keep()
		select {
		case <-time.After(historyPause):
		case <-ctx.Done():
			r.leave(token)
			return nil
		}
		p, err := r.page(ctx, token)
		switch {
		case ctx.Err() != nil:
			r.leave(token)
			return nil
		case scrape.OutcomeOf(err) == scrape.Rejected && token != "":
			r.leave("") // the token has expired
			return nil
		case err != nil:
			r.leave(token)
			return err
		case p.NextPageToken == token:
			return &scrape.Error{Op: opRewards, Outcome: scrape.Malformed, Err: errors.New("a page names itself as the next one")}
		}
		news, token = r.add(p.Rewards), p.NextPageToken
		if len(r.known)+len(r.Open) > mostRewards {
			return &scrape.Error{Op: opRewards, Outcome: scrape.TooLarge, Err: fmt.Errorf("more than %d rewards of one validator", mostRewards)}
		}
	}
	if token == "" {
		r.Whole, r.Swept, r.Token = true, began, ""
	}
	return nil
}

// leave lets the next run continue with this page, to the end of the list.
func (r *rewardReader) leave(token string) { r.Swept, r.Token = time.Time{}, token }

// add adds new rewards and new prices. It reports whether this run found all of them.
func (r *rewardReader) add(rewards []data.Item[data.Reward]) (allNew bool) {
	allNew = true
	for _, item := range rewards {
		if item.Err != nil {
			continue
		}
		reward := item.Value
		id := reward.ID()
		settled := r.known[hashReward(id)]
		if _, open := r.Open[id]; !open && !settled {
			r.fresh[id] = true
		}
		if !settled {
			r.Open[id] = opened(reward)
		}
		allNew = allNew && r.fresh[id]
	}
	for id, reward := range r.Open {
		if reward.Worth != nil || time.Since(reward.At) >= rewardSettles {
			hash := hashReward(id)
			r.known[hash] = true
			r.Counted = append(r.Counted, hash[:]...)
			kind := kindOrOther(r.Settled, reward.Type)
			r.Settled[kind] = r.Settled[kind].with(reward)
			delete(r.Open, id)
		}
	}
	return allNew
}

func opened(r data.Reward) openReward {
	o := openReward{Type: r.RewardType, At: r.EndTimestamp.Time, Paid: wire.NanoAVAX(r.Reward.Amount.Uint64())}
	if price := r.Reward.HistoricalPrice; price != nil {
		// Sums of multiples of 2^-20 are exact up to 2^33, so the order of additions does not matter.
		o.Worth = new(math.Round(float64(price.Value)*o.Paid.AVAX()*(1<<20)) / (1 << 20))
	}
	return o
}

func (b *rewardTotals) set(out *metric.Batch, id, currency string) {
	sums := maps.Clone(b.Settled)
	for _, r := range b.Open {
		kind := kindOrOther(sums, r.Type)
		sums[kind] = sums[kind].with(r)
	}
	for kind, sum := range sums {
		out.Set(rewardsSum, sum.Paid.AVAX(), id, kind)
		out.Set(rewardsCount, float64(sum.Count), id, kind)
		out.SetTime(rewardsLast, sum.Newest, id, kind)
		if sum.Priced > 0 {
			out.Set(rewardsValue, sum.Worth, id, kind, currency)
		}
	}
}
