package collectors

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	rewardsSum = metric.NewCounter("avax_rewards_avax_total",
		"What was ever paid for a watched validator, in AVAX: to the validator (VALIDATOR), to its delegators (DELEGATOR), "+
			"to the validator out of what its delegators earned (VALIDATOR_FEE).", "node_id", "type")
	rewardsCount = metric.NewCounter("avax_rewards_total",
		"How many rewards that were.", "node_id", "type")
	rewardsLast = metric.New("avax_rewards_last_timestamp_seconds",
		"When the newest of them was paid, in Unix seconds.", "node_id", "type")
	rewardsValue = metric.New("avax_rewards_value",
		"What they were worth, each at the price of its day. In it are only those whose price the Data service knows, which takes a day.",
		"node_id", "type", "currency")
)

var rewards = &Spec{
	Name: "rewards",
	Help: "What were the watched validators paid? Of AVAX_VALIDATORS, those that are listed, or the own nodes' where none is. " +
		"The samples appear when all history has been read, and then only news are.",
	Calls:    []string{opRewards, "info.getNodeID"},
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
	name := ups.Data.entry("rewards", id, ups.Data.Currency)
	totals := load[rewardTotals](&ups.Data.Ledger, out, name)
	query := data.RewardQuery{NodeIDs: []string{id}, SortOrder: data.Descending, Currency: ups.Data.Currency}
	if err := totals.readNewest(ups.Data.Rewards(ctx, ups.Data.Network, query)); err != nil {
		return err
	}
	ups.Data.Ledger.save(out, name, totals)
	if !totals.Whole {
		err := totals.readHistory(ctx, ups, query, func() { ups.Data.Ledger.save(out, name, totals) })
		if err != nil {
			return fmt.Errorf("the history of %s goes on with the next run: %w", id, err)
		}
	}
	if !totals.Whole {
		out.Note("the rewards of %s are not told before all history has been read, which takes more than one run", id)
		return nil
	}
	totals.set(out, id, ups.Data.Currency)
	return nil
}

// rewardTotals is what was read of a validator's rewards: the newest one by one,
// since they may be told again, with a price this time; the others as sums.
type rewardTotals struct {
	Since   time.Time             // what was paid before is settled
	Open    map[string]openReward // what was paid from then on, by identity
	Settled map[string]rewardSum  // by type

	// The history is read once, from Since downwards.
	Whole  bool      // it has been read
	Down   time.Time // what was paid later has been read
	AtDown []string  // of what was paid just then, what has been read
	Token  string    // of the next page; empty: from the newest on
}

type openReward struct {
	Type  string
	At    time.Time
	Paid  wire.NanoAVAX
	Worth *float64 // nil where nobody knows, or not yet
}

type rewardSum struct {
	Count  int
	Newest time.Time
	Paid   wire.NanoAVAX
	Priced int // how many have a worth
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

// rewardSettles is how long after its payment a reward may still get its price.
const rewardSettles = 72 * time.Hour

// rewardID is the identity of a reward: a transaction can pay several.
func rewardID(r data.Reward) string {
	return fmt.Sprint(r.RewardTxHash, " ", r.UTXOID, " ", r.OutputIndex)
}

func opened(r data.Reward) openReward {
	o := openReward{Type: r.RewardType, At: r.EndTimestamp.Time, Paid: wire.NanoAVAX(r.Reward.Amount.Uint64())}
	if price := r.Reward.HistoricalPrice; price != nil {
		o.Worth = new(float64(price.Value) * o.Paid.AVAX())
	}
	return o
}

// begin makes the maps, which an edited file may lack.
func (b *rewardTotals) begin() {
	if b.Settled == nil {
		b.Settled = map[string]rewardSum{}
	}
	if b.Open == nil {
		b.Open = map[string]openReward{}
	}
}

// readNewest reads from the newest down to what is settled. In the first run that
// is where the history begins.
func (b *rewardTotals) readNewest(newest iter.Seq2[data.Reward, error]) error {
	found := map[string]openReward{}
	since := b.Since
	for r, err := range newest {
		if err != nil {
			return err
		}
		if since.IsZero() {
			since = earlier(time.Now().Add(-rewardSettles), r.EndTimestamp.Time)
		}
		if r.EndTimestamp.Before(since) {
			break
		}
		found[rewardID(r)] = opened(r)
	}
	b.begin()
	switch {
	case since.IsZero():
		b.Since, b.Whole = time.Unix(0, 0), true // nothing was paid yet, and all that will be is new
	case b.Since.IsZero():
		b.Since, b.Down = since, since.Add(-1)
	}
	maps.Copy(b.Open, found)
	b.settle()
	return nil
}

// settle adds to the sums what cannot change any more. The newest reward of all
// stays open: the service may be about to tell of others of that time.
func (b *rewardTotals) settle() {
	var newest time.Time
	for _, r := range b.Open {
		newest = later(newest, r.At)
	}
	b.Since = later(b.Since, earlier(time.Now().Add(-rewardSettles), newest))
	for id, r := range b.Open {
		if r.At.Before(b.Since) {
			b.settled(r)
			delete(b.Open, id)
		}
	}
}

// historyPause leaves most of a minute's compute units to others. One history
// is read at a time.
const historyPause = 6 * time.Second

// readHistory reads on where it was left, until all is read or the run has to
// end, and keeps what it has after each page. A token that is no longer taken
// costs the way down from the newest.
func (b *rewardTotals) readHistory(ctx context.Context, ups *Upstreams, query data.RewardQuery, keep func()) error {
	unlock, err := ups.Data.history.lock(ctx)
	if err != nil {
		return nil
	}
	defer unlock()
	query.PageSize = rewardPageSize
	for {
		page, err := ups.Data.RewardPage(ctx, ups.Data.Network, query, b.Token)
		switch {
		case ctx.Err() != nil:
			return nil
		case scrape.OutcomeOf(err) == scrape.Rejected && b.Token != "":
			b.Token = ""
			continue
		case err != nil:
			return err
		}
		for _, r := range page.Rewards {
			b.add(r)
		}
		b.Token, b.Whole = page.NextPageToken, page.NextPageToken == ""
		keep()
		if b.Whole {
			return nil
		}
		select {
		case <-time.After(historyPause):
		case <-ctx.Done():
			return nil
		}
	}
}

// rewardPageSize is the largest there is: each page costs the same.
const rewardPageSize = 100

// add adds a reward of the history, unless it was read before.
func (b *rewardTotals) add(r data.Reward) {
	id := rewardID(r)
	switch at := r.EndTimestamp.Time; {
	case at.After(b.Down) || at.Equal(b.Down) && slices.Contains(b.AtDown, id):
		return
	case at.Equal(b.Down):
		b.AtDown = append(b.AtDown, id)
	default:
		b.Down, b.AtDown = at, []string{id}
	}
	b.settled(opened(r))
}

// settled adds a reward to the sums.
func (b *rewardTotals) settled(r openReward) {
	kind := kindOrOther(b.Settled, r.Type)
	b.Settled[kind] = b.Settled[kind].with(r)
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
