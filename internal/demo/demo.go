// Package demo defines the simulated network of the command demo, the exporter's configuration for it, and its incidents.
package demo

import (
	"time"

	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// Nodes are the configured nodes of the demo: three validators, and one that validates only an L1.
var Nodes = []string{"alpha", "bravo", "charlie", "foxtrot"}

// validators are the monitored validators: those of the nodes, and one that is auto-renewed.
var validators = []string{"alpha", "bravo", "charlie", "golf"}

// period is the period of every collector in the demo. It is short, so that an incident is visible within seconds.
const period = 5 * time.Second

// others is the number of validators of other operators.
const others = 60

// NewNetwork returns the demo's network in a healthy state: the balances last for more than a month.
func NewNetwork() *simnet.Network {
	network := simnet.New(simnet.Options{Seed: 1, Others: others})
	network.SetBlockPeriod("X", 20*time.Second)
	for _, name := range []string{"charlie", "echo"} {
		network.TopUp("examplel1", name, topUp)
	}
	for _, n := range network.Nodes() {
		n.SetAPI("admin", true)
	}
	return network
}

// Configure configures the exporter for the simulated network. urls holds the URLs of its servers by name. It enables every
// collector and monitors one item of each kind.
func Configure(c *config.Config, network *simnet.Network, urls map[string]string) (err error) {
	c.Nodes, c.Observers = nil, []config.Node{{Name: "public", URL: urls["observer"]}}
	for _, name := range Nodes {
		c.Nodes = append(c.Nodes, config.Node{Name: name, URL: urls[name]})
	}
	c.ObserverBudget = 5000 // every collector runs every few seconds
	if c.Upstreams, err = c.ReadUpstreams(); err != nil {
		return err
	}
	c.Shard, c.TotalShards, c.DefaultNode = 0, 1, false
	c.Chains = config.Chains{List: []nodes.Chain{
		{Name: "C", Ref: "C"},
		{Name: "examplel1", Ref: network.Chain("examplel1").ID},
		{Name: "examplepoa", Ref: network.Chain("examplepoa").ID},
	}}
	c.MetricsURL, c.DataURL = config.MetricsURL(urls["metrics"]), config.DataURL(urls["data"])
	c.Network.Name, c.DataBudget = data.Mainnet, config.DataBudget{PerMinute: unitsPerMinute}
	for _, name := range validators {
		c.Upstreams.Watch.Validators.IDs = append(c.Upstreams.Watch.Validators.IDs, network.NodeID(name))
	}
	c.Upstreams.Watch.Addresses = []collector.Item{{Name: "owner", Value: "P-" + simnet.Owner}, {Name: "owner-x", Value: "X-" + simnet.Owner}}
	c.Upstreams.Watch.Delegators = []collector.Item{{Name: "treasury", Value: "P-" + simnet.Delegator}}
	c.Upstreams.Watch.Assets = []collector.Item{{Name: "example-asset", Value: Asset}}
	c.Upstreams.Watch.EVM = []collector.Item{{Name: "account", Value: simnet.Account}, {Name: "partner", Value: simnet.Partner}}
	c.Upstreams.Watch.Contracts = []collector.Item{{Name: "deployer", Value: simnet.Account}}
	c.Upstreams.Watch.Tokens = []collector.Token{
		{Name: "ticket", Chain: "C", Contract: simnet.Collection, ID: "3"}, {Name: "item", Chain: "C", Contract: simnet.Items, ID: "1"},
	}
	c.Upstreams.Watch.Signatures = []collector.Item{{Name: "conversion", Value: Conversion}}
	c.Collectors = collectors.All()
	for _, spec := range c.Collectors {
		if c.Schedules[spec.Name] == nil {
			c.Schedules[spec.Name] = func(target metric.Target) cron.Schedule { return schedule.Every(period, target) }
		}
	}
	return nil
}

// IDs in the simulated network with the demo's seed: an asset of simnet.Owner other than AVAX, and the transaction that converted
// examplel1 to an L1.
const (
	Asset      = "VDn2yqg9vtPqizn3LJV8GnKKXBx7n3i1hKWEVsAjLsa1v2ivY"
	Conversion = "2tzwYYGPioh2hA639aBuSTnKyeGrhmrMvLYvzMfEbMYnRircuf"
)

// NewOwner is the address of twenty zero bytes. Its key is unknown.
const NewOwner = "custom1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq4mlve4"

// topUp is an amount in nAVAX that lasts for 226 days.
const topUp = 10e9

// unitsPerMinute is the demo's budget of compute units per minute. It is large because the periods are short.
const unitsPerMinute = 100_000
