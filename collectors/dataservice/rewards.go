package dataservice

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
	"golang.org/x/sync/semaphore"
)

var (
	rewardsSum = metric.NewCounter("avax_rewards_avax_total",
		"All rewards paid for a monitored validator, in AVAX. Type VALIDATOR: paid to the validator. Type DELEGATOR: paid to its delegators. Type VALIDATOR_FEE: "+
			"paid to the validator out of its delegators' rewards. Type other: types that the exporter does not know.", "node_id", "type")
	rewardsCount = metric.NewCounter("avax_rewards_total",
		"Number of rewards paid for a monitored validator.", "node_id", "type")
	rewardsLast = metric.New("avax_rewards_last_timestamp_seconds",
		"Time of the newest reward, in Unix seconds.", "node_id", "type")
	rewardsValue = metric.New("avax_rewards_value",
		"Value of all rewards in the currency, each at the price on the day of its payment. A reward is included after the Data service has this price, about a "+
			"day later.",
		"node_id", "type", "currency")
	rewardsUnpriced = metric.New("avax_rewards_unpriced",
		"Number of rewards that avax_rewards_value does not include, because the Data service has no price for them. A new reward has a price after about a day.",
		"node_id", "type")
	rewardsMalformed = metric.New("avax_rewards_malformed",
		"Number of listed rewards that no sum includes, because the exporter could not decode them when it read the whole list last.", "node_id")
	rewardsOther = metric.NewCounter("avax_rewards_other_assets_total",
		"Number of rewards paid for a monitored validator in another asset than AVAX. avax_rewards_avax_total does not include them.", "node_id", "type")
)

var Rewards = &collector.Spec{
	Name: "rewards",
	Help: "Rewards paid for the validators in AVAX_VALIDATORS. If no node ID is set there, rewards paid for your nodes. Samples appear after the exporter " +
		"has read the whole history.",
	Calls:    []string{data.ListRewards.Op(), "info.getNodeID", "info.getNetworkID"},
	Every:    time.Hour,
	Families: []*metric.Family{rewardsSum, rewardsCount, rewardsLast, rewardsValue, rewardsUnpriced, rewardsMalformed, rewardsOther},
	Bind:     collector.PerWithData(rewarded, collectRewards),
	Cost:     collector.Calls(data.ListRewards.Op(), 1),
}

// rewarded are the validators in AVAX_VALIDATORS. If no node ID is set there, it returns the nodes.
func rewarded(ups *collector.Upstreams) []collector.Subject {
	if len(ups.Watched().Validators.IDs) > 0 {
		return collector.Items(collector.Watchlist.ValidatorItems)(ups)
	}
	return collector.Nodes(ups)
}

func collectRewards(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	id := on.Item.Value
	if on.Node != nil {
		var err error
		if id, err = on.Node.ID(ctx); err != nil || !ups.NodeReports(on.Node, "rewards", id) {
			return err
		}
	}
	name := ups.Data.Entry("validator-rewards", id, ups.Data.Currency)
	totals := collector.Load[rewardTotals](ups, name)
	r := rewardReader{
		rewardTotals: &totals,
		store:        func() { ups.Save(out, name, totals) },
		history:      ups.Data.History,
		page: func(ctx context.Context, token string) (data.Page[data.Reward], error) {
			p, err := ups.Data.RewardPage(scrape.MaxAge(ctx, 0), ups.Data.NetworkName(), id, ups.Data.Currency, rewardPageSize, token)
			p.Items = slices.Clone(p.Items) // the answer may be shared
			for i, r := range p.Items {
				switch {
				case err != nil:
				case r.Err != nil:
					out.Note("skipped a malformed reward: %v", r.Err)
				case r.Value.NodeID != id:
					err = collector.WrongAnswer(data.ListRewards.Op(), id, r.Value.NodeID)
				case r.Value.Reward.HistoricalPrice != nil:
					if _, wrong := r.Value.Reward.HistoricalPrice.In(ups.Data.Currency); wrong != nil {
						out.Note("skipped a wrong price: reward %s: %v", r.Value.ID(), wrong)
						p.Items[i].Value.Reward.HistoricalPrice = nil
					}
				}
			}
			return p, err
		},
	}
	err := r.read(ctx)
	if err != nil {
		err = fmt.Errorf("rewards of %s: %w: the next run continues", id, err)
	}
	err = ups.Data.OrStored(name, err)
	switch {
	case totals.Complete != nil:
		totals.Complete.set(out, id, ups.Data.Currency)
	case err == nil:
		out.Note("rewards of %s: reading the whole history takes several runs; samples appear after that", id)
	}
	return err
}

// rewardTotals is the stored value for the rewards of a validator. The order of the service's list is not documented, and the
// service may correct or remove a reward. So the sums are computed from the whole list again, once per rewardRescan. Other runs
// add new rewards from the first page.
type rewardTotals struct {
	Complete  *rewardSums // of the list when it was read to its end last, and of new rewards since then; nil: not read yet
	Rescanned time.Time   // start of the last reading to the end of the list; zero: a reading is due or has not ended
	Next      *rewardSums // sums of the pages of a reading that has not ended; nil: none
	Began     time.Time   // start of this reading
	Gap       bool        // more rewards were paid during this reading than the first page has: another one is due
	Long      bool        // the list has more than maxRewards rewards
	Lacks     int         // rewards of the last reading if it lacked rewards of Complete; 0: it lacked none

	scrape.Place // at which the reading continues
}

// rewardSums are the sums of a list of rewards.
type rewardSums struct {
	Sums      map[string]rewardSum // by type of reward
	Counted   []byte               // a rewardHash for each reward
	Malformed int

	known map[rewardHash]bool
}

type rewardSum struct {
	Count  int
	Newest time.Time
	Paid   *big.Int // nAVAX; nil: 0
	Other  int      // number of rewards in another asset
	Priced int      // number of rewards with a price
	Worth  float64  // value of the rewards with a price
}

const (
	// rewardRescan is the minimum time between two runs that read the whole list. Other runs stop after the first page
	// with a known reward.
	rewardRescan = 24 * time.Hour
	// rewardPageSize is the largest page size of the service. A page costs the same compute units for any page size.
	rewardPageSize = 100
	// historyPause is the time between two pages of a list. It leaves most of the compute units per minute to other
	// collectors. Only one run at a time reads a list beyond its first page.
	historyPause = 6 * time.Second
	// maxRewards is the maximum number of rewards of one validator. They take about 20 MB. A longer list is an error.
	maxRewards = 200_000
)

// rewardHash is the first part of the hash of a reward's ID. A stored value on disk has space for about 90,000 hashes.
// If there are more, the totals are only in memory, and the run has a note about the failed write.
type rewardHash [rewardHashSize]byte

const rewardHashSize = 8

// rewardReader reads the list of a validator's rewards and updates the totals.
type rewardReader struct {
	*rewardTotals
	page    func(ctx context.Context, token string) (data.Page[data.Reward], error)
	store   func()              // stores the totals
	history *semaphore.Weighted // held while the reader reads pages after the first
}

// read reads the first page, and adds its new rewards. It reads the whole list once per rewardRescan, or if all rewards of the
// first page are new. At the deadline it stops, and the next run continues.
func (r *rewardReader) read(ctx context.Context) error {
	began := time.Now()
	p, err := r.page(ctx, "")
	if err != nil {
		return err
	}
	defer r.store()
	allNew := !r.Long
	if r.Complete != nil {
		allNew = r.Complete.add(p.Items)
	}
	if p.NextPageToken == "" { // this is the whole list
		sums := &rewardSums{}
		sums.addPage(p.Items)
		r.end(sums, began)
		return nil
	}
	if r.Next == nil && !allNew && began.Sub(r.Rescanned) < rewardRescan {
		return r.tooLong()
	}
	r.Rescanned = time.Time{} // The whole list stays due until a reading ends, because the first page is known from now on.
	if r.history.Acquire(ctx, 1) != nil {
		return nil
	}
	defer r.history.Release(1)
	if r.Next == nil {
		r.Next, r.Began = &rewardSums{}, began
	}
	if r.Token == "" {
		r.Next.addPage(p.Items)
		r.Place = scrape.Place{Token: p.NextPageToken}
	} else {
		r.Gap = r.Next.add(p.Items) || r.Gap // paid since the reading began
	}
	ended, err := data.ReadPages(ctx, data.ListRewards.Op(), math.MaxInt, &r.Place, func() {
		r.Next, r.Began = &rewardSums{}, time.Now()
	}, func(ctx context.Context, token string) (data.Page[data.Reward], error) {
		r.store()
		select {
		case <-time.After(historyPause):
			return r.page(ctx, token)
		case <-ctx.Done():
			return data.Page[data.Reward]{}, ctx.Err()
		}
	}, func(rewards []data.Item[data.Reward]) (fresh int, tooMany bool) {
		before := len(r.Next.known)
		r.Next.addPage(rewards)
		return len(r.Next.known) - before, len(r.Next.known) > maxRewards
	})
	switch {
	case !ended && ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	case len(r.Next.known) > maxRewards:
		r.Rescanned, r.Next, r.Place, r.Long = r.Began, nil, scrape.Place{}, true
		return r.tooLong()
	}
	r.end(r.Next, r.Began)
	return nil
}

// tooLong returns an error if the last reading found more than maxRewards rewards. The next one is due after rewardRescan.
func (r *rewardReader) tooLong() error {
	if !r.Long {
		return nil
	}
	return &scrape.Error{Op: data.ListRewards.Op(), Outcome: scrape.TooLarge, Err: scrape.Advise(fmt.Errorf("more than %d rewards of one validator", maxRewards),
		"Monitor validators with fewer rewards (AVAX_VALIDATORS).")}
}

// end replaces the totals after the list was read to its end. If the list lacks rewards that it had before, two readings must agree: a page may be
// missing. The second reading is due in the next run.
func (r *rewardReader) end(sums *rewardSums, began time.Time) {
	if r.Complete != nil && r.Complete.hasMore(sums) && r.Lacks != max(1, len(sums.known)) {
		r.Lacks, r.Rescanned, r.Next, r.Place, r.Gap = max(1, len(sums.known)), time.Time{}, nil, scrape.Place{}, false
		return
	}
	r.Lacks = 0
	if r.Gap {
		began = time.Time{}
	}
	r.Complete, r.Rescanned, r.Next, r.Place, r.Gap, r.Long = sums, began, nil, scrape.Place{}, false, false
}

// addPage adds a page that is read for the first time.
func (s *rewardSums) addPage(rewards []data.Item[data.Reward]) {
	for _, item := range rewards {
		if item.Err != nil {
			s.Malformed++
		}
	}
	s.add(rewards)
}

// add adds new rewards to the sums. It reports whether all of these rewards are new.
func (s *rewardSums) add(rewards []data.Item[data.Reward]) (allNew bool) {
	if s.Sums == nil {
		s.Sums = map[string]rewardSum{data.RewardValidator: {}, data.RewardDelegator: {}, data.RewardValidatorFee: {}, collector.Other: {}}
	}
	if s.known == nil {
		s.known = map[rewardHash]bool{}
		for id := range slices.Chunk(s.Counted, rewardHashSize) {
			if len(id) == rewardHashSize { // the last chunk is shorter only if the file was edited
				s.known[rewardHash(id)] = true
			}
		}
	}
	allNew = true
	for _, item := range rewards {
		if item.Err != nil {
			continue
		}
		sum := sha256.Sum256([]byte(item.Value.ID()))
		hash := rewardHash(sum[:])
		if s.known[hash] {
			allNew = false
			continue
		}
		s.known[hash] = true
		s.Counted = append(s.Counted, hash[:]...)
		kind := collector.KnownOrOther(s.Sums, item.Value.RewardType)
		s.Sums[kind] = s.Sums[kind].with(item.Value)
	}
	return allNew
}

// hasMore reports whether a reward is not in other sums.
func (s *rewardSums) hasMore(than *rewardSums) bool {
	for hash := range s.known {
		if !than.known[hash] {
			return true
		}
	}
	return false
}

// with returns the sum with another reward.
func (s rewardSum) with(r data.Reward) rewardSum {
	paid := r.Reward
	s.Count++
	s.Newest = later(s.Newest, r.EndTimestamp.Time)
	if paid.IsAVAX() {
		s.Paid = new(big.Int).Add(s.paid(), paid.Amount.Int)
	} else {
		s.Other++
	}
	if price := paid.HistoricalPrice; price != nil {
		s.Priced++
		// Round to a multiple of 2^-20. Sums of such values are exact up to 2^33 in any order.
		s.Worth += math.Round(float64(price.Value)*paid.Amount.Tokens(paid.Denomination)*(1<<20)) / (1 << 20)
	}
	return s
}

// paid returns Paid, or 0.
func (s rewardSum) paid() *big.Int {
	if s.Paid == nil {
		return new(big.Int)
	}
	return s.Paid
}

func (s *rewardSums) set(out *metric.Batch, id, currency string) {
	out.Set(rewardsMalformed, float64(s.Malformed), id)
	for kind, sum := range s.Sums {
		out.Set(rewardsSum, wire.BigInt{Int: sum.paid()}.Tokens(avaxDecimals), id, kind)
		out.Set(rewardsCount, float64(sum.Count), id, kind)
		out.Set(rewardsUnpriced, float64(sum.Count-sum.Priced), id, kind)
		out.Set(rewardsOther, float64(sum.Other), id, kind)
		if sum.Count > 0 {
			out.SetTime(rewardsLast, sum.Newest, id, kind)
		}
		if sum.Priced > 0 {
			out.Set(rewardsValue, sum.Worth, id, kind, currency)
		}
	}
}

// avaxDecimals is the number of decimal places of AVAX on the P-Chain.
const avaxDecimals = 9
