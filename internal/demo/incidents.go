package demo

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/avax-exporter/avax-exporter/simnet"
)

// Incident is a temporary fault of the simulated network.
type Incident struct {
	What  string // description
	Look  string // family to look at, and the expected value
	Begin func(*simnet.Network)
	End   func(*simnet.Network)
	ended string        // message at the end, if nothing recovers
	lasts time.Duration // 0: usual. If it is longer than tooLong, the next incident starts before this one ends
}

// Lasts returns the duration.
func (i Incident) Lasts() time.Duration { return cmp.Or(i.lasts, usual) }

// Incidents are run in this order.
var Incidents = []Incident{
	{
		What:  "bravo's process ends",
		Look:  "avax_node_up of bravo is 0; after three periods its other samples expire",
		Begin: func(n *simnet.Network) { n.Node("bravo").Stop() },
		End:   func(n *simnet.Network) { n.Node("bravo").Start() },
	},
	{
		What:  "charlie loses the bootstrap of the C-Chain",
		Look:  "avax_node_chain_bootstrapped of charlie and C is 0",
		Begin: func(n *simnet.Network) { n.Node("charlie").SetChain("C", simnet.Bootstrapping) },
		End:   func(n *simnet.Network) { n.Node("charlie").SetChain("C", simnet.Running) },
	},
	{
		What:  "alpha's peers observed an uptime of only 70 %: its reward is at risk",
		Look:  "avax_node_uptime_rewarding_stake_ratio of alpha falls",
		Begin: func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(70) },
		End:   func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(99) },
	},
	{
		What:  "an L1 validator, echo, runs out of balance",
		Look:  "avax_l1_validator_balance_avax falls to 0, then a validator is inactive",
		Begin: func(n *simnet.Network) { n.SetBalance("examplel1", "echo", 512*10) },
		End:   func(n *simnet.Network) { n.TopUp("examplel1", "echo", topUp) },
	},
	{
		What: "nobody tops up examplel1: most validators run out of balance",
		Look: "avax_l1_quorum_loss_seconds falls to 0; /api/v1/l1/examplel1/plan",
		Begin: func(n *simnet.Network) {
			for name, left := range runDry {
				n.SetBalance("examplel1", name, 512*uint64(left.Seconds()))
			}
		},
		End: func(n *simnet.Network) {
			for name := range runDry {
				n.TopUp("examplel1", name, topUp)
			}
		},
		lasts: 3 * time.Minute,
	},
	{
		What:  "bravo's peers observed an uptime of only 60 %: its reward is lost",
		Look:  "avax_validator_reward_reachable of bravo is 0",
		Begin: func(n *simnet.Network) { n.Node("bravo").SetObservedUptime(60) },
		End: func(n *simnet.Network) {
			n.RemoveValidator("P", "bravo")
			n.Node("bravo").SetObservedUptime(-1)
			n.AddValidator("bravo", 2_050_000e9, 90*24*time.Hour)
		},
		ended: "bravo's period ended without a reward: a new period begins",
	},
	{
		What:  "alpha hangs: it accepts connections and never answers",
		Look:  "avax_node_up of alpha is 0; samples of other nodes are not delayed",
		Begin: func(n *simnet.Network) { n.Node("alpha").Inject(simnet.Hung()) },
		End:   func(n *simnet.Network) { n.Node("alpha").Recover() },
	},
	{
		What:  "validator charlie leaves the primary network's set",
		Look:  `avax_validator_present is 0 for charlie`,
		Begin: func(n *simnet.Network) { n.RemoveValidator("P", "charlie") },
		End:   func(n *simnet.Network) { n.AddValidator("charlie", 1_950_000e9, 180*24*time.Hour) },
	},
	{
		What: "examplel1 doubles its minimum base fee",
		Look: "avax_chain_fee_config_min_base_fee_wei of examplel1 rises",
		Begin: func(n *simnet.Network) {
			fees := n.FeeConfig("examplel1")
			fees.MinBaseFee *= 2
			n.SetFeeConfig("examplel1", fees)
		},
		End: func(n *simnet.Network) {
			fees := n.FeeConfig("examplel1")
			fees.MinBaseFee /= 2
			n.SetFeeConfig("examplel1", fees)
		},
	},
	{
		What:  "a proxy in front of bravo limits the rate of requests",
		Look:  "avax_exporter_upstream_requests_total of bravo, rate_limited, rises",
		Begin: func(n *simnet.Network) { n.Node("bravo").Inject(simnet.RateLimited(5 * time.Second)) },
		End:   func(n *simnet.Network) { n.Node("bravo").Recover() },
	},
	{
		What: "peers announce an upgrade in two days that your nodes do not know",
		Look: "avax_node_unknown_upgrade_timestamp_seconds of alpha and bravo appears",
		Begin: func(n *simnet.Network) {
			n.AnnounceUpgrade(time.Now().Add(48*time.Hour), announcing...)
		},
		End: func(n *simnet.Network) { n.AnnounceUpgrade(time.Unix(0, 0), announcing...) },
	},
	{
		What:  "the Metrics service is down",
		Look:  `avax_chain_avg_tps expires after three periods`,
		Begin: func(n *simnet.Network) { n.MetricsService().Stop() },
		End:   func(n *simnet.Network) { n.MetricsService().Start() },
	},
	{
		What:  "the relayers between C and examplel1 are down",
		Look:  "avax_icm_oldest_pending_timestamp_seconds appears within ten minutes",
		Begin: func(n *simnet.Network) { n.HoldICM(true) },
		End:   func(n *simnet.Network) { n.HoldICM(false) },
		lasts: 11 * time.Minute,
	},
	{
		What:  "examplel1's subnet has another owner",
		Look:  `avax_subnet_owner_info has the new address instead of the old address`,
		Begin: func(n *simnet.Network) { n.SetOwner("examplel1", []string{NewOwner}, 1) },
		End:   func(n *simnet.Network) { n.SetOwner("examplel1", []string{simnet.Owner}, 1) },
	},
	{
		What:  "the Data service is down",
		Look:  "avax_data_up is 0; after three periods its other samples expire",
		Begin: func(n *simnet.Network) { n.DataService().Stop() },
		End:   func(n *simnet.Network) { n.DataService().Start() },
	},
}

// runDry holds how long the balances of examplel1's validators last without a top-up. When the last ones run out, the active weight
// falls from 93 % to 52 %.
var runDry = map[string]time.Duration{
	"echo": 50 * time.Second, "charlie": 80 * time.Second,
	"foxtrot": 110 * time.Second, "other01": 110 * time.Second, "other02": 110 * time.Second, "other03": 110 * time.Second,
}

// announcing are the peers that announce an upgrade: most of the stake.
var announcing = func() []string {
	names := []string{"delta", "echo", "golf", "hotel"}
	for i := range others {
		names = append(names, fmt.Sprintf("other%02d", i+1))
	}
	return names
}()

const (
	quiet   = 20 * time.Second // before an incident
	usual   = 40 * time.Second // duration of an incident
	tooLong = 5 * time.Minute  // longest wait for the end of an incident
)

// Run runs the incidents one after the other until ctx ends. It logs each incident and the family that shows it.
func Run(ctx context.Context, network *simnet.Network, log *slog.Logger) {
	for i := 0; ; i++ {
		now := Incidents[i%len(Incidents)]
		if !wait(ctx, quiet) {
			return
		}
		log.Warn("incident started", "incident", now.What)
		log.Info("what to look for", "sign", now.Look)
		now.Begin(network)
		end := func() {
			if wait(ctx, now.Lasts()) {
				now.End(network)
				log.Info("incident ended", "incident", cmp.Or(now.ended, now.What))
			}
		}
		if now.lasts > tooLong {
			go end()
		} else {
			end()
		}
	}
}

// wait returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
