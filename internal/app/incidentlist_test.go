package app_test

import (
	"net/http"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/demo"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// incidents are the incidents, and the situations without any expected alert.
func incidents() []incident {
	return slices.Concat(nodeIncidents, cascades, networkIncidents, stakeIncidents, l1Incidents, serviceIncidents, quietIncidents)
}

// majority are validators that have most of the stake. The monitored nodes are not among them.
var majority = append([]string{"delta", "golf"}, large...)

// slack is the time that is added to the time budget of docs/rules.md: the test evaluates the rules every 30 s, not every 15 s, and its groups
// wait 15 s longer.
const slack = 45 * time.Second

// ofBlocks are methods of internal-blockchain, an entry of eth-apis.
var ofBlocks = []string{"eth_getBlockByNumber", "eth_blockNumber", "eth_chainId", "eth_getChainConfig", "eth_getActiveRulesAt", "eth_feeConfig", "eth_call"}

var nodeIncidents = []incident{
	{
		what:  "a node stops",
		begin: func(w *world) { w.Node("bravo").Stop() },
		end:   func(w *world) { w.Node("bravo").Start() },
		pages: []string{"AvaxNodeDown"}, within: 6*time.Minute + slack, ended: 2 * time.Minute, downs: true,
	},
	{
		what:  "a node accepts connections but does not answer",
		begin: func(w *world) { w.Node("alpha").Inject(simnet.Hung()) },
		end:   func(w *world) { w.Node("alpha").Recover() },
		pages: []string{"AvaxNodeDown"}, within: 6*time.Minute + slack, ended: 2 * time.Minute, downs: true,
	},
	{
		what: "a node stops for a minute, every five minutes",
		begin: func(w *world) {
			for i := range 4 {
				at := time.Duration(i) * 5 * time.Minute
				time.AfterFunc(at, w.Node("bravo").Stop)
				time.AfterFunc(at+time.Minute, w.Node("bravo").Start)
			}
		},
		warns: []string{"AvaxNodeFlapping"}, within: 20 * time.Minute, heals: 2 * time.Hour, comesAndGoes: true,
	},
	{
		what:  "every answer of a node takes three seconds",
		begin: func(w *world) { w.Node("alpha").Inject(simnet.Slow(3 * time.Second)) },
		end:   func(w *world) { w.Node("alpha").Recover() },
		warns: []string{"AvaxNodeSlow"}, within: 25 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the C-Chain is no longer bootstrapped on a node",
		begin: func(w *world) { w.Node("charlie").SetChain("C", simnet.Bootstrapping) },
		end:   func(w *world) { w.Node("charlie").SetChain("C", simnet.Running) },
		pages: []string{"AvaxChainNotBootstrapped"}, within: 12 * time.Minute,
	},
	{
		what:  "an L1's chain does not start on a node",
		begin: func(w *world) { w.Node("alpha").SetChain("examplel1", simnet.Failed) },
		end:   func(w *world) { w.Node("alpha").SetChain("examplel1", simnet.Running) },
		pages: []string{"AvaxChainNotBootstrapped"}, within: 4*time.Minute + 30*time.Second + slack,
	},
	{
		what:  "the VM of an L1 ends on a node: its calls hang, its peers report it as connected, and its health checks stand still",
		begin: func(w *world) { w.Node("bravo").SetChain("examplel1", simnet.Dead) },
		end:   func(w *world) { w.Node("bravo").Start() },
		pages: []string{"AvaxChainMissing"}, within: 6*time.Minute + slack, ended: 2 * time.Minute,
	},
	{
		what: "the configuration of a chain no longer offers the methods for blocks on a node (eth-apis): its VM runs",
		begin: func(w *world) {
			w.Node("alpha").Inject(simnet.Refused(-32601, "the method does not exist/is not available"), ofBlocks...)
		},
		end:   func(w *world) { w.Node("alpha").Recover() },
		warns: []string{"AvaxDataTooOld"}, within: 25 * time.Minute,
	},
	{
		what:  "the info API of a node is disabled: the node runs",
		begin: func(w *world) { w.Node("alpha").SetAPI("info", false) },
		end:   func(w *world) { w.Node("alpha").SetAPI("info", true) },
		warns: []string{"AvaxDataTooOld"}, within: 25 * time.Minute,
	},
	{
		what:  "a node falls behind on the C-Chain",
		begin: func(w *world) { w.Node("bravo").FallBehind("C") },
		end:   func(w *world) { w.Node("bravo").CatchUp("C") },
		pages: []string{"AvaxHeadStale"}, within: 4*time.Minute + slack,
	},
	{
		what:  "a node accepts C-Chain blocks but does not execute them",
		begin: func(w *world) { w.Node("bravo").StopExecuting("C") },
		end:   func(w *world) { w.Node("bravo").CatchUp("C") },
		pages: []string{"AvaxHeadStale"}, within: 4*time.Minute + slack,
	},
	{
		what:  "a node's disk fills: in six hours the node stops",
		begin: func(w *world) { w.Node("bravo").FillDisk(34e9, 25e9/(6*3600)) },
		end:   func(w *world) { w.Node("bravo").FillDisk(60e9, 0) },
		pages: []string{"AvaxNodeDiskLow"}, later: []time.Duration{49 * time.Minute}, within: 70 * time.Minute, healthy: 10 * time.Minute,
	},
	{
		what:  "on Fuji: the only configured node receives no C-Chain blocks",
		nodes: []string{"alpha"}, fuji: true,
		begin: func(w *world) { w.Node("alpha").FallBehind("C") },
		end:   func(w *world) { w.Node("alpha").CatchUp("C") },
		pages: []string{"AvaxHeadStale"}, within: 4*time.Minute + slack,
	},
	{
		what:  "a node falls behind on an L1's chain",
		begin: func(w *world) { w.Node("foxtrot").FallBehind("examplel1") },
		end:   func(w *world) { w.Node("foxtrot").CatchUp("examplel1") },
		pages: []string{"AvaxHeadStale"}, within: 4*time.Minute + 30*time.Second + slack, // its blocks are rarer
	},
	{
		what:  "a node forks on an L1's chain",
		begin: func(w *world) { w.Node("charlie").Fork("examplel1") },
		end:   func(w *world) { w.Node("charlie").CatchUp("examplel1") },
		pages: []string{"AvaxForkDetected"}, within: 6 * time.Minute,
	},
	{
		what:  "a node has no connection to its peers, but answers the exporter",
		begin: func(w *world) { w.Disconnect("bravo") },
		end:   func(w *world) { w.Reconnect("bravo") },
		pages: []string{"AvaxConnectedStakeLow"}, within: 4*time.Minute + slack,
	},
	{
		what:  "a node benches a third of its peers",
		begin: func(w *world) { each(small[:30], func(p string) { w.Node("alpha").Bench(p, "C") }) },
		end:   func(w *world) { each(small[:30], func(p string) { w.Node("alpha").Bench(p) }) },
		pages: []string{"AvaxBenchedPeersHigh"}, within: 13 * time.Minute,
	},
	{
		what:  "a node belongs to another network",
		begin: func(w *world) { w.setFuji("bravo.sim", true) },
		end:   func(w *world) { w.setFuji("bravo.sim", false) },
		pages: []string{"AvaxNodeIdentityChanged"}, within: 4*time.Minute + slack,
	},
	{
		what:  "a spare node starts with the staking keys of another node",
		begin: func(w *world) { w.redirect("spare.sim", "alpha.sim") },
		end:   func(w *world) { w.redirect("spare.sim", "echo.sim") },
		pages: []string{"AvaxNodeIdentityChanged"}, within: 9 * time.Minute,
	},
	{
		what: "a validator's key moves to a node with the key of another validator, and the machine that had it stays off",
		begin: func(w *world) {
			w.Node("echo").Stop()
			w.redirect("alpha.sim", "echo.sim")
			w.redirect("spare.sim", "alpha.sim")
		},
		end: func(w *world) {
			w.redirect("spare.sim", "echo.sim")
			w.redirect("alpha.sim", "alpha.sim")
			w.Node("echo").Start()
		},
		pages: []string{"AvaxNodeIdentityChanged"}, warns: []string{"AvaxNodeDown"}, within: 8 * time.Minute,
	},
	{
		what:  "a node answers 403 because it no longer allows the host name in its URL",
		begin: func(w *world) { w.Node("bravo").Inject(simnet.WrongHost()) },
		end:   func(w *world) { w.Node("bravo").Recover() },
		warns: []string{"AvaxUpstreamForbidden"}, within: 9 * time.Minute,
	},
	{
		what:  "a proxy in front of a node answers 429 (rate limit)",
		begin: func(w *world) { w.Node("bravo").Inject(simnet.RateLimited(5 * time.Second)) },
		end:   func(w *world) { w.Node("bravo").Recover() },
		warns: []string{"AvaxUpstreamRateLimited"}, within: 10 * time.Minute,
	},
	{
		what: "only one node of an L1 has a precompile scheduled, in twelve hours",
		begin: func(w *world) {
			w.Node("alpha").SetPrecompile("examplel1", "txAllowListConfig", true, time.Now().Add(12*time.Hour))
		},
		pages: []string{"AvaxChainConfigDrift"}, within: 20 * time.Minute, heals: -1,
	},
	{
		what:  "only one node of an L1 has a state upgrade scheduled, in two hours",
		begin: func(w *world) { w.Node("alpha").SetStateUpgrade("examplel1", time.Now().Add(2*time.Hour)) },
		pages: []string{"AvaxChainConfigDrift"}, within: 20 * time.Minute, heals: -1,
	},
	{
		what:  "one node runs a newer version than the others",
		begin: func(w *world) { w.SetVersion("alpha", "1.16.0") },
		end:   func(w *world) { w.SetVersion("alpha", "1.15.0") },
		warns: []string{"AvaxVersionSkew"}, within: 10 * time.Minute, // an info: the warning comes after a day
	},
}

// configured are the nodes behind the URLs of the configured ones.
var configured = append([]string{"echo"}, demo.Nodes...)

// rack and hosts are further configured nodes.
var rack, hosts = numbered("rack%d", 5), numbered("host%d", 20)

// One fault stops many things, and one person acts once: each has one page, about the cause.
var cascades = []incident{
	{
		what:  "the host of one of four validators fails",
		nodes: []string{"alpha", "bravo", "charlie", "echo"},
		begin: func(w *world) { w.Node("bravo").Stop() },
		end:   func(w *world) { w.Node("bravo").Start() },
		pages: []string{"AvaxNodeDown"}, within: 6*time.Minute + slack, ended: 2 * time.Minute, downs: true,
		notified: 1, says: "bravo: no answer (validator)",
	},
	{
		what:  "all configured nodes stop, as when their site has no power",
		begin: func(w *world) { each(configured, func(n string) { w.Node(n).Stop() }) },
		end:   func(w *world) { each(configured, func(n string) { w.Node(n).Start() }) },
		pages: []string{"AvaxNodeDown"}, within: 210*time.Second + slack, downs: true,
		notified: 1, says: "All nodes: no answer from alpha bravo charlie foxtrot spare",
	},
	{
		what:  "a rack with five of thirty nodes fails",
		more:  slices.Concat(rack, hosts),
		begin: func(w *world) { each(rack, func(n string) { w.Node(n).Stop() }) },
		end:   func(w *world) { each(rack, func(n string) { w.Node(n).Start() }) },
		pages: []string{"AvaxNodeDown"}, within: 210*time.Second + slack, downs: true,
		notified: 1, says: "5 of 30 nodes: no answer from rack1 rack2 rack3 rack4 rack5",
	},
	{
		what:  "one of three validators of an L1 stops, and a second one after twenty minutes",
		three: true,
		begin: func(w *world) {
			w.Node("bravo").Stop()
			time.AfterFunc(20*time.Minute, w.Node("charlie").Stop)
		},
		end:   func(w *world) { each([]string{"bravo", "charlie"}, func(n string) { w.Node(n).Start() }) },
		pages: []string{"AvaxNodeDown"}, later: []time.Duration{20 * time.Minute}, within: 4*time.Minute + slack, goesOn: 40 * time.Minute,
		notified: 2, says: "bravo: no answer (validator)",
	},
	{
		what: "on Fuji: all ten configured nodes receive no C-Chain blocks",
		fuji: true,
		more: hosts[:5],
		begin: func(w *world) {
			each(slices.Concat(configured, hosts[:5]), func(n string) { w.Node(n).FallBehind("C") })
		},
		end:   func(w *world) { each(slices.Concat(configured, hosts[:5]), func(n string) { w.Node(n).CatchUp("C") }) },
		pages: []string{"AvaxHeadStale"}, within: 4*time.Minute + slack, notified: 1,
	},
	{
		what:    "on Fuji: no configured node receives blocks of P, C and X, which were busy for two hours",
		fuji:    true,
		healthy: 130 * time.Minute,
		begin: func(w *world) {
			each(configured, func(n string) { each([]string{"P", "C", "X"}, w.Node(n).FallBehind) })
		},
		end: func(w *world) {
			each(configured, func(n string) { each([]string{"P", "C", "X"}, w.Node(n).CatchUp) })
		},
		pages: []string{"AvaxHeadStale"}, within: 4*time.Minute + slack, notified: 1,
	},
}

var networkIncidents = []incident{
	{
		what:  "fifty peers with little stake disconnect",
		begin: func(w *world) { each(small[:50], w.Disconnect) },
		end:   func(w *world) { each(small[:50], w.Reconnect) },
		warns: []string{"AvaxPeersLow"}, within: 13 * time.Minute,
	},
	{
		what:  "peers with a third of the stake disconnect",
		begin: func(w *world) { each(large[:5], w.Disconnect) },
		end:   func(w *world) { each(large[:5], w.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 3*time.Minute + slack,
	},
	{
		what:  "all configured nodes have no connection to their peers",
		begin: func(w *world) { each(configured, w.Disconnect) },
		end:   func(w *world) { each(configured, w.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 3*time.Minute + slack,
	},
	{
		what:  "on Fuji: all configured nodes have no connection to their peers",
		fuji:  true,
		begin: func(w *world) { each(configured, w.Disconnect) },
		end:   func(w *world) { each(configured, w.Reconnect) },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "most of the stake announces an upgrade, due in two days, that the nodes do not know",
		begin: func(w *world) { w.AnnounceUpgrade(time.Now().Add(48*time.Hour), majority...) },
		end:   func(w *world) { w.AnnounceUpgrade(time.Unix(0, 0), majority...) },
		warns: []string{"AvaxUnknownUpgradeSoon"}, within: 15 * time.Minute,
	},
	{
		what:  "a node restarts without a connection to the internet: it finds no peers",
		begin: func(w *world) { w.Node("bravo").Stop(); w.Node("bravo").StartIsolated() },
		end:   func(w *world) { w.Node("bravo").Start() },
		pages: []string{"AvaxConnectedStakeLow"}, within: 7 * time.Minute,
	},
	{
		what:  "a new node behind a closed firewall: it finds no peers",
		nodes: []string{"bravo"}, healthy: time.Second,
		change: func(a *apptest.World) { a.Node("bravo").StartIsolated(); time.Sleep(time.Minute) },
		begin:  func(*world) {},
		end:    func(w *world) { w.Node("bravo").Start() },
		warns:  []string{"AvaxPeersLow"}, within: 12 * time.Minute,
	},
}

var stakeIncidents = []incident{
	{
		what:  "the peers of a validator observed only 78 % uptime",
		begin: func(w *world) { w.Node("alpha").SetObservedUptime(78) },
		end:   func(w *world) { w.Node("alpha").SetObservedUptime(-1) },
		pages: []string{"AvaxRewardStakeLow"}, within: 20 * time.Minute, goesOn: 22 * time.Minute,
	},
	{
		what:  "a validator exceeds its downtime budget near the end of its period",
		begin: func(w *world) { w.Node("charlie").SetObservedUptime(75) },
		end:   func(w *world) { w.Node("charlie").SetObservedUptime(-1) },
		pages: []string{"AvaxRewardUnreachable"}, within: 20 * time.Minute, goesOn: 22 * time.Minute,
	},
	{
		what:  "a validator has used four fifths of its downtime budget",
		begin: func(w *world) { w.Node("charlie").SetObservedUptime(83) },
		end:   func(w *world) { w.Node("charlie").SetObservedUptime(-1) },
		warns: []string{"AvaxDowntimeBudgetLow"}, within: 20 * time.Minute,
	},
	{
		what: "a validator with a ten-day period, of which it may be down for one day, has no connection to its peers for two hours",
		begin: func(w *world) {
			w.SetStakeStart("bravo", time.Now().Add(-day))
			w.SetStakeEnd("bravo", time.Now().Add(9*day))
			w.Disconnect("bravo")
		},
		end: func(w *world) {
			w.Reconnect("bravo")
			w.SetStakeEnd("bravo", time.Now().Add(60*day))
		},
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute, goesOn: 122 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what: "the same validator has no connection for half an hour; after that, its peers report 20 % uptime",
		begin: func(w *world) {
			w.SetStakeStart("bravo", time.Now().Add(-day))
			w.SetStakeEnd("bravo", time.Now().Add(9*day))
			w.Disconnect("bravo")
			time.AfterFunc(30*time.Minute, func() {
				w.Node("bravo").SetObservedUptime(20)
				w.Reconnect("bravo")
			})
		},
		end: func(w *world) {
			w.Node("bravo").SetObservedUptime(-1)
			w.SetStakeEnd("bravo", time.Now().Add(60*day))
		},
		pages: []string{"AvaxConnectedStakeLow", "AvaxRewardStakeLow"}, later: []time.Duration{30 * time.Minute}, within: time.Hour, goesOn: 22 * time.Minute,
	},
	{
		what:  "a validator is no longer in the validator set",
		begin: func(w *world) { w.RemoveValidator("P", "charlie") },
		end:   func(w *world) { w.AddValidator("charlie", 1_950_000e9, 180*day) },
		pages: []string{"AvaxValidatorMissing"}, within: 14 * time.Minute,
	},
	{
		what:  "a staking period ends in twenty hours",
		begin: func(w *world) { w.SetStakeEnd("charlie", time.Now().Add(20*time.Hour)) },
		end:   func(w *world) { w.SetStakeEnd("charlie", time.Now().Add(60*day)) },
		warns: []string{"AvaxStakeEndsSoon"}, within: 8 * time.Minute,
	},
	{
		what: "somebody shortens the next period of an auto-renewed validator",
		change: func(a *apptest.World) {
			a.Env["VALIDATORS"] = simnet.New(simnet.Options{Seed: 1}).NodeID("golf")
		},
		begin: func(w *world) { w.SetNextPeriod("golf", 2*day) },
		warns: []string{"AvaxValidatorRenewalChanged"}, within: 15 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what: "the C-Chain makes no blocks, and transactions wait",
		begin: func(w *world) {
			w.SetBlockPeriod("C", 0)
			w.SetPendingTransactions("C", 3)
		},
		end: func(w *world) {
			w.SetBlockPeriod("C", 2*time.Second)
			w.SetPendingTransactions("C", 0)
		},
		warns: []string{"AvaxTransactionsWait"}, within: 22 * time.Minute,
	},
}

var l1Incidents = []incident{
	{
		what:  "the balance of an L1 validator lasts twenty more minutes",
		begin: func(w *world) { w.SetBalance("examplel1", "foxtrot", 512*20*60) },
		end:   func(w *world) { w.TopUp("examplel1", "foxtrot", 100e9) },
		pages: []string{"AvaxL1RunwayLow", "AvaxL1ValidatorInactive"}, later: []time.Duration{20 * time.Minute}, within: 30 * time.Minute,
	},
	{
		what:  "the balance of an L1 validator lasts six more days",
		begin: func(w *world) { w.SetBalance("examplel1", "foxtrot", 512*6*24*3600) },
		end:   func(w *world) { w.TopUp("examplel1", "foxtrot", 100e9) },
		pages: []string{"AvaxL1RunwayLow"}, within: 25 * time.Minute,
	},
	{
		what:  "the fee of L1 validators becomes 1,000 times as high",
		begin: func(w *world) { w.SetFeePrice(512_000) },
		end:   func(w *world) { w.SetFeePrice(512) },
		pages: []string{"AvaxL1QuorumLossForecast"}, within: 20 * time.Minute, goesOn: 30 * time.Minute,
	},
	{
		what:  "four validators of other operators, of fifteen in an L1, run out of balance",
		begin: func(w *world) { each(members[:4], func(m string) { w.SetBalance("examplel1", m, 0) }) },
		end:   func(w *world) { each(members[:4], func(m string) { w.TopUp("examplel1", m, 100e9) }) },
		pages: []string{"AvaxL1ConnectedWeightLow"}, within: 10 * time.Minute,
	},
	{
		what:  "one validator of another operator, of fifteen in an L1, runs out of balance",
		begin: func(w *world) { w.SetBalance("examplel1", members[0], 0) },
		end:   func(w *world) { w.TopUp("examplel1", members[0], 100e9) },
		warns: []string{"AvaxL1ValidatorInactive"}, within: 15 * time.Minute,
	},
	{
		what:  "half of the validators of other operators in two L1s disconnect",
		begin: func(w *world) { each(members[:5], w.Disconnect) },
		end:   func(w *world) { each(members[:5], w.Reconnect) },
		pages: []string{"AvaxL1ConnectedWeightLow"}, within: 4*time.Minute + 45*time.Second + slack,
	},
	{
		what:  "a node that validates only an L1 has no connection to its peers",
		begin: func(w *world) { w.Disconnect("foxtrot") },
		end:   func(w *world) { w.Reconnect("foxtrot") },
		pages: []string{"AvaxConnectedStakeLow"}, within: 8 * time.Minute,
	},
	{
		what:  "an L1 validator of another operator disconnects",
		begin: func(w *world) { w.Disconnect("member1") },
		end:   func(w *world) { w.Reconnect("member1") },
		warns: []string{"AvaxL1ValidatorDisconnected"}, within: 20 * time.Minute, goesOn: 40 * time.Minute,
	},
	{
		what:  "a subnet without transactions is converted to an L1 with other validators, and the old ones no longer run the chain",
		nodes: []string{"echo", "foxtrot"}, idle: true, permissioned: true,
		begin: func(w *world) { replace(w, old[:3], time.Second) },
		end:   func(w *world) { revive(w, "alpha") },
		pages: []string{"AvaxL1ProposersLow"}, within: 17 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what:  "all validators of an L1 without transactions are replaced, and the old ones no longer run the chain",
		nodes: []string{"echo", "foxtrot"}, idle: true,
		begin: func(w *world) { replace(w, old, time.Millisecond) },
		end:   func(w *world) { revive(w, "alpha") },
		pages: []string{"AvaxL1ProposersLow"}, within: 4*time.Minute + slack,
	},
	{
		what:  "the validators of an L1 without transactions are replaced one by one, every 15 minutes, and then retired",
		nodes: []string{"echo", "foxtrot"}, idle: true, permissioned: true,
		begin: func(w *world) { replace(w, old[:3], 15*time.Minute) },
		end:   func(w *world) { revive(w, "alpha") },
		pages: []string{"AvaxL1ProposersLow"}, warns: []string{"AvaxL1ProposersLow"}, later: []time.Duration{15 * time.Minute, 30 * time.Minute}, within: 47 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what: "the balances of a third of the weight of an L1 without transactions run out",
		begin: func(w *world) {
			w.SetBlockPeriod("examplel1", 0)
			each(members[:6], func(m string) { w.SetBalance("examplel1", m, 512*60) })
		},
		end: func(w *world) {
			each(members[:6], func(m string) { w.TopUp("examplel1", m, 100e9) })
			w.SetBlockPeriod("examplel1", 10*time.Second)
		},
		pages: []string{"AvaxL1ConnectedWeightLow"}, within: 10 * time.Minute,
	},
	{
		what:  "the owner of an L1's subnet changes",
		begin: func(w *world) { w.SetOwner("examplel1", []string{demo.NewOwner}, 1) },
		pages: []string{"AvaxL1OwnerChanged"}, within: 17 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what:  "the validator manager of an L1 changes",
		begin: func(w *world) { w.SetManager("examplel1", "C", simnet.Messenger) },
		pages: []string{"AvaxL1OwnerChanged"}, within: 17 * time.Minute, heals: 3 * time.Hour,
	},
	{
		what: "the minimum base fee of an L1 doubles",
		begin: func(w *world) {
			fees := w.FeeConfig("examplel1")
			fees.MinBaseFee *= 2
			w.SetFeeConfig("examplel1", fees)
		},
		warns: []string{"AvaxFeeConfigChanged"}, within: 15 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what: "a validator of an L1 restarts without the L1",
		begin: func(w *world) {
			w.Node("bravo").Stop()
			time.AfterFunc(30*time.Second, func() {
				w.Node("bravo").Start()
				w.Node("bravo").SetChain("examplel1", simnet.Untracked)
			})
		},
		end:   func(w *world) { w.Node("bravo").SetChain("examplel1", simnet.Running) },
		pages: []string{"AvaxChainNotBootstrapped"}, within: 5*time.Minute + slack, notified: 1, says: "bravo: chain examplel1 not bootstrapped",
	},
}

// old are the validators of examplepoa.
var old = append([]string{"alpha", "bravo", "charlie"}, members...)

// replace makes echo and foxtrot the validators of examplepoa, and removes and retires the old ones, one at a time.
func replace(w *world, old []string, every time.Duration) {
	for _, name := range []string{"echo", "foxtrot"} {
		w.Node(name).SetChain("examplepoa", simnet.Running)
		w.AddL1Validator("examplepoa", name, 20, 100e9)
	}
	for i, name := range old {
		retire := func() {
			w.RemoveValidator("examplepoa", name)
			if slices.Contains(members, name) {
				w.Untrack("examplepoa", name)
			} else {
				w.Node(name).SetChain("examplepoa", simnet.Untracked)
			}
		}
		time.AfterFunc(time.Duration(i)*every, retire)
	}
}

// revive makes a node of the recorded view run the chain again, and sends it a transaction.
func revive(w *world, name string) {
	w.Node(name).SetChain("examplepoa", simnet.Running)
	w.SendTransaction("examplepoa", name)
}

var serviceIncidents = []incident{
	{
		what:  "relayers deliver no messages",
		begin: func(w *world) { w.HoldICM(true) },
		end:   func(w *world) { w.HoldICM(false) },
		pages: []string{"AvaxICMUndelivered"}, later: []time.Duration{10 * time.Minute}, within: 55 * time.Minute, healthy: 10 * time.Minute,
	},
	{
		what:  "the Data service is down",
		begin: func(w *world) { w.DataService().Stop() },
		end:   func(w *world) { w.DataService().Start() },
		warns: []string{"AvaxDataServiceDown"}, within: 13 * time.Minute, goesOn: 62 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the Data service answers 403",
		begin: func(w *world) { w.DataService().Inject(simnet.Refused(http.StatusForbidden, "forbidden")) },
		end:   func(w *world) { w.DataService().Recover() },
		warns: []string{"AvaxUpstreamForbidden"}, within: 15 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the Data service answers 429 (rate limit)",
		begin: func(w *world) { w.DataService().Inject(simnet.RateLimited(30 * time.Second)) },
		end:   func(w *world) { w.DataService().Recover() },
		warns: []string{"AvaxUpstreamRateLimited"}, within: 15 * time.Minute, heals: 2 * time.Hour,
	},
	{
		what:  "the Data service indexes no more C-Chain blocks",
		begin: func(w *world) { w.SetIndexLag("C", 24*time.Hour) },
		end:   func(w *world) { w.SetIndexLag("C", 2*time.Second) },
		warns: []string{"AvaxDataServiceStale"}, later: []time.Duration{10 * time.Minute}, within: 40 * time.Minute,
	},
	{
		what:  "the Metrics service is down",
		begin: func(w *world) { w.MetricsService().Stop() },
		end:   func(w *world) { w.MetricsService().Start() },
		warns: []string{"AvaxMetricsServiceDown"}, within: 45 * time.Minute, goesOn: 40 * time.Minute, heals: 2 * time.Hour,
	},
}

var quietIncidents = []incident{
	{
		what: "a node restarts",
		begin: func(w *world) {
			w.Node("alpha").Stop()
			time.AfterFunc(30*time.Second, w.Node("alpha").Start)
		},
		within: 15 * time.Minute,
	},
	{
		what: "a node restarts slowly: it answers after 30 s, and its last data is back after 4 min",
		begin: func(w *world) {
			w.Node("alpha").Stop()
			time.AfterFunc(15*time.Second, w.Node("alpha").Start)
		},
		startup: simnet.Startup{
			Listen: 30 * time.Second, Peers: time.Minute, PChain: 90 * time.Second, Chains: 2 * time.Minute, L1s: 3 * time.Minute, Uptime: 4 * time.Minute,
		},
		within: 30 * time.Minute,
	},
	{
		what: "a rolling upgrade: every ten minutes, another node stops for a minute and returns with a newer version",
		begin: func(w *world) {
			for i, name := range configured {
				at := time.Duration(i) * 10 * time.Minute
				time.AfterFunc(at, w.Node(name).Stop)
				time.AfterFunc(at+time.Minute, func() {
					w.SetVersion(name, "1.16.0")
					w.Node(name).Start()
				})
			}
		},
		within: 2 * time.Hour,
	},
	{
		what:   "a peer with a twentieth of the stake falsely reports 1 % uptime of three nodes",
		begin:  func(w *world) { each(demo.Nodes[:3], func(n string) { w.Node(n).SetObservedUptime(1, "delta") }) },
		end:    func(w *world) { each(demo.Nodes[:3], func(n string) { w.Node(n).SetObservedUptime(-1, "delta") }) },
		within: 2 * time.Hour,
	},
	{
		what:   "a configured node falsely reports 1 % uptime of two other nodes",
		begin:  func(w *world) { each(demo.Nodes[:2], func(n string) { w.Node(n).SetObservedUptime(1, "charlie") }) },
		end:    func(w *world) { each(demo.Nodes[:2], func(n string) { w.Node(n).SetObservedUptime(-1, "charlie") }) },
		within: 2 * time.Hour,
	},
	{
		what:   "nobody uses an L1, so it has no new blocks",
		begin:  func(w *world) { w.SetBlockPeriod("examplepoa", 0) },
		end:    func(w *world) { w.SetBlockPeriod("examplepoa", 10*time.Second) },
		within: 4 * time.Hour, // no rule looks back further than two hours
	},
	{
		what:   "nobody uses the C-Chain of a private network",
		begin:  func(w *world) { w.SetBlockPeriod("C", 0) },
		end:    func(w *world) { w.SetBlockPeriod("C", 2*time.Second) },
		within: 20 * time.Minute, goesOn: 2 * time.Minute,
	},
	{
		what:   "a day without a fault",
		begin:  func(*world) {},
		within: 24 * time.Hour,
	},
}
