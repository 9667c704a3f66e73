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
