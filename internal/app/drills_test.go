//go:build incidents && !noalerting

package app_test

import (
	"net/http"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/demo"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
)

// drills are the incidents, and the situations without any expected alert.
func drills() []drill {
	return slices.Concat(nodeDrills, networkDrills, stakeDrills, l1Drills, serviceDrills, quietDrills)
}

// most lists validators that have most of the stake. The monitored nodes are not among them.
var most = append([]string{"delta", "golf"}, large...)

var nodeDrills = []drill{
	{
		what:  "a node's process ends",
		begin: func(s *stage) { s.Node("bravo").Stop() },
		end:   func(s *stage) { s.Node("bravo").Start() },
		pages: []string{"AvaxNodeDown"}, within: 7 * time.Minute,
	},
	{
		what:  "a node takes connections and never answers",
		begin: func(s *stage) { s.Node("alpha").Inject(simnet.Hung()) },
		end:   func(s *stage) { s.Node("alpha").Recover() },
		pages: []string{"AvaxNodeDown"}, within: 7 * time.Minute,
	},
	{
		what: "a node's process ends every five minutes, for a minute",
		begin: func(s *stage) {
			for i := range 4 {
				at := time.Duration(i) * 5 * time.Minute
				time.AfterFunc(at, s.Node("bravo").Stop)
				time.AfterFunc(at+time.Minute, s.Node("bravo").Start)
			}
		},
		warns: []string{"AvaxNodeFlapping"}, within: 20 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "a node answers after three seconds",
		begin: func(s *stage) { s.Node("alpha").Inject(simnet.Slow(3 * time.Second)) },
		end:   func(s *stage) { s.Node("alpha").Recover() },
		warns: []string{"AvaxNodeSlow"}, within: 25 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "a node loses the bootstrap of the C-Chain",
		begin: func(s *stage) { s.Node("charlie").SetChain("C", simnet.Bootstrapping) },
		end:   func(s *stage) { s.Node("charlie").SetChain("C", simnet.Running) },
		pages: []string{"AvaxChainNotBootstrapped"}, within: 12 * time.Minute,
	},
	{
		what:  "an L1's chain does not start on a node",
		begin: func(s *stage) { s.Node("alpha").SetChain("examplel1", simnet.Failed) },
		end:   func(s *stage) { s.Node("alpha").SetChain("examplel1", simnet.Running) },
		pages: []string{"AvaxChainMissing"}, within: 13 * time.Minute,
	},
	{
		what:  "a node falls behind on the C-Chain",
		begin: func(s *stage) { s.Node("bravo").FallBehind("C") },
		end:   func(s *stage) { s.Node("bravo").CatchUp("C") },
		pages: []string{"AvaxHeadStale"}, within: 8 * time.Minute,
	},
	{
		what:  "a node on Fuji, the only one, gets no more blocks of the C-Chain",
		nodes: []string{"alpha"}, fuji: true,
		begin: func(s *stage) { s.Node("alpha").FallBehind("C") },
		end:   func(s *stage) { s.Node("alpha").CatchUp("C") },
		pages: []string{"AvaxHeadStale"}, within: 8 * time.Minute,
	},
	{
		what: "all nodes on Fuji get no more blocks of the C-Chain",
		fuji: true,
		begin: func(s *stage) {
			each(append([]string{"echo"}, demo.Nodes...), func(n string) { s.Node(n).FallBehind("C") })
		},
		end: func(s *stage) {
			each(append([]string{"echo"}, demo.Nodes...), func(n string) { s.Node(n).CatchUp("C") })
		},
		pages: []string{"AvaxHeadStale"}, within: 8 * time.Minute,
	},
	{
		what:  "a node falls behind on an L1's chain",
		begin: func(s *stage) { s.Node("foxtrot").FallBehind("examplel1") },
		end:   func(s *stage) { s.Node("foxtrot").CatchUp("examplel1") },
		pages: []string{"AvaxHeadStale"}, within: 8 * time.Minute,
	},
	{
		what:  "a node forks from an L1's chain",
		begin: func(s *stage) { s.Node("charlie").Fork("examplel1") },
		end:   func(s *stage) { s.Node("charlie").CatchUp("examplel1") },
		pages: []string{"AvaxForkDetected"}, within: 6 * time.Minute,
	},
	{
		what:  "a node loses its way to the network, and still answers",
		begin: func(s *stage) { s.Disconnect("bravo") },
		end:   func(s *stage) { s.Reconnect("bravo") },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "a node benches a third of its peers",
		begin: func(s *stage) { each(small[:30], func(p string) { s.Node("alpha").Bench(p, "C") }) },
		end:   func(s *stage) { each(small[:30], func(p string) { s.Node("alpha").Bench(p) }) },
		pages: []string{"AvaxBenchedPeersHigh"}, within: 13 * time.Minute,
	},
	{
		what:  "a node belongs to another network",
		begin: func(s *stage) { s.set(func() { s.foreign = "bravo.sim" }) },
		end:   func(s *stage) { s.set(func() { s.foreign = "" }) },
		pages: []string{"AvaxNodeIdentityChanged"}, within: 6 * time.Minute,
	},
	{
		what:  "a spare node is started with another node's keys",
		begin: func(s *stage) { s.set(func() { s.to["spare.sim"] = "alpha.sim" }) },
		end:   func(s *stage) { s.set(func() { s.to["spare.sim"] = "echo.sim" }) },
		pages: []string{"AvaxNodeIdentityChanged"}, within: 9 * time.Minute,
	},
	{
		what:  "a node no longer allows the name that it is asked by (403)",
		begin: func(s *stage) { s.Node("bravo").Inject(simnet.WrongHost()) },
		end:   func(s *stage) { s.Node("bravo").Recover() },
		warns: []string{"AvaxUpstreamForbidden"}, within: 9 * time.Minute,
	},
	{
		what:  "a proxy before a node limits the rate (429)",
		begin: func(s *stage) { s.Node("bravo").Inject(simnet.RateLimited(5 * time.Second)) },
		end:   func(s *stage) { s.Node("bravo").Recover() },
		warns: []string{"AvaxUpstreamRateLimited"}, within: 10 * time.Minute,
	},
	{
		what: "a node has a precompile switched on in twelve hours, the others have not",
		begin: func(s *stage) {
			s.Node("alpha").SetPrecompile("examplel1", "txAllowListConfig", true, time.Now().Add(12*time.Hour))
		},
		pages: []string{"AvaxChainConfigDrift"}, within: 20 * time.Minute, heals: -1,
	},
	{
		what:  "a node has a newer version than the others, for a day",
		begin: func(s *stage) { s.SetVersion("alpha", "1.16.0") },
		end:   func(s *stage) { s.SetVersion("alpha", "1.15.0") },
		warns: []string{"AvaxVersionSkew"}, within: 25 * time.Hour,
	},
}

var networkDrills = []drill{
	{
		what:  "fifty small peers leave",
		begin: func(s *stage) { each(small[:50], s.Disconnect) },
		end:   func(s *stage) { each(small[:50], s.Reconnect) },
		warns: []string{"AvaxPeersLow"}, within: 13 * time.Minute,
	},
	{
		what:  "a third of the stake leaves",
		begin: func(s *stage) { each(large[:5], s.Disconnect) },
		end:   func(s *stage) { each(large[:5], s.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "the site of all our nodes loses its way to the network",
		begin: func(s *stage) { each(append([]string{"echo"}, demo.Nodes...), s.Disconnect) },
		end:   func(s *stage) { each(append([]string{"echo"}, demo.Nodes...), s.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "the site of all our nodes on Fuji does",
		fuji:  true,
		begin: func(s *stage) { each(append([]string{"echo"}, demo.Nodes...), s.Disconnect) },
		end:   func(s *stage) { each(append([]string{"echo"}, demo.Nodes...), s.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "most stake announces an upgrade in two days that the nodes do not know",
		begin: func(s *stage) { s.AnnounceUpgrade(time.Now().Add(48*time.Hour), most...) },
		end:   func(s *stage) { s.AnnounceUpgrade(time.Unix(0, 0), most...) },
		warns: []string{"AvaxUnknownUpgradeSoon"}, within: 15 * time.Minute,
	},
}

var stakeDrills = []drill{
	{
		what:  "peers saw a validator up for 78 % only",
		begin: func(s *stage) { s.Node("alpha").SetObservedUptime(78) },
		end:   func(s *stage) { s.Node("alpha").SetObservedUptime(-1) },
		pages: []string{"AvaxRewardStakeLow"}, within: 20 * time.Minute, goesOn: 22 * time.Minute,
	},
	{
		what:  "a validator's downtime budget is overspent near the end of its period",
		begin: func(s *stage) { s.Node("charlie").SetObservedUptime(75) },
		end:   func(s *stage) { s.Node("charlie").SetObservedUptime(-1) },
		pages: []string{"AvaxRewardUnreachable"}, within: 20 * time.Minute, goesOn: 22 * time.Minute,
	},
	{
		what:  "four fifths of a validator's downtime budget are used",
		begin: func(s *stage) { s.Node("charlie").SetObservedUptime(83) },
		end:   func(s *stage) { s.Node("charlie").SetObservedUptime(-1) },
		warns: []string{"AvaxDowntimeBudgetLow"}, within: 20 * time.Minute,
	},
	{
		what: "a validator of ten days, which may be down for one, loses its way to the network for two hours",
		begin: func(s *stage) {
			s.SetStakeStart("bravo", time.Now().Add(-day))
			s.SetStakeEnd("bravo", time.Now().Add(9*day))
			s.Disconnect("bravo")
		},
		end: func(s *stage) {
			s.Reconnect("bravo")
			s.SetStakeEnd("bravo", time.Now().Add(60*day))
		},
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute, goesOn: 122 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what: "that validator, once it is back: its peers saw it down for most of its period",
		begin: func(s *stage) {
			s.SetStakeStart("bravo", time.Now().Add(-day))
			s.SetStakeEnd("bravo", time.Now().Add(9*day))
			s.Disconnect("bravo")
			time.AfterFunc(30*time.Minute, func() {
				s.Node("bravo").SetObservedUptime(20)
				s.Reconnect("bravo")
			})
		},
		end: func(s *stage) {
			s.Node("bravo").SetObservedUptime(-1)
			s.SetStakeEnd("bravo", time.Now().Add(60*day))
		},
		pages: []string{"AvaxConnectedStakeLow", "AvaxRewardStakeLow"}, within: time.Hour, goesOn: 22 * time.Minute,
	},
	{
		what:  "a validator is no longer in the set",
		begin: func(s *stage) { s.RemoveValidator("P", "charlie") },
		end:   func(s *stage) { s.AddValidator("charlie", 1_950_000e9, 180*day) },
		pages: []string{"AvaxValidatorMissing"}, within: 14 * time.Minute,
	},
	{
		what:  "a validation ends in twenty hours",
		begin: func(s *stage) { s.SetStakeEnd("charlie", time.Now().Add(20*time.Hour)) },
		end:   func(s *stage) { s.SetStakeEnd("charlie", time.Now().Add(60*day)) },
		warns: []string{"AvaxStakeEndsSoon"}, within: 8 * time.Minute,
	},
}

var l1Drills = []drill{
	{
		what:  "an L1 validator's balance lasts twenty minutes more",
		begin: func(s *stage) { s.SetBalance("examplel1", "foxtrot", 512*20*60) },
		end:   func(s *stage) { s.TopUp("examplel1", "foxtrot", 100e9) },
		pages: []string{"AvaxL1RunwayLow", "AvaxL1ValidatorInactive"}, within: 30 * time.Minute,
	},
	{
		what:  "an L1 validator's balance lasts six days more",
		begin: func(s *stage) { s.SetBalance("examplel1", "foxtrot", 512*6*24*3600) },
		end:   func(s *stage) { s.TopUp("examplel1", "foxtrot", 100e9) },
		pages: []string{"AvaxL1RunwayLow"}, within: 15 * time.Minute,
	},
	{
		what:  "the fee of L1 validators rises a thousandfold",
		begin: func(s *stage) { s.SetFeePrice(512_000) },
		end:   func(s *stage) { s.SetFeePrice(512) },
		pages: []string{"AvaxL1QuorumLossForecast"}, within: 15 * time.Minute, goesOn: 30 * time.Minute,
	},
	{
		what:  "four of an L1's fifteen validators, of others, run dry",
		begin: func(s *stage) { each(members[:4], func(m string) { s.SetBalance("examplel1", m, 0) }) },
		end:   func(s *stage) { each(members[:4], func(m string) { s.TopUp("examplel1", m, 100e9) }) },
		pages: []string{"AvaxL1ConnectedWeightLow"}, within: 10 * time.Minute,
	},
	{
		what:  "one of them runs dry",
		begin: func(s *stage) { s.SetBalance("examplel1", members[0], 0) },
		end:   func(s *stage) { s.TopUp("examplel1", members[0], 100e9) },
		warns: []string{"AvaxL1ValidatorInactive"}, within: 15 * time.Minute,
	},
	{
		what:  "half of the other validators of two L1s leave",
		begin: func(s *stage) { each(members[:5], s.Disconnect) },
		end:   func(s *stage) { each(members[:5], s.Reconnect) },
		pages: []string{"AvaxL1ConnectedWeightLow"}, within: 10 * time.Minute,
	},
	{
		what:  "a node that validates an L1 only loses its way to the network",
		begin: func(s *stage) { s.Disconnect("foxtrot") },
		end:   func(s *stage) { s.Reconnect("foxtrot") },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "an L1 validator of others leaves",
		begin: func(s *stage) { s.Disconnect("member1") },
		end:   func(s *stage) { s.Reconnect("member1") },
		warns: []string{"AvaxL1ValidatorDisconnected"}, within: 20 * time.Minute, goesOn: 40 * time.Minute,
	},
	{
		what:  "an L1's subnet gets another owner",
		begin: func(s *stage) { s.SetOwner("examplel1", []string{demo.NewOwner}, 1) },
		pages: []string{"AvaxL1OwnerChanged"}, within: 15 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what:  "an L1 gets another manager",
		begin: func(s *stage) { s.SetManager("examplel1", "C", simnet.Messenger) },
		pages: []string{"AvaxL1OwnerChanged"}, within: 15 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what: "an L1's lowest base fee is doubled",
		begin: func(s *stage) {
			fees := s.FeeConfig("examplel1")
			fees.MinBaseFee *= 2
			s.SetFeeConfig("examplel1", fees)
		},
		warns: []string{"AvaxFeeConfigChanged"}, within: 5 * time.Minute, heals: 2 * time.Hour,
	},
}

var serviceDrills = []drill{
	{
		what:  "relayers deliver nothing",
		begin: func(s *stage) { s.HoldICM(true) },
		end:   func(s *stage) { s.HoldICM(false) },
		pages: []string{"AvaxICMUndelivered"}, within: 55 * time.Minute,
	},
	{
		what:  "the Data service is down",
		begin: func(s *stage) { s.DataService().Stop() },
		end:   func(s *stage) { s.DataService().Start() },
		warns: []string{"AvaxDataServiceDown"}, within: 13 * time.Minute, goesOn: 62 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the Data service refuses (403)",
		begin: func(s *stage) { s.DataService().Inject(simnet.Refused(http.StatusForbidden, "forbidden")) },
		end:   func(s *stage) { s.DataService().Recover() },
		warns: []string{"AvaxUpstreamForbidden"}, within: 15 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the Data service limits the rate (429)",
		begin: func(s *stage) { s.DataService().Inject(simnet.RateLimited(30 * time.Second)) },
		end:   func(s *stage) { s.DataService().Recover() },
		warns: []string{"AvaxUpstreamRateLimited"}, within: 15 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the Data service takes no blocks of the C-Chain over",
		begin: func(s *stage) { s.SetIndexLag("C", 24*time.Hour) },
		end:   func(s *stage) { s.SetIndexLag("C", 2*time.Second) },
		warns: []string{"AvaxDataServiceStale"}, within: 40 * time.Minute,
	},
	{
		what:  "the Metrics service is down",
		begin: func(s *stage) { s.MetricsService().Stop() },
		end:   func(s *stage) { s.MetricsService().Start() },
		warns: []string{"AvaxMetricsServiceDown"}, within: 45 * time.Minute, goesOn: 40 * time.Minute, heals: 2 * time.Hour,
	},
}

var quietDrills = []drill{
	{
		what: "a node restarts",
		begin: func(s *stage) {
			s.Node("alpha").Stop()
			time.AfterFunc(30*time.Second, s.Node("alpha").Start)
		},
		within: 15 * time.Minute,
	},
	{
		what: "a node restarts slowly: it answers after half a minute, and has all after four",
		begin: func(s *stage) {
			s.Node("alpha").Stop()
			time.AfterFunc(15*time.Second, s.Node("alpha").Start)
		},
		startup: simnet.Startup{
			Listen: 30 * time.Second, Peers: time.Minute, PChain: 90 * time.Second, Chains: 2 * time.Minute, L1s: 3 * time.Minute, Uptime: 4 * time.Minute,
		},
		within: 30 * time.Minute,
	},
	{
		what: "a rolling upgrade: every ten minutes one of the nodes stops for a minute, and has a newer version then",
		begin: func(s *stage) {
			for i, name := range append([]string{"echo"}, demo.Nodes...) {
				at := time.Duration(i) * 10 * time.Minute
				time.AfterFunc(at, s.Node(name).Stop)
				time.AfterFunc(at+time.Minute, func() {
					s.SetVersion(name, "1.16.0")
					s.Node(name).Start()
				})
			}
		},
		within: 2 * time.Hour,
	},
	{
		what:   "a peer with a twentieth of the stake lies: it says that it saw nobody",
		begin:  func(s *stage) { each(demo.Nodes[:3], func(n string) { s.Node(n).SetObservedUptime(1, "delta") }) },
		end:    func(s *stage) { each(demo.Nodes[:3], func(n string) { s.Node(n).SetObservedUptime(-1, "delta") }) },
		within: 2 * time.Hour,
	},
	{
		what:   "one of our own nodes lies so",
		begin:  func(s *stage) { each(demo.Nodes[:2], func(n string) { s.Node(n).SetObservedUptime(1, "charlie") }) },
		end:    func(s *stage) { each(demo.Nodes[:2], func(n string) { s.Node(n).SetObservedUptime(-1, "charlie") }) },
		within: 2 * time.Hour,
	},
	{
		what:   "an L1 falls idle: nobody uses it",
		begin:  func(s *stage) { s.SetBlockPeriod("examplepoa", 0) },
		end:    func(s *stage) { s.SetBlockPeriod("examplepoa", 10*time.Second) },
		within: 3 * time.Hour,
	},
	{
		what:   "nobody uses the C-Chain of a network that is not public",
		begin:  func(s *stage) { s.SetBlockPeriod("C", 0) },
		end:    func(s *stage) { s.SetBlockPeriod("C", 2*time.Second) },
		within: 20 * time.Minute, goesOn: 2 * time.Minute,
	},
	{
		what:   "a day of healthy life",
		begin:  func(*stage) {},
		within: 24 * time.Hour,
	},
}

// set changes the redirects of a detour between requests.
func (d *detour) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}
