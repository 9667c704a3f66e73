package collectors_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// runway binds the collector once, so that its measurements stay between runs. run runs the job for examplel1. The
// function of returns the name of a validator's series.
func (w world) runway(t *testing.T) (run func() string, of func(family, validator string) string) {
	t.Helper()
	spec, j := w.job(t, "l1_runway", "examplel1")
	return func() string { return samplesOf(t, spec, j) }, func(family, validator string) string {
		return fmt.Sprintf(`avax_l1_validator_%s{chain="examplel1",node_id="%s",validation_id="%s"}`,
			family, w.network.NodeID(validator), w.network.ValidationID("examplel1", validator))
	}
}

// unpriced makes the nodes reject platform.getValidatorFeeState. The method is not documented, so a release may
// remove it.
func unpriced(w world, nodes ...string) {
	for _, name := range nodes {
		w.network.Node(name).Inject(simnet.Refused(-32000, `rpc: can't find method "platform.GetValidatorFeeState"`), "platform.getValidatorFeeState")
	}
}

// onNetwork moves the nodes to another network.
func onNetwork(w world, id uint64) {
	w.replies("info.getNetworkID", fmt.Sprintf(`{"networkID":"%d"}`, id))
}

func TestRunwayIsBalanceDividedByPrice(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetFeePrice(1000)
		run, of := w.runway(t)
		page := run()
		wantSeries(t, page, of("burn_avax_per_day", "echo"), "0.0864")
		if got := valueOf(t, page, of("runway_seconds", "echo")); math.Abs(got-500_000) > 15 {
			t.Errorf("runway of half an AVAX: %v s", got)
		}
		// At 1000 nAVAX per second, alpha's 10 AVAX last 115 days. echo, charlie and foxtrot need a top-up for 30 days.
		const need = 30 * 24 * 3600 * 1000e-9
		if got, want := valueOf(t, page, `avax_l1_top_up_avax{chain="examplel1",days="30"}`), (need-0.5)+(need-1)+(need-2); math.Abs(got-want) > 1e-4 {
			t.Errorf("top-up of %v AVAX, want %v", got, want)
		}
	})
}

func TestFreeValidationHasNoRunway(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetFeePrice(0)
		run, of := w.runway(t)
		page := run()
		wantSeries(t, page, of("burn_avax_per_day", "echo"), "0")
		wantSeries(t, page, `avax_l1_top_up_avax{chain="examplel1",days="30"}`, "0")
		wantNoSeries(t, page, "runway_seconds")
		wantNoSeries(t, page, "quorum_loss")
	})
}

// Without P-Chain blocks no balance changes, but time passes.
func TestRunwayFallsWithoutPChainBlocks(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetBlockPeriod("P", 0)
		run, of := w.runway(t)
		before := run()
		time.Sleep(time.Hour)
		after := run()
		for _, series := range []string{of("runway_seconds", "bravo"), `avax_l1_quorum_loss_seconds{chain="examplel1",quorum="0.80"}`} {
			if fell := valueOf(t, before, series) - valueOf(t, after, series); fell != 3600 {
				t.Errorf("%s fell by %v s in an hour", series, fell)
			}
		}
		const sum = `avax_l1_top_up_avax{chain="examplel1",days="30"}`
		if rose := valueOf(t, after, sum) - valueOf(t, before, sum); !near(rose, 2*3600*512e-9) { // charlie and echo each need 3600 s more
			t.Errorf("sum of top-ups rose by %v AVAX", rose)
		}
	})
}

func TestTopUpCountsFromItsBlock(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		w.network.Node("alpha").FallBehind("P")
		run, of := w.runway(t)
		before := valueOf(t, run(), of("runway_seconds", "echo"))
		time.Sleep(10 * time.Minute)
		w.network.TopUp("examplel1", "echo", 1e9)
		time.Sleep(10 * time.Minute)
		if got := valueOf(t, run(), of("runway_seconds", "echo")); got != before-20*60 {
			t.Errorf("%v s, want %v s minus twenty minutes", got, before)
		}
		w.network.Node("alpha").CatchUp("P")
		if got, want := valueOf(t, run(), of("runway_seconds", "echo")), before-20*60+1e9/512; math.Abs(got-want) > 10 {
			t.Errorf("%v s after the block, want %v", got, want)
		}
	})
}

func TestBurnIsMeasuredWithoutAPrice(t *testing.T) {
	for _, price := range []uint64{1, 512, 777_777} {
		t.Run(strconv.FormatUint(price, 10), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				for _, validator := range []string{"alpha", "bravo", "charlie", "echo", "foxtrot"} {
					w.network.TopUp("examplel1", validator, 1e12)
				}
				w.network.SetFeePrice(price)
				w.network.SetBalance("examplel1", "foxtrot", 0)
				unpriced(w, "alpha", "foxtrot")
				run, of := w.runway(t)
				page := run()
				wantNoSeries(t, page, "burn_avax_per_day")
				wantNoSeries(t, page, "top_up")
				wantNoSeries(t, page, of("runway_seconds", "alpha"))
				wantSeries(t, page, of("runway_seconds", "foxtrot"), "0")
				wantSeries(t, page, `avax_l1_quorum_loss_seconds{chain="examplel1",quorum="0.80"}`, "0") // the burn does not matter: only 270 of 370 weight is active
				wantNoSeries(t, page, `quorum="0.67"`)
				for range 3 {
					time.Sleep(2 * time.Minute)
					w.network.TopUp("examplel1", "bravo", 5e9) // a top-up must not count as burn
					page = run()
				}
				day := float64(price) * 86400e-9
				// foxtrot has no balance to measure, so it gets the burn rate of the others
				for _, validator := range []string{"alpha", "bravo", "charlie", "echo", "foxtrot"} {
					if got := valueOf(t, page, of("burn_avax_per_day", validator)); math.Abs(got-day) > day/100 {
						t.Errorf("%s: burn of %v AVAX per day, want %v", validator, got, day)
					}
				}
				if !strings.Contains(page, `quorum="0.67"`) {
					t.Error("no series for the loss of quorum 0.67")
				}
			})
		})
	}
}

func TestMainnetBurnIsAtLeastTheFloor(t *testing.T) {
	for id, want := range map[uint64]string{1: "0.0442368", 5: "0.0442368", 1337: ""} {
		inWorld(t, func(t *testing.T, w world) {
			onNetwork(w, id)
			w.network.SetFeePrice(100)
			unpriced(w, "alpha", "foxtrot")
			run, of := w.runway(t)
			page := run() // the first run has no measurement yet
			if want == "" {
				wantNoSeries(t, page, "burn_avax_per_day")
				want = "0.00864"
			} else {
				wantSeries(t, page, of("burn_avax_per_day", "alpha"), want)
			}
			time.Sleep(10 * time.Minute)
			wantSeries(t, run(), of("burn_avax_per_day", "alpha"), want)
		})
	}
}

// l1_runway must not use the balances that another collector requested a minute ago.
func TestBalancesAndTheirTimeAreReadTogether(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		_, of := w.runway(t)
		shared := scrape.MaxAge(t.Context(), time.Minute)
		collect(shared, t, specOf(t, "l1"), w.ups)
		time.Sleep(50 * time.Second)
		page := collect(shared, t, specOf(t, "l1_runway"), w.ups)
		wantSeries(t, w.page(t, "l1_runway"), of("runway_seconds", "alpha"), fmt.Sprint(valueOf(t, page, of("runway_seconds", "alpha"))))
	})
}

func TestOnlyConsistentReadingsAreMeasured(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		unpriced(w, "alpha")
		began := time.Now()
		asked := 0
		*w.otherwise = func(_, method string, _ []any) string {
			if method != "platform.getTimestamp" { // each answer has a later time
				return ""
			}
			asked++
			return fmt.Sprintf(`{"jsonrpc":"2.0","result":{"timestamp":%q},"id":1}`, began.Add(time.Duration(asked)*time.Second).UTC().Format(time.RFC3339))
		}
		run, _ := w.runway(t)
		for range 5 {
			wantNoSeries(t, run(), "burn_avax_per_day")
			time.Sleep(2 * time.Minute)
		}
		if asked != 5*4 {
			t.Errorf("%d calls for the time in 5 runs", asked)
		}
	})
}

func TestLegacyValidatorsPayNothingAndStayActive(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		page, err := w.run(t, "l1_runway", "examplepoa")
		if err != nil || page != "" {
			t.Errorf("permissioned subnet: %q, %v", page, err)
		}
		w.network.AddL1Validator("examplepoa", "hotel", 30, 1e9)
		if page, err = w.run(t, "l1_runway", "examplepoa"); err != nil {
			t.Fatal(err)
		}
		wantNoSeries(t, page, w.network.NodeID("alpha"))
		runway := valueOf(t, page, fmt.Sprintf(`avax_l1_validator_runway_seconds{chain="examplepoa",node_id="%s",validation_id="%s"}`,
			w.network.NodeID("hotel"), w.network.ValidationID("examplepoa", "hotel")))
		for quorum, want := range map[string]float64{"0.80": runway, "0.75": runway} { // 60 of 90 weight belongs to legacy validators
			if got := valueOf(t, page, `avax_l1_quorum_loss_seconds{chain="examplepoa",quorum="`+quorum+`"}`); got != want {
				t.Errorf("quorum %s lost in %v s, want %v", quorum, got, want)
			}
		}
	})
}

// The weight is 370: alpha 100, bravo 100, foxtrot 100, charlie 50, echo 20.
func TestQuorumDenominatorIncludesInactiveWeight(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		run, of := w.runway(t)
		quorum := func(share string) string {
			return `avax_l1_quorum_loss_seconds{chain="examplel1",quorum="` + share + `"}`
		}
		page := run()
		// The balances end in the order echo, charlie, foxtrot. The active weight is then 350, 300 (81 %), 200 (54 %).
		for _, share := range []string{"0.80", "0.75", "0.67"} {
			if got, want := valueOf(t, page, quorum(share)), valueOf(t, page, of("runway_seconds", "foxtrot")); got != want {
				t.Errorf("quorum %s lost in %v s, want foxtrot's %v", share, got, want)
			}
		}
		w.network.SetBalance("examplel1", "charlie", 0)
		w.network.SetBalance("examplel1", "echo", 0)
		page = run() // 300 of 370 weight is active: 81 %
		if got, want := valueOf(t, page, quorum("0.80")), valueOf(t, page, of("runway_seconds", "foxtrot")); got != want {
			t.Errorf("lost in %v s, want %v", got, want)
		}
		w.network.SetBalance("examplel1", "foxtrot", 0)
		page = run() // 200 of 370 weight is active
		wantSeries(t, page, quorum("0.80"), "0")
		wantSeries(t, page, quorum("0.67"), "0")
		wantSeries(t, page, of("runway_seconds", "foxtrot"), "0")
	})
}

func TestRemovedValidatorLosesItsMeasurements(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.setNodes(t, "alpha")
		unpriced(w, "alpha")
		run, of := w.runway(t)
		run()
		time.Sleep(2 * time.Minute)
		wantSeries(t, run(), of("burn_avax_per_day", "echo"), "0.0442368")
		for _, validator := range []string{"alpha", "bravo", "charlie", "echo", "foxtrot"} {
			w.network.RemoveValidator("examplel1", validator)
		}
		run()
		w.network.AddL1Validator("examplel1", "echo", 20, 1e9) // the validator returns with a new validation ID
		if page := run(); page != "" {
			t.Errorf("samples of an unmeasured validation: %s", page)
		}
	})
}

// The status page uses Facts, /metrics uses samples: both must have the same validators.
func TestL1FactsHaveTheWholeSet(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.network.SetBalance("examplel1", "charlie", 0)
		w.setNodes(t, "alpha")
		kept := func(collector, chain string) *staking.L1 { return w.batch(t, collector, chain).Facts.L1 }
		runway, all := kept("l1_runway", "examplel1"), kept("l1", "examplel1")
		if len(runway.Set) != 5 || runway.Unpriced || runway.At.IsZero() || !all.Unpriced || !all.At.IsZero() {
			t.Fatalf("%+v, %+v", runway, all)
		}
		page := w.page(t, "l1_runway")
		for _, v := range runway.Set {
			if v.Burn != staking.MainnetFloor {
				t.Errorf("%+v", v)
			}
			if v.Burn = 0; !slices.Contains(all.Set, v) {
				t.Errorf("l1_runway %+v, l1 %+v", v, all.Set)
			}
			if v.NodeID == w.network.NodeID("charlie") && (v.ID != w.network.ValidationID("examplel1", "charlie") || v.Active()) {
				t.Errorf("charlie: %+v", v)
			}
		}
		_, sum := runway.TopUps(staking.TopUpDays, time.Now())
		if got := valueOf(t, page, `avax_l1_top_up_avax{chain="examplel1",days="30"}`); got != float64(sum)/1e9 {
			t.Errorf("top-up in the sample %v AVAX, in the facts %d nAVAX", got, sum)
		}
		for _, v := range kept("l1_runway", "examplepoa").Set {
			if !v.Legacy || v.End.IsZero() || v.ID == "" || v.Balance != 0 {
				t.Errorf("permissioned subnet: %+v", v)
			}
		}
		unpriced(w, "alpha")
		onNetwork(w, 1337)
		if runway := kept("l1_runway", "examplel1"); !runway.Unpriced || runway.At.IsZero() {
			t.Errorf("without a price: %+v", runway)
		}
	})
}
