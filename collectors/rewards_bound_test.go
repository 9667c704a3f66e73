package collectors

import (
	"context"
	"fmt"
	"math/big"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// If the service returns a list of rewards without an end, the run fails before it fills the memory.
func TestEndlessRewardListIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := 0
		r := rewardReader{rewardTotals: &rewardTotals{}, store: func() {}, history: &lock{}}
		r.page = func(context.Context, string) (data.Page[data.Reward], error) {
			pages++
			p := data.Page[data.Reward]{NextPageToken: fmt.Sprint(pages)}
			for n := range 1000 {
				reward := data.Reward{NodeID: "NodeID-x", RewardTxHash: fmt.Sprint(pages, ".", n)}
				reward.Reward.Amount.Int = big.NewInt(1)
				reward.EndTimestamp.Time = time.Now()
				p.Items = append(p.Items, data.Item[data.Reward]{Value: reward})
			}
			return p, nil
		}
		err := r.read(t.Context())
		if scrape.OutcomeOf(err) != scrape.TooLarge || r.Next != nil {
			t.Errorf("after %d pages: %v", pages, err)
		}
	})
}

// If a run adds a whole page of new rewards and stops before it reads the pages after it, the next run reads them.
func TestRewardsOfAStoppedReadingAreNotLost(t *testing.T) {
	rewards := func(first, last int) (items []data.Item[data.Reward]) {
		for n := first; n <= last; n++ {
			reward := data.Reward{RewardType: data.RewardValidator, RewardTxHash: fmt.Sprint(n)}
			reward.Reward.Amount.Int = big.NewInt(1)
			items = append(items, data.Item[data.Reward]{Value: reward})
		}
		return items
	}
	for name, stop := range map[string]struct{ lock, expire bool }{
		"another history is read": {lock: true},
		"the page token expires":  {expire: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rewardReader{rewardTotals: &rewardTotals{}, store: func() {}, history: &lock{}}
				r.page = func(context.Context, string) (data.Page[data.Reward], error) {
					return data.Page[data.Reward]{Items: rewards(1, 1)}, nil
				}
				if err := r.read(t.Context()); err != nil {
					t.Fatal(err)
				}
				expire := stop.expire
				r.page = func(_ context.Context, token string) (data.Page[data.Reward], error) {
					switch {
					case token == "":
						return data.Page[data.Reward]{Items: rewards(3, 4), NextPageToken: "second"}, nil
					case expire:
						expire = false
						return data.Page[data.Reward]{}, &scrape.Error{Op: opRewards, Outcome: scrape.Rejected}
					}
					return data.Page[data.Reward]{Items: rewards(1, 2)}, nil
				}
				var unlock func()
				if stop.lock {
					unlock, _ = r.history.lock(t.Context())
				}
				for range 2 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					if err := r.read(ctx); err != nil {
						t.Fatal(err)
					}
					cancel()
					if unlock != nil {
						unlock()
						unlock = nil
					}
				}
				if got := r.Whole.Sums[data.RewardValidator].Count; got != 4 {
					t.Errorf("%d rewards, want 4", got)
				}
			})
		})
	}
}
