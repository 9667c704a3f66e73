package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/fleet"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
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
	network := simnet.New(simnet.Options{Seed: 1})
	urls, err := network.Serve(ctx)
	if err != nil {
		return err
	}
	c.fleet = &fleet.Source{}
	for _, name := range demoNodes {
		c.fleet.Nodes = append(c.fleet.Nodes, fleet.Node{Name: name, URL: urls[name]})
	}
	if c.nodes, err = c.fleet.Read(); err != nil {
		return err
	}
	c.part = fleet.Part{}
	c.metricsURL = urls["metrics"]
	c.chains = []collectors.Chain{
		{Name: "C", Ref: "C"},
		{Name: "examplel1", Ref: network.Chain("examplel1").ID},
		{Name: "examplepoa", Ref: network.Chain("examplepoa").ID},
	}
	for _, spec := range c.specs {
		if c.schedules[spec.Name] == nil {
			c.schedules[spec.Name] = cron.Every(demoEvery)
		}
	}
	log.Info("simulated network", "nodes", len(c.nodes), "l1", "examplel1", "permissioned", "examplepoa")
	return run(ctx, c, log, func(address net.Addr) {
		log.Info("open the status page", "url", pageURL(address))
		go play(ctx, network, log)
	})
}

// incident is something that happens to the simulated network for a while.
type incident struct {
	what  string // happens
	look  string // at which family, for what
	begin func(*simnet.Network)
	end   func(*simnet.Network)
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
		end:   func(n *simnet.Network) { n.TopUp("examplel1", "echo", 1e9) },
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
		end:   func(n *simnet.Network) { n.AddValidator("charlie", 2_000_000e9, 180*24*time.Hour) },
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
		look: `avax_node_unknown_upgrade_timestamp_seconds appears`,
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
}

// play lets the incidents happen, one after the other, for ever.
func play(ctx context.Context, network *simnet.Network, log *slog.Logger) {
	const quiet, lasts = 20 * time.Second, 40 * time.Second
	for i := 0; ; i++ {
		now := incidents[i%len(incidents)]
		if !wait(ctx, quiet) {
			return
		}
		log.Warn("incident: "+now.what, "look", now.look)
		now.begin(network)
		if !wait(ctx, lasts) {
			return
		}
		now.end(network)
		log.Info("healed: " + now.what)
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
