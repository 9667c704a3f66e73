package dataservice

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"golang.org/x/sync/semaphore"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// If the service returns a list of rewards without an end, the run fails before it fills the memory.
func TestEndlessRewardListIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pages := 0
		r := rewardReader{rewardTotals: &rewardTotals{}, store: func() {}, history: semaphore.NewWeighted(1)}
		r.page = func(context.Context, string) (data.Page[data.Reward], error) {
			pages++
			var p data.Page[data.Reward]
			if pages < 300 { // so that a reading without a limit ends
				p.NextPageToken = fmt.Sprint(pages)
			}
			for n := range 1000 {
				p.Items = append(p.Items, reward(1000*pages+n))
			}
			return p, nil
		}
		for run := range 23 { // one attempt a day
			if err := r.read(t.Context()); scrape.OutcomeOf(err) != scrape.TooLarge || r.Next != nil || scrape.AdviceOf(err) == "" || pages > 201+run {
				t.Fatalf("run %d: after %d pages: %v", run, pages, err)
			}
			time.Sleep(time.Hour)
		}
	})
}

func reward(n int) data.Item[data.Reward] {
	r := data.Reward{RewardType: data.RewardValidator, RewardTxHash: fmt.Sprint(n)}
	r.Reward.Amount.Int = big.NewInt(1)
	return data.Item[data.Reward]{Value: r}
}

// Rewards that are paid while a reading takes several runs count after it, however many there are.
func TestRewardsPaidDuringALongReadingCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var list []data.Item[data.Reward] // newest first
		pay := func(count int) {
			for range count {
				list = slices.Insert(list, 0, reward(len(list)))
			}
		}
		r := rewardReader{rewardTotals: &rewardTotals{}, store: func() {}, history: semaphore.NewWeighted(1)}
		r.page = func(_ context.Context, token string) (p data.Page[data.Reward], err error) {
			older := len(list) // a token is the number of rewards that are older than its page
			if token != "" {
				older, _ = strconv.Atoi(token)
			}
			p.Items = list[len(list)-older : min(len(list)-older+100, len(list))]
			if older > 100 {
				p.NextPageToken = fmt.Sprint(older - 100)
			}
			return p, nil
		}
		pay(1000)
		for run := range 8 {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // five pages
			must.Do(t, r.read(ctx))
			cancel()
			if run == 0 {
				pay(250)
			}
			time.Sleep(time.Hour)
		}
		if got := r.Complete.Sums[data.RewardValidator].Count; got != 1250 {
			t.Errorf("%d rewards after eight hours, want 1250", got)
		}
	})
}

// If a run adds a whole page of new rewards and stops before it reads the pages after it, the next run reads them.
func TestRewardsOfAStoppedReadingAreNotLost(t *testing.T) {
	rewards := func(first, last int) (items []data.Item[data.Reward]) {
		for n := first; n <= last; n++ {
			items = append(items, reward(n))
		}
		return items
	}
	for name, stop := range map[string]struct{ lock, expire bool }{
		"another history is read": {lock: true},
		"the page token expires":  {expire: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rewardReader{rewardTotals: &rewardTotals{}, store: func() {}, history: semaphore.NewWeighted(1)}
				r.page = func(context.Context, string) (data.Page[data.Reward], error) {
					return data.Page[data.Reward]{Items: rewards(1, 1)}, nil
				}
				must.Do(t, r.read(t.Context()))
				expire := stop.expire
				r.page = func(_ context.Context, token string) (data.Page[data.Reward], error) {
					switch {
					case token == "":
						return data.Page[data.Reward]{Items: rewards(3, 4), NextPageToken: "second"}, nil
					case expire:
						expire = false
						return data.Page[data.Reward]{}, &scrape.Error{Op: data.ListRewards.Op(), Outcome: scrape.Rejected, Err: errors.New("invalid page token")}
					}
					return data.Page[data.Reward]{Items: rewards(1, 2)}, nil
				}
				held := stop.lock && r.history.TryAcquire(1)
				for range 2 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					must.Do(t, r.read(ctx))
					cancel()
					if held {
						r.history.Release(1)
						held = false
					}
				}
				if got := r.Complete.Sums[data.RewardValidator].Count; got != 4 {
					t.Errorf("%d rewards, want 4", got)
				}
			})
		})
	}
}

// A run fails if the service rejects a page for another reason than its token, or if a page names itself as the next one. In the second case the
// next run begins at the first page.
func TestRejectedOrRepeatedPageOfRewardsFailsTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		second  data.Page[data.Reward]
		err     error
		want    scrape.Outcome
		resumes string // token of the second page that the next run requests
	}{
		"rejected": {err: &scrape.Error{Op: data.ListRewards.Op(), Outcome: scrape.Rejected, Err: errors.New("the API key is not valid")}, want: scrape.Rejected,
			resumes: "second"},
		"repeated": {second: data.Page[data.Reward]{Items: []data.Item[data.Reward]{reward(1)}, NextPageToken: "second"},
			want: scrape.OutcomeOf(scrape.BadPage("", scrape.ErrRepeatedToken)), resumes: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rewardReader{rewardTotals: &rewardTotals{}, store: func() {}, history: semaphore.NewWeighted(1)}
				next := "second"
				var last string
				r.page = func(_ context.Context, token string) (data.Page[data.Reward], error) {
					switch last = token; token {
					case "":
						return data.Page[data.Reward]{Items: []data.Item[data.Reward]{reward(2)}, NextPageToken: next}, nil
					case "second":
						return c.second, c.err
					}
					return data.Page[data.Reward]{Items: []data.Item[data.Reward]{reward(1)}}, nil
				}
				if err := r.read(t.Context()); scrape.OutcomeOf(err) != c.want || r.Complete != nil {
					t.Fatalf("error %v, want outcome %s", err, c.want)
				}
				next, c.err = "other", nil
				if c.second.NextPageToken == "" {
					c.second.Items = []data.Item[data.Reward]{reward(1)}
				}
				if err := r.read(t.Context()); err != nil || last != c.resumes || r.Complete.Sums[data.RewardValidator].Count != 2 {
					t.Errorf("next run: %v, requested %q, want %q and 2 rewards", err, last, c.resumes)
				}
			})
		})
	}
}

// The totals do not fall because one reading of the list lacks a page. They fall when two readings agree, because the service removed a reward.
func TestTotalsFallOnlyAfterTwoReadings(t *testing.T) {
	for rewards, lacking := range map[int]int{250: 150, 5: 5, 2: 1} {
		t.Run(fmt.Sprintf("%d of %d rewards are missing once", lacking, rewards), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testTotalsFallOnlyAfterTwoReadings(t, rewards, lacking) })
		})
	}
}

func testTotalsFallOnlyAfterTwoReadings(t *testing.T, list, lacking int) {
	all, cut := list, 0 // rewards that the service lists, and those that one reading lacks
	r := rewardReader{rewardTotals: &rewardTotals{}, store: func() {}, history: semaphore.NewWeighted(1)}
	r.page = func(_ context.Context, token string) (p data.Page[data.Reward], err error) {
		from, _ := strconv.Atoi(token)
		for n := from; n < min(from+100, list-cut); n++ {
			p.Items = append(p.Items, reward(n))
		}
		if from+100 < list-cut {
			p.NextPageToken = strconv.Itoa(from + 100)
		}
		return p, nil
	}
	after := func(days int) int {
		for range days * 24 {
			must.Do(t, r.read(t.Context()))
			time.Sleep(time.Hour)
		}
		return r.Complete.Sums[data.RewardValidator].Count
	}
	if got := after(1); got != all {
		t.Fatalf("%d rewards", got)
	}
	time.Sleep(24 * time.Hour)
	cut = lacking
	if err := r.read(t.Context()); err != nil || r.Complete.Sums[data.RewardValidator].Count != all {
		t.Errorf("after a short reading: %d rewards, %v", r.Complete.Sums[data.RewardValidator].Count, err)
	}
	if cut = 0; after(2) != all {
		t.Errorf("%d rewards after it", r.Complete.Sums[data.RewardValidator].Count)
	}
	if list--; after(2) != all-1 {
		t.Errorf("%d rewards after the service removed one", r.Complete.Sums[data.RewardValidator].Count)
	}
}
