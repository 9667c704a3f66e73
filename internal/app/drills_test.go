//go:build incidents

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
		what:  "a node stops",
		begin: func(s *stage) { s.Node("bravo").Stop() },
		end:   func(s *stage) { s.Node("bravo").Start() },
		pages: []string{"AvaxNodeDown"}, within: 7 * time.Minute,
	},
	{
		what:  "a node accepts connections but does not answer",
		begin: func(s *stage) { s.Node("alpha").Inject(simnet.Hung()) },
		end:   func(s *stage) { s.Node("alpha").Recover() },
		pages: []string{"AvaxNodeDown"}, within: 7 * time.Minute,
	},
	{
		what: "a node stops for a minute, every five minutes",
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
		what:  "every answer of a node takes three seconds",
		begin: func(s *stage) { s.Node("alpha").Inject(simnet.Slow(3 * time.Second)) },
		end:   func(s *stage) { s.Node("alpha").Recover() },
		warns: []string{"AvaxNodeSlow"}, within: 25 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the C-Chain is no longer bootstrapped on a node",
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
		what:  "on Fuji: the only configured node receives no C-Chain blocks",
		nodes: []string{"alpha"}, fuji: true,
		begin: func(s *stage) { s.Node("alpha").FallBehind("C") },
		end:   func(s *stage) { s.Node("alpha").CatchUp("C") },
		pages: []string{"AvaxHeadStale"}, within: 8 * time.Minute,
	},
	{
		what: "on Fuji: all configured nodes receive no C-Chain blocks",
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
		what:  "a node forks on an L1's chain",
		begin: func(s *stage) { s.Node("charlie").Fork("examplel1") },
		end:   func(s *stage) { s.Node("charlie").CatchUp("examplel1") },
		pages: []string{"AvaxForkDetected"}, within: 6 * time.Minute,
	},
	{
		what:  "a node has no connection to its peers, but answers the exporter",
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
		what:  "a spare node starts with the staking keys of another node",
		begin: func(s *stage) { s.set(func() { s.to["spare.sim"] = "alpha.sim" }) },
		end:   func(s *stage) { s.set(func() { s.to["spare.sim"] = "echo.sim" }) },
		pages: []string{"AvaxNodeIdentityChanged"}, within: 9 * time.Minute,
	},
	{
		what:  "a node answers 403 because it no longer allows the host name in its URL",
		begin: func(s *stage) { s.Node("bravo").Inject(simnet.WrongHost()) },
		end:   func(s *stage) { s.Node("bravo").Recover() },
		warns: []string{"AvaxUpstreamForbidden"}, within: 9 * time.Minute,
	},
	{
		what:  "a proxy in front of a node answers 429 (rate limit)",
		begin: func(s *stage) { s.Node("bravo").Inject(simnet.RateLimited(5 * time.Second)) },
		end:   func(s *stage) { s.Node("bravo").Recover() },
		warns: []string{"AvaxUpstreamRateLimited"}, within: 10 * time.Minute,
	},
	{
		what: "only one node of an L1 has a precompile scheduled, in twelve hours",
		begin: func(s *stage) {
			s.Node("alpha").SetPrecompile("examplel1", "txAllowListConfig", true, time.Now().Add(12*time.Hour))
		},
		pages: []string{"AvaxChainConfigDrift"}, within: 20 * time.Minute, heals: -1,
	},
	{
		what:  "one node runs a newer version than the others, for a day",
		begin: func(s *stage) { s.SetVersion("alpha", "1.16.0") },
		end:   func(s *stage) { s.SetVersion("alpha", "1.15.0") },
		warns: []string{"AvaxVersionSkew"}, within: 25 * time.Hour,
	},
}

var networkDrills = []drill{
	{
		what:  "fifty peers with little stake disconnect",
		begin: func(s *stage) { each(small[:50], s.Disconnect) },
		end:   func(s *stage) { each(small[:50], s.Reconnect) },
		warns: []string{"AvaxPeersLow"}, within: 13 * time.Minute,
	},
	{
		what:  "peers with a third of the stake disconnect",
		begin: func(s *stage) { each(large[:5], s.Disconnect) },
		end:   func(s *stage) { each(large[:5], s.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "all configured nodes have no connection to their peers",
		begin: func(s *stage) { each(append([]string{"echo"}, demo.Nodes...), s.Disconnect) },
		end:   func(s *stage) { each(append([]string{"echo"}, demo.Nodes...), s.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "on Fuji: all configured nodes have no connection to their peers",
		fuji:  true,
		begin: func(s *stage) { each(append([]string{"echo"}, demo.Nodes...), s.Disconnect) },
		end:   func(s *stage) { each(append([]string{"echo"}, demo.Nodes...), s.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "most of the stake announces an upgrade, due in two days, that the nodes do not know",
		begin: func(s *stage) { s.AnnounceUpgrade(time.Now().Add(48*time.Hour), most...) },
		end:   func(s *stage) { s.AnnounceUpgrade(time.Unix(0, 0), most...) },
		warns: []string{"AvaxUnknownUpgradeSoon"}, within: 15 * time.Minute,
	},
}

var stakeDrills = []drill{
	{
		what:  "the peers of a validator observed only 78 % uptime",
		begin: func(s *stage) { s.Node("alpha").SetObservedUptime(78) },
		end:   func(s *stage) { s.Node("alpha").SetObservedUptime(-1) },
		pages: []string{"AvaxRewardStakeLow"}, within: 20 * time.Minute, goesOn: 22 * time.Minute,
	},
	{
		what:  "a validator exceeds its downtime budget near the end of its period",
		begin: func(s *stage) { s.Node("charlie").SetObservedUptime(75) },
		end:   func(s *stage) { s.Node("charlie").SetObservedUptime(-1) },
		pages: []string{"AvaxRewardUnreachable"}, within: 20 * time.Minute, goesOn: 22 * time.Minute,
	},
	{
		what:  "a validator has used four fifths of its downtime budget",
		begin: func(s *stage) { s.Node("charlie").SetObservedUptime(83) },
		end:   func(s *stage) { s.Node("charlie").SetObservedUptime(-1) },
		warns: []string{"AvaxDowntimeBudgetLow"}, within: 20 * time.Minute,
	},
	{
		what: "a validator with a ten-day period, of which it may be down for one day, has no connection to its peers for two hours",
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
		what: "the same validator has no connection for half an hour; after that, its peers report 20 % uptime",
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
		what:  "a validator is no longer in the validator set",
		begin: func(s *stage) { s.RemoveValidator("P", "charlie") },
		end:   func(s *stage) { s.AddValidator("charlie", 1_950_000e9, 180*day) },
		pages: []string{"AvaxValidatorMissing"}, within: 14 * time.Minute,
	},
	{
		what:  "a staking period ends in twenty hours",
		begin: func(s *stage) { s.SetStakeEnd("charlie", time.Now().Add(20*time.Hour)) },
		end:   func(s *stage) { s.SetStakeEnd("charlie", time.Now().Add(60*day)) },
		warns: []string{"AvaxStakeEndsSoon"}, within: 8 * time.Minute,
	},
}

var l1Drills = []drill{
	{
		what:  "the balance of an L1 validator lasts twenty more minutes",
		begin: func(s *stage) { s.SetBalance("examplel1", "foxtrot", 512*20*60) },
		end:   func(s *stage) { s.TopUp("examplel1", "foxtrot", 100e9) },
		pages: []string{"AvaxL1RunwayLow", "AvaxL1ValidatorInactive"}, within: 30 * time.Minute,
	},
	{
		what:  "the balance of an L1 validator lasts six more days",
		begin: func(s *stage) { s.SetBalance("examplel1", "foxtrot", 512*6*24*3600) },
		end:   func(s *stage) { s.TopUp("examplel1", "foxtrot", 100e9) },
		pages: []string{"AvaxL1RunwayLow"}, within: 15 * time.Minute,
	},
	{
		what:  "the fee of L1 validators becomes 1,000 times as high",
		begin: func(s *stage) { s.SetFeePrice(512_000) },
		end:   func(s *stage) { s.SetFeePrice(512) },
		pages: []string{"AvaxL1QuorumLossForecast"}, within: 15 * time.Minute, goesOn: 30 * time.Minute,
	},
	{
		what:  "four validators of other operators, of fifteen in an L1, run out of balance",
		begin: func(s *stage) { each(members[:4], func(m string) { s.SetBalance("examplel1", m, 0) }) },
		end:   func(s *stage) { each(members[:4], func(m string) { s.TopUp("examplel1", m, 100e9) }) },
		pages: []string{"AvaxL1ConnectedWeightLow"}, within: 10 * time.Minute,
	},
	{
		what:  "one validator of another operator, of fifteen in an L1, runs out of balance",
		begin: func(s *stage) { s.SetBalance("examplel1", members[0], 0) },
		end:   func(s *stage) { s.TopUp("examplel1", members[0], 100e9) },
		warns: []string{"AvaxL1ValidatorInactive"}, within: 15 * time.Minute,
	},
	{
		what:  "half of the validators of other operators in two L1s disconnect",
		begin: func(s *stage) { each(members[:5], s.Disconnect) },
		end:   func(s *stage) { each(members[:5], s.Reconnect) },
		pages: []string{"AvaxL1ConnectedWeightLow"}, within: 10 * time.Minute,
	},
	{
		what:  "a node that validates only an L1 has no connection to its peers",
		begin: func(s *stage) { s.Disconnect("foxtrot") },
		end:   func(s *stage) { s.Reconnect("foxtrot") },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "an L1 validator of another operator disconnects",
		begin: func(s *stage) { s.Disconnect("member1") },
		end:   func(s *stage) { s.Reconnect("member1") },
		warns: []string{"AvaxL1ValidatorDisconnected"}, within: 20 * time.Minute, goesOn: 40 * time.Minute,
	},
	{
		what:  "the owner of an L1's subnet changes",
		begin: func(s *stage) { s.SetOwner("examplel1", []string{demo.NewOwner}, 1) },
		pages: []string{"AvaxL1OwnerChanged"}, within: 15 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what:  "the validator manager of an L1 changes",
		begin: func(s *stage) { s.SetManager("examplel1", "C", simnet.Messenger) },
		pages: []string{"AvaxL1OwnerChanged"}, within: 15 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what: "the minimum base fee of an L1 doubles",
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
		what:  "relayers deliver no messages",
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
		what:  "the Data service answers 403",
		begin: func(s *stage) { s.DataService().Inject(simnet.Refused(http.StatusForbidden, "forbidden")) },
		end:   func(s *stage) { s.DataService().Recover() },
		warns: []string{"AvaxUpstreamForbidden"}, within: 15 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the Data service answers 429 (rate limit)",
		begin: func(s *stage) { s.DataService().Inject(simnet.RateLimited(30 * time.Second)) },
		end:   func(s *stage) { s.DataService().Recover() },
		warns: []string{"AvaxUpstreamRateLimited"}, within: 15 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the Data service indexes no more C-Chain blocks",
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
		what: "a node restarts slowly: it answers after 30 s, and its last data is back after 4 min",
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
		what: "a rolling upgrade: every ten minutes, another node stops for a minute and returns with a newer version",
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
		what:   "a peer with a twentieth of the stake falsely reports 1 % uptime of three nodes",
		begin:  func(s *stage) { each(demo.Nodes[:3], func(n string) { s.Node(n).SetObservedUptime(1, "delta") }) },
		end:    func(s *stage) { each(demo.Nodes[:3], func(n string) { s.Node(n).SetObservedUptime(-1, "delta") }) },
		within: 2 * time.Hour,
	},
	{
		what:   "a configured node falsely reports 1 % uptime of two other nodes",
		begin:  func(s *stage) { each(demo.Nodes[:2], func(n string) { s.Node(n).SetObservedUptime(1, "charlie") }) },
		end:    func(s *stage) { each(demo.Nodes[:2], func(n string) { s.Node(n).SetObservedUptime(-1, "charlie") }) },
		within: 2 * time.Hour,
	},
	{
		what:   "nobody uses an L1, so it has no new blocks",
		begin:  func(s *stage) { s.SetBlockPeriod("examplepoa", 0) },
		end:    func(s *stage) { s.SetBlockPeriod("examplepoa", 10*time.Second) },
		within: 3 * time.Hour,
	},
	{
		what:   "nobody uses the C-Chain of a private network",
		begin:  func(s *stage) { s.SetBlockPeriod("C", 0) },
		end:    func(s *stage) { s.SetBlockPeriod("C", 2*time.Second) },
		within: 20 * time.Minute, goesOn: 2 * time.Minute,
	},
	{
		what:   "a day without a fault",
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
