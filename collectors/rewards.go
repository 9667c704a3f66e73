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
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	rewardsSum = metric.NewCounter("avax_rewards_avax_total",
		"All rewards paid for a monitored validator, in AVAX. Type VALIDATOR: paid to the validator. Type DELEGATOR: paid to its delegators. Type VALIDATOR_FEE: paid to the validator out of its delegators' rewards.", "node_id", "type")
	rewardsCount = metric.NewCounter("avax_rewards_total",
		"Number of rewards paid for a monitored validator.", "node_id", "type")
	rewardsLast = metric.New("avax_rewards_last_timestamp_seconds",
		"Time of the newest reward, in Unix seconds.", "node_id", "type")
	rewardsValue = metric.New("avax_rewards_value",
		"Value of all rewards in the currency, each at the price on the day of its payment. A reward is included after the Data service has this price, about a day later.",
		"node_id", "type", "currency")
)

var rewards = &Spec{
	Name:     "rewards",
	Help:     "Rewards paid for the validators in AVAX_VALIDATORS. If no node ID is set there, rewards paid for your nodes. Samples appear after the exporter has read the whole history.",
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
	return perNode(func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error {
		id, err := n.ID(ctx)
		if err != nil || !ups.nodeReports(n, "rewards of "+id) {
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
		foundNow:     map[string]bool{},
		store:        func() { ups.Data.Ledger.save(out, name, totals) },
		history:      &ups.Data.history,
		page: func(ctx context.Context, token string) (data.Page[data.Reward], error) {
			p, err := ups.Data.RewardPage(scrape.MaxAge(ctx, 0), ups.Data.networkName(), id, ups.Data.Currency, rewardPageSize, token)
			for _, r := range p.Items {
				switch {
				case err != nil:
				case r.Err != nil:
					out.Note("skipped a malformed reward: %v", r.Err)
				case r.Value.NodeID != id:
					err = wrongAnswer(opRewards, id, r.Value.NodeID)
				}
			}
			return p, err
		},
	}
	if err := r.read(ctx); err != nil {
		return fmt.Errorf("rewards of %s: %w: the next run continues", id, err)
	}
	if !totals.Whole {
		out.Note("rewards of %s: reading the whole history takes several runs; samples appear after that", id)
		return nil
	}
	totals.set(out, id, ups.Data.Currency)
	return nil
}

// rewardTotals is the ledger entry for the rewards of a validator. The order of the service's list is not documented.
// So rewards are identified by their ID, and each ID counts once. A reward that may still get a price is stored
// individually. All other rewards are stored as sums.
type rewardTotals struct {
	Open    map[string]openReward // rewards that may still get a price, by ID
	Settled map[string]rewardSum  // sums of all other rewards, by type of reward
	Counted []byte                // a rewardHash for each reward in Settled

	Whole bool      // true after the list was read to its end for the first time
	Swept time.Time // start of the last run that read the list to its end; zero: the next run reads to the end
	Token string    // page token at which the next run continues; empty: at the first page
}

type openReward struct {
	Type  string
	At    time.Time
	Paid  wire.NanoAVAX
	Worth *float64 // value in the currency; nil while the price is not known
}

type rewardSum struct {
	Count  int
	Newest time.Time
	Paid   wire.NanoAVAX
	Priced int     // number of rewards with a price
	Worth  float64 // value of the rewards with a price
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
	// rewardPriceWait is the time after the payment of a reward in which the service may add the price.
	rewardPriceWait = 72 * time.Hour
	// rewardSweep is the minimum time between two runs that read the whole list. Other runs stop after the first page
	// with a known reward.
	rewardSweep = 24 * time.Hour
	// rewardPageSize is the largest page size of the service. A page costs the same compute units for any page size.
	rewardPageSize = 100
	// historyPause is the time between two pages of a list. It leaves most of the compute units per minute to other
	// collectors. Only one run at a time reads a list beyond its first page.
	historyPause = 6 * time.Second
	// maxRewards is the maximum number of rewards of one validator. They take about 50 MB. A longer list is an error.
	maxRewards = 200_000
)

// rewardHash is the first part of the hash of a reward's ID. A ledger entry on disk has space for about 90,000 hashes.
// If there are more, the totals are only in memory, and the run has a note about the failed write.
type rewardHash [rewardHashSize]byte

const rewardHashSize = 8

func hashReward(id string) rewardHash {
	hash := sha256.Sum256([]byte(id))
	return rewardHash(hash[:])
}

func (b *rewardTotals) known() map[rewardHash]bool {
	known := map[rewardHash]bool{}
	for id := range slices.Chunk(b.Counted, rewardHashSize) {
		if len(id) == rewardHashSize { // the last chunk is shorter only if the file was edited
			known[rewardHash(id)] = true
		}
	}
	return known
}

// rewardReader reads the list of a validator's rewards and updates the totals.
type rewardReader struct {
	*rewardTotals
	known    map[rewardHash]bool // rewards in Settled
	foundNow map[string]bool     // rewards that no earlier run found, by ID
	page     func(ctx context.Context, token string) (data.Page[data.Reward], error)
	store    func() // stores the totals in the ledger
	history  *lock  // held while the reader reads pages after the first
}

// read reads the list up to the first page with a known reward. Once per rewardSweep it reads the whole list. At the
// deadline it stops, and the next run continues.
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
	allNew, token := r.add(p.Items), p.NextPageToken
	sweep := began.Sub(r.Swept) >= rewardSweep
	defer r.store()
	if token != "" && (allNew || sweep) {
		unlock, err := r.history.lock(ctx)
		if err != nil {
			return nil
		}
		defer unlock()
	}
	for token != "" && (allNew || sweep) {
		if !allNew && r.Token != "" {
			token, r.Token = r.Token, "" // an earlier run read the pages before this token
		}
		r.store()
		select {
		case <-time.After(historyPause):
		case <-ctx.Done():
			r.resumeAt(token)
			return nil
		}
		p, err := r.page(ctx, token)
		switch {
		case ctx.Err() != nil:
			r.resumeAt(token)
			return nil
		case scrape.OutcomeOf(err) == scrape.Rejected && token != "":
			r.resumeAt("") // the token has expired
			return nil
		case err != nil:
			r.resumeAt(token)
			return err
		case p.NextPageToken == token:
			return &scrape.Error{Op: opRewards, Outcome: scrape.Malformed, Err: errors.New("the answer repeats the page token of the request")}
		}
		allNew, token = r.add(p.Items), p.NextPageToken
		if len(r.known)+len(r.Open) > maxRewards {
			return &scrape.Error{Op: opRewards, Outcome: scrape.TooLarge, Err: fmt.Errorf("more than %d rewards of one validator", maxRewards)}
		}
	}
	if token == "" {
		r.Whole, r.Swept, r.Token = true, began, ""
	}
	return nil
}

// resumeAt stores that the next run must read from this page to the end of the list.
func (r *rewardReader) resumeAt(token string) { r.Swept, r.Token = time.Time{}, token }

// add adds new rewards and new prices to the totals. It reports whether all of these rewards are new: no earlier run has
// found them.
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
			r.foundNow[id] = true
		}
		if !settled {
			r.Open[id] = opened(reward)
		}
		allNew = allNew && r.foundNow[id]
	}
	for id, reward := range r.Open {
		if reward.Worth != nil || time.Since(reward.At) >= rewardPriceWait {
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
		// Round to a multiple of 2^-20. Sums of such values are exact up to 2^33 in any order.
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
