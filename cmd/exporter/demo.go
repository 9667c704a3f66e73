package main

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// demoNodes are the nodes of the simulated network that the demo asks: three
// validators, and one that validates an L1 only.
var demoNodes = []string{"alpha", "bravo", "charlie", "foxtrot"}

// demoEvery is the period of every collector in the demo, so that an incident
// shows within seconds.
const demoEvery = 5 * time.Second

// demo runs the exporter over a simulated network in the same process.
func demo(ctx context.Context, c *config, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := newLogger(c, stderr)
	network := demoNetwork()
	urls, err := network.Serve(ctx)
	if err != nil {
		return err
	}
	if err := c.ask(network, urls); err != nil {
		return err
	}
	log.Info("simulated network", "nodes", len(c.nodes), "l1", "examplel1", "permissioned", "examplepoa")
	return run(ctx, c, log, func(address net.Addr) {
		log.Info("open the status page", "url", ownURL(address.String(), c.tls))
		go play(ctx, network, log)
	})
}

// demoNetwork is the network that the demo asks, in which all is well: the
// balances last for more than a month.
func demoNetwork() *simnet.Network {
	network := simnet.New(simnet.Options{Seed: 1})
	network.SetBlockPeriod("X", 20*time.Second)
	for _, name := range []string{"charlie", "echo"} {
		network.TopUp("examplel1", name, demoTopUp)
	}
	for _, n := range network.Nodes() {
		n.SetAdminAPI(true)
	}
	return network
}

// ask makes the configuration one that asks the simulated network at these
// addresses, with every collector, and watches a little of everything there.
func (c *config) ask(network *simnet.Network, urls map[string]string) (err error) {
	c.fleet = &fleet.Source{}
	for _, name := range demoNodes {
		c.fleet.Nodes = append(c.fleet.Nodes, fleet.Node{Name: name, URL: urls[name]})
	}
	if c.nodes, err = c.fleet.Read(); err != nil {
		return err
	}
	c.part = fleet.Part{}
	c.autoChains = false
	c.chains = []collectors.Chain{
		{Name: "C", Ref: "C"},
		{Name: "examplel1", Ref: network.Chain("examplel1").ID},
		{Name: "examplepoa", Ref: network.Chain("examplepoa").ID},
	}
	c.metricsURL, c.dataURL, c.key = urls["metrics"], urls["data"], keyFile{}
	c.network, c.perMinute, c.perDay = data.Mainnet, demoUnits, 0
	c.addresses = []string{"P-" + simnet.Owner, "X-" + simnet.Owner}
	c.assets = []string{demoAsset}
	c.evm = []string{simnet.Account, simnet.Partner}
	c.contracts = []string{simnet.Account}
	c.tokens = []collectors.Token{{Chain: "C", Contract: simnet.Collection, ID: "3"}, {Chain: "C", Contract: simnet.Items, ID: "1"}}
	c.probes = []collectors.Probe{{Name: "conversion", TxHash: demoConversion}}
	c.specs = collectors.All()
	for _, spec := range c.specs {
		if c.schedules[spec.Name] == nil {
			c.schedules[spec.Name] = func(target metric.Target) cron.Schedule { return schedule.Every(demoEvery, target) }
		}
	}
	return nil
}

// In the simulated network of the demo's seed: an asset that simnet.Owner holds
// beside AVAX, and the transaction that made examplel1 an L1.
const (
	demoAsset      = "VDn2yqg9vtPqizn3LJV8GnKKXBx7n3i1hKWEVsAjLsa1v2ivY"
	demoConversion = "2tzwYYGPioh2hA639aBuSTnKyeGrhmrMvLYvzMfEbMYnRircuf"
)

// demoOwner is the address of twenty zero bytes, whose key nobody has.
const demoOwner = "custom1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq4mlve4"

// demoTopUp, in nAVAX, lasts for 226 days.
const demoTopUp = 10e9

// demoUnits are compute units a minute: many, as everything is asked so often.
const demoUnits = 100_000

// incident is something that happens to the simulated network for a while.
type incident struct {
	what  string // happens
	look  string // at which family, for what
	begin func(*simnet.Network)
	end   func(*simnet.Network)
	ended string        // what its end is, where nothing heals
	lasts time.Duration // 0: the usual time; longer than a few minutes, the next one does not wait for its end
}

var incidents = []incident{
	{
		what:  "bravo's process ends",
		look:  `avax_node_up{node="bravo"} is 0, and after three periods its other samples are gone`,
		begin: func(n *simnet.Network) { n.Node("bravo").Stop() },
		end:   func(n *simnet.Network) { n.Node("bravo").Start() },
	},
	{
		what:  "charlie loses the bootstrap of the C-Chain",
		look:  `avax_node_chain_bootstrapped{node="charlie",chain="C"} is 0`,
		begin: func(n *simnet.Network) { n.Node("charlie").SetChain("C", simnet.Bootstrapping) },
		end:   func(n *simnet.Network) { n.Node("charlie").SetChain("C", simnet.Running) },
	},
	{
		what:  "alpha's peers saw it up for 70 % only: its reward is at risk",
		look:  `avax_node_uptime_rewarding_stake_ratio{node="alpha"} falls`,
		begin: func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(70) },
		end:   func(n *simnet.Network) { n.Node("alpha").SetObservedUptime(99) },
	},
	{
		what:  "an L1 validator, echo, runs out of balance",
		look:  `avax_l1_validator_balance_avax falls to 0, then avax_l1_validators{chain="examplel1",state="inactive"} is 1`,
		begin: func(n *simnet.Network) { n.SetBalance("examplel1", "echo", 512*10) },
		end:   func(n *simnet.Network) { n.TopUp("examplel1", "echo", demoTopUp) },
	},
	{
		what: "nobody has topped up examplel1: within two minutes most of its weight runs dry",
		look: `avax_l1_quorum_loss_seconds{chain="examplel1",quorum="0.80"} falls to 0, avax_l1_validator_runway_seconds and ` +
			`avax_l1_top_up_avax say who lacks how much: so does /api/v1/l1/examplel1/plan`,
		begin: func(n *simnet.Network) {
			for name, left := range runDry {
				n.SetBalance("examplel1", name, 512*uint64(left.Seconds()))
			}
		},
		end: func(n *simnet.Network) {
			for name := range runDry {
				n.TopUp("examplel1", name, demoTopUp)
			}
		},
		lasts: 3 * time.Minute,
	},
	{
		what:  "bravo's peers saw it up for 60 % only: its downtime budget is overspent, and no uptime brings the reward back",
		look:  `avax_validator_reward_reachable is 0 for it, avax_validator_downtime_used_seconds above avax_validator_downtime_budget_seconds`,
		begin: func(n *simnet.Network) { n.Node("bravo").SetObservedUptime(60) },
		end: func(n *simnet.Network) {
			n.RemoveValidator("P", "bravo")
			n.Node("bravo").SetObservedUptime(-1)
			n.AddValidator("bravo", 2_050_000e9, 90*24*time.Hour)
		},
		ended: "bravo's period is over without its reward: with a new one a new budget begins",
	},
	{
		what:  "alpha hangs: it takes connections and never answers",
		look:  `avax_node_up{node="alpha"} is 0, and the other nodes are not held up`,
		begin: func(n *simnet.Network) { n.Node("alpha").Suffer(simnet.Hung()) },
		end:   func(n *simnet.Network) { n.Node("alpha").Recover() },
	},
	{
		what:  "validator charlie leaves the primary network's set",
		look:  `avax_validator_present is 0 for it`,
		begin: func(n *simnet.Network) { n.RemoveValidator("P", "charlie") },
		end:   func(n *simnet.Network) { n.AddValidator("charlie", 1_950_000e9, 180*24*time.Hour) },
	},
	{
		what: "examplel1 doubles its lowest base fee",
		look: `avax_chain_fee_config_min_base_fee_wei{chain="examplel1"} and avax_chain_fee_config_last_changed_block`,
		begin: func(n *simnet.Network) {
			fees := n.FeeConfig("examplel1")
			fees.MinBaseFee *= 2
			n.SetFeeConfig("examplel1", fees)
		},
		end: func(n *simnet.Network) {
			fees := n.FeeConfig("examplel1")
			fees.MinBaseFee /= 2
			n.SetFeeConfig("examplel1", fees)
		},
	},
	{
		what:  "a proxy before bravo limits the rate of requests",
		look:  `avax_exporter_upstream_requests_total{upstream="bravo",outcome="rate_limited"} rises`,
		begin: func(n *simnet.Network) { n.Node("bravo").Suffer(simnet.RateLimited(5 * time.Second)) },
		end:   func(n *simnet.Network) { n.Node("bravo").Recover() },
	},
	{
		what: "the peers announce an upgrade in two days that our nodes do not know",
		look: `avax_node_unknown_upgrade_timestamp_seconds appears on alpha and bravo, to whom most of the stake that they reach announces it`,
		begin: func(n *simnet.Network) {
			n.AnnounceUpgrade(time.Now().Add(48*time.Hour), "delta", "echo", "golf", "hotel")
		},
		end: func(n *simnet.Network) { n.AnnounceUpgrade(time.Unix(0, 0), "delta", "echo", "golf", "hotel") },
	},
	{
		what:  "the Metrics service is down",
		look:  `avax_chain_avg_tps is gone after three periods`,
		begin: func(n *simnet.Network) { n.MetricsService().Stop() },
		end:   func(n *simnet.Network) { n.MetricsService().Start() },
	},
	{
		what:  "the relayers between the C-Chain and examplel1 are down: messages are held up",
		look:  `within ten minutes one waits: avax_icm_messages{status="pending"} and avax_icm_oldest_pending_timestamp_seconds`,
		begin: func(n *simnet.Network) { n.HoldICM(true) },
		end:   func(n *simnet.Network) { n.HoldICM(false) },
		lasts: 11 * time.Minute,
	},
	{
		what:  "examplel1's subnet has another owner",
		look:  `avax_subnet_owner_info: the old address is gone, a new one there`,
		begin: func(n *simnet.Network) { n.SetOwner("examplel1", []string{demoOwner}, 1) },
		end:   func(n *simnet.Network) { n.SetOwner("examplel1", []string{simnet.Owner}, 1) },
	},
	{
		what:  "the Data service is down",
		look:  `avax_data_up is 0, and after three periods what it alone tells is gone`,
		begin: func(n *simnet.Network) { n.DataService().Stop() },
		end:   func(n *simnet.Network) { n.DataService().Start() },
	},
}

// runDry is how long the balances of examplel1 last while nobody tops it up. The
// loss of foxtrot takes its active weight from 81 to 54 %.
var runDry = map[string]time.Duration{"echo": 50 * time.Second, "charlie": 80 * time.Second, "foxtrot": 110 * time.Second}

const (
	quiet   = 20 * time.Second // before an incident
	usual   = 40 * time.Second // how long it lasts
	tooLong = 5 * time.Minute  // for the next one to wait
)

// play lets the incidents happen, one after the other, for ever.
func play(ctx context.Context, network *simnet.Network, log *slog.Logger) {
	for i := 0; ; i++ {
		now := incidents[i%len(incidents)]
		if !wait(ctx, quiet) {
			return
		}
		log.Warn("incident: "+now.what, "look", now.look)
		now.begin(network)
		end := func() {
			if wait(ctx, cmp.Or(now.lasts, usual)) {
				now.end(network)
				log.Info(cmp.Or(now.ended, "healed: "+now.what))
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
