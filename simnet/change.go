package simnet

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Changes of a node.

// Stop ends the process. Connections to it are refused, and its peers are disconnected at once.
func (n *Node) Stop() {
	n.net.change(func(now time.Time) {
		n.stopped = true
		n.reach(now)
	})
}

// Kill is like Stop, but peers stay connected to the node for this time, as when a machine loses power: it closes no connection.
func (n *Node) Kill(noticed time.Duration) {
	n.net.change(func(now time.Time) {
		n.stopped = true
		n.reach(now.Add(noticed))
	})
}

// Start starts the process, or restarts it if it runs already. The process goes through the steps of Options.Startup.
func (n *Node) Start() { n.start(false) }

// StartIsolated starts the process without a connection to any peer, so the node never finishes bootstrapping. P answers 503, every
// other chain 404. P, X and C are not bootstrapped, and the node does not know chains of other subnets.
func (n *Node) StartIsolated() { n.start(true) }

func (n *Node) start(isolated bool) {
	n.net.change(func(now time.Time) {
		n.member.away.begin(now)
		n.stopped, n.isolated, n.started = false, isolated, now
		maps.DeleteFunc(n.chains, func(_ *chain, fate chainFate) bool { return fate.state == Dead })
		n.reach(now.Add(n.net.opts.Startup.Listen))
	})
}

// SwapKeys exchanges the staking keys of two nodes, as when a validator moves to another machine. Both nodes stop, and start with the other keys.
func (n *Network) SwapKeys(one, other string) {
	a, b := n.Node(one), n.Node(other)
	a.Stop()
	b.Stop()
	n.change(func(time.Time) {
		a.member, b.member = b.member, a.member
		a.member.version, b.member.version = b.member.version, a.member.version
		a.member.node, b.member.node = a, b
	})
	a.Start()
	b.Start()
}

// Inject applies a fault to these calls, named as in Call.Method, or to all calls. Several faults combine: the delays of all Slow
// faults are added, and the first fault of another kind applies.
func (n *Node) Inject(f Fault, calls ...string) {
	n.net.change(func(now time.Time) {
		n.inject(f, calls)
		if f.kind == hung && len(calls) == 0 {
			n.hung = true
			n.reach(now.Add(30 * time.Second))
		}
	})
}

// Answers reports whether the node answers its API now: its process runs and listens, and no fault of all calls but slowness hides it.
func (n *Node) Answers() bool {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	hides := func(a affliction) bool { return len(a.calls) == 0 && a.fault.kind != slow }
	return n.listens(n.net.clock()) && !slices.ContainsFunc(n.faults, hides)
}

// Recover removes all faults. It does not start the process or change chains.
func (n *Node) Recover() {
	n.net.change(func(now time.Time) {
		n.faults, n.hung = nil, false
		n.reach(now)
	})
}

// SetChain sets the state of a chain on the node. Any state except Untracked also makes the node track the chain.
func (n *Node) SetChain(chain string, state ChainState) {
	n.net.change(func(now time.Time) {
		c := n.net.mustChain(chain)
		if c.isL1() && state != Untracked && !slices.Contains(n.member.subnets, c.subnet) {
			n.member.subnets = append(n.member.subnets, c.subnet)
		}
		n.chains[c] = chainFate{state, now}
	})
}

// FallBehind stops the node from accepting blocks of the chain.
func (n *Node) FallBehind(chain string) {
	n.net.change(func(now time.Time) { n.stuck[n.net.mustChain(chain)] = now })
}

// Prefer makes the node prefer a block of the chain that is just proposed and not accepted, or ends that. The node reports the epoch of this block.
func (n *Node) Prefer(chain string, on bool) {
	n.net.change(func(time.Time) { n.prefers[n.net.mustChain(chain)] = on })
}

// StopExecuting stops the node from executing blocks of the chain. It still accepts them.
func (n *Node) StopExecuting(chain string) {
	n.net.change(func(now time.Time) {
		c := n.net.mustChain(chain)
		n.stuck[c], n.unexecuted[c] = now, true
	})
}

// FillDisk sets the free bytes of the node's volume, and how many of them are used a second.
func (n *Node) FillDisk(free, perSecond float64) {
	n.net.change(func(now time.Time) { n.disk = disk{free, perSecond, now} })
}

// Fork makes the node's blocks of an EVM chain differ from the network's, from the next block.
func (n *Node) Fork(chain string) {
	n.net.change(func(now time.Time) {
		c := n.net.mustChain(chain)
		n.forked[c] = c.heads.at(now).height + 1
	})
}

// CatchUp ends FallBehind, StopExecuting and Fork.
func (n *Node) CatchUp(chain string) {
	n.net.change(func(time.Time) {
		delete(n.stuck, n.net.mustChain(chain))
		delete(n.unexecuted, n.net.mustChain(chain))
		delete(n.forked, n.net.mustChain(chain))
	})
}

// SetPrecompile adds a precompile upgrade of a Subnet-EVM chain to the configuration of this node only. At that time the node forks.
func (n *Node) SetPrecompile(chain, name string, on bool, at time.Time) {
	n.net.change(func(time.Time) {
		c := n.net.mustChain(chain)
		n.upgrades[c] = append(n.upgrades[c], precompileUpgrade{name, at.UTC(), !on})
	})
}

// SetStateUpgrade adds a state upgrade of a Subnet-EVM chain, which changes a balance, to the configuration of this node only.
func (n *Node) SetStateUpgrade(chain string, at time.Time) {
	n.net.change(func(time.Time) {
		c := n.net.mustChain(chain)
		n.stateUpgrades[c] = append(n.stateUpgrades[c], at.UTC())
	})
}

// SetVMVersion sets the version of a loaded VM, by its ID or name as in info.getNodeVersion. A plugin may be of another
// release than the node.
func (n *Node) SetVMVersion(vm, version string) {
	n.net.change(func(time.Time) { n.vmVersions[vm] = version })
}

// Bench makes the node bench a peer on these chains, by alias or ID as in info.peers. Without chains, the peer is no longer benched.
func (n *Node) Bench(peer string, chains ...string) {
	n.net.change(func(time.Time) { n.benched[n.net.mustMember(peer)] = slices.Clone(chains) })
}

// SetObservedUptime sets the uptime that these peers observe for the node, in percent of its validation period. Without peers it
// applies to all peers. They send this uptime to the node and in their own answers. A negative percentage restores the real
// observation.
func (n *Node) SetObservedUptime(percent float64, peers ...string) {
	n.net.change(func(time.Time) {
		for _, m := range n.net.members {
			switch {
			case len(peers) > 0 && !slices.Contains(peers, m.name) && !slices.Contains(peers, m.id):
			case percent < 0:
				delete(n.member.told, m)
			default:
				n.member.told[m] = percent
			}
		}
	})
}

// SetPartialSync makes the node sync only P of the primary network, like an L1 validator with --partial-sync-primary-network. X and
// C are never bootstrapped.
func (n *Node) SetPartialSync(on bool) {
	n.net.change(func(time.Time) { n.partial = on })
}

// SetAPI enables or disables the API admin, health or info. Here all are enabled by default. On real nodes admin is disabled.
func (n *Node) SetAPI(name string, on bool) {
	n.net.change(func(time.Time) { n.disabled[name] = !on })
}

// Changes of any participant, by name or node ID.

// Disconnect disconnects a participant from all others. Its observed uptime falls. It has no peers and accepts no blocks. Its API
// still answers, and it reports itself as connected.
func (n *Network) Disconnect(participant string) { n.connect(participant, false) }

// Reconnect ends Disconnect.
func (n *Network) Reconnect(participant string) { n.connect(participant, true) }

func (n *Network) connect(participant string, on bool) {
	n.change(func(now time.Time) {
		m := n.mustMember(participant)
		switch {
		case m.node != nil:
			m.node.disconnected = !on
			m.node.reach(now)
		case on:
			m.away.finish(now)
		default:
			m.away.begin(now)
		}
	})
}

// SetNetworkID changes the ID that all nodes report: 1 is Mainnet, which the Data service covers.
func (n *Network) SetNetworkID(id int) {
	n.change(func(time.Time) { n.id = id })
}

// SetSilent makes a connected participant stop or resume sending messages.
func (n *Network) SetSilent(participant string, silent bool) {
	n.change(func(now time.Time) {
		if m := n.mustMember(participant); silent {
			m.silent.begin(now)
		} else {
			m.silent.finish(now)
		}
	})
}

// Releases are the releases that a participant can run, oldest first. Only the first one was recorded. What the others change is in their release
// notes: 1.15.1 reports rewards that were staked again, and 1.15.2 has another plugin protocol. What 1.15.3 removed is not known.
func Releases() []string { return []string{"1.15.0", "1.15.1", "1.15.2", "1.15.3"} }

// SetVersion sets the version of a participant, such as "1.15.0".
func (n *Network) SetVersion(participant, version string) {
	n.change(func(time.Time) { n.mustMember(participant).version = version })
}

// AnnounceUpgrade makes these participants, or all if none is given, announce an upgrade at that time, as a newer version does.
func (n *Network) AnnounceUpgrade(at time.Time, participants ...string) {
	n.change(func(time.Time) {
		for _, m := range n.members {
			if len(participants) == 0 || slices.Contains(participants, m.name) || slices.Contains(participants, m.id) {
				m.upgradeTime = at.UTC()
			}
		}
	})
}

// SetUpgrade sets the activation time of an upgrade, such as "helicon" or a new name. All nodes know it. A zero time means that the
// upgrade is not scheduled.
func (n *Network) SetUpgrade(name string, at time.Time) {
	n.change(func(time.Time) {
		if !at.IsZero() {
			at = at.UTC().Truncate(time.Second)
		}
		if name == "helicon" {
			n.helicon = at
		}
		i := slices.IndexFunc(n.upgrades, func(u upgrade) bool { return u.name == name })
		if i < 0 {
			n.upgrades = append(n.upgrades, upgrade{name, at})
			return
		}
		n.upgrades[i].at = at
	})
}

// Changes of validator sets. For each change the P-Chain accepts a block.

// AddValidator makes a participant a validator of the primary network, with this stake in nAVAX and for this period. An unknown name
// creates a new peer.
func (n *Network) AddValidator(participant string, stake uint64, period time.Duration) {
	n.change(func(now time.Time) {
		m := n.newcomer(participant)
		if n.primary.staker(m) != nil {
			panic(fmt.Sprintf("simnet: %s validates already", participant))
		}
		now = now.Truncate(time.Second)
		n.primary.stakers = append(n.primary.stakers, &staker{
			member: m, txID: n.newID("stake", m.name, now.Unix()), start: now, end: now.Add(period),
			weight: stake, fee: 2, reward: rewardFor(stake, period), added: now,
		})
		n.pChain().heads.add(now)
	})
}

// AddL1Validator adds a validator to a chain's subnet and returns its validation ID. The weight is in the L1's unit, the balance in
// nAVAX. A permissioned subnet is converted to an L1. For up to a minute, until a node has processed the change,
// validators.getCurrentValidators fails on that node. A participant without an API then tracks the subnet; a node does after SetChain.
func (n *Network) AddL1Validator(chain, participant string, weight, balance uint64) (validationID string) {
	n.change(func(now time.Time) {
		s, m := n.mustChain(chain).subnet, n.newcomer(participant)
		if s == n.primary || s.validatedBy(m) {
			panic(fmt.Sprintf("simnet: %s cannot become a validator of %s", participant, chain))
		}
		if m.node == nil && !slices.Contains(m.subnets, s) {
			m.subnets = append(m.subnets, s) // no request reaches its chains, so it simply runs them
		}
		kind := "RegisterL1ValidatorTx"
		if s.conversion == "" {
			kind = "ConvertSubnetToL1Tx"
			s.conversion, s.managerChain, s.manager = n.newID("conversion", s.id), s.chains[0], theManager
		}
		now = now.Truncate(time.Second)
		validationID = n.newID("validation", s.id, m.name, now.Unix())
		v := &l1Validator{member: m, validationID: validationID, weight: weight, start: now, balance: balance, paidAt: now, added: now}
		v.changed(now, kind, int64(balance))
		s.l1 = append(s.l1, v)
		n.pChain().heads.add(now)
	})
	return validationID
}

func (n *Network) newcomer(name string) *member {
	if m := n.member(name); m != nil {
		return m
	}
	return n.join(name)
}

// RemoveValidator removes a participant from the validators of a chain's subnet; P means the primary network.
func (n *Network) RemoveValidator(chain, participant string) {
	n.change(func(now time.Time) {
		s, m := n.mustChain(chain).subnet, n.mustMember(participant)
		s.stakers = slices.DeleteFunc(s.stakers, func(v *staker) bool { return v.member == m })
		if v := s.l1Validator(m); v != nil {
			v.pay(now.Truncate(time.Second), n.feePrice)
			v.weight = 0
			v.fill(0, now.Truncate(time.Second))
			s.removed = append(s.removed, v)
		}
		s.l1 = slices.DeleteFunc(s.l1, func(v *l1Validator) bool { return v.member == m })
		n.pChain().heads.add(now.Truncate(time.Second))
	})
}

// Untrack makes a participant without an API stop tracking a chain's subnet.
func (n *Network) Untrack(chain, participant string) {
	n.change(func(time.Time) {
		s, m := n.mustChain(chain).subnet, n.mustMember(participant)
		m.subnets = slices.DeleteFunc(m.subnets, func(tracked *subnet) bool { return tracked == s })
	})
}

// SetStakeEnd sets the end of a validation on the primary network. The validator leaves the set when the P-Chain's time reaches it.
func (n *Network) SetStakeEnd(participant string, end time.Time) {
	n.change(func(time.Time) {
		n.mustStaker(n.primary, n.mustMember(participant)).end = end.UTC().Truncate(time.Second)
	})
}

// SetStakeStart sets the start of a validation on the primary network.
func (n *Network) SetStakeStart(participant string, start time.Time) {
	n.change(func(time.Time) {
		n.mustStaker(n.primary, n.mustMember(participant)).start = start.UTC().Truncate(time.Second)
	})
}

// SetWeight sets the weight of an L1 validator.
func (n *Network) SetWeight(chain, participant string, weight uint64) {
	n.changeL1(chain, participant, func(v *l1Validator, _ time.Time) { v.weight = weight })
}

// TopUp adds nAVAX to the balance of an L1 validator. An inactive validator becomes active.
func (n *Network) TopUp(chain, participant string, amount uint64) {
	n.changeL1(chain, participant, func(v *l1Validator, now time.Time) { v.fill(v.balance+amount, now) })
}

// SetBalance sets the balance of an L1 validator in nAVAX; 0 makes it inactive.
func (n *Network) SetBalance(chain, participant string, balance uint64) {
	n.changeL1(chain, participant, func(v *l1Validator, now time.Time) { v.fill(balance, now) })
}

func (v *l1Validator) fill(balance uint64, now time.Time) {
	kind, change := "IncreaseL1ValidatorBalanceTx", int64(balance)-int64(v.balance)
	if change < 0 {
		kind = "DisableL1ValidatorTx"
	}
	if v.weight == 0 {
		kind = "SetL1ValidatorWeightTx"
	}
	v.balance = balance
	v.changed(now, kind, change)
	if v.active() {
		v.inactive.finish(now)
	} else {
		v.inactive.begin(now)
	}
}

func (n *Network) changeL1(chain, participant string, f func(v *l1Validator, now time.Time)) {
	n.change(func(now time.Time) {
		v := n.mustL1Validator(n.mustChain(chain).subnet, n.mustMember(participant))
		now = now.Truncate(time.Second)
		v.pay(now, n.feePrice)
		f(v, now)
		n.pChain().heads.add(now)
	})
}

// SetFeePrice sets the fee of every active L1 validator, in nAVAX per second. The default is 512, the minimum on Mainnet.
func (n *Network) SetFeePrice(price uint64) {
	n.change(func(now time.Time) {
		now = now.Truncate(time.Second)
		for _, s := range n.subnets {
			for _, v := range s.l1 {
				v.pay(now, n.feePrice)
			}
		}
		n.feePrice = price
		n.pChain().heads.add(now)
	})
}

// L1Fees returns the fees that a validator of an L1 paid between two times, in nAVAX.
func (n *Network) L1Fees(validationID string, from, to time.Time) (paid uint64) {
	n.change(func(now time.Time) {
		for _, s := range n.subnets {
			for _, v := range slices.Concat(s.l1, s.removed) {
				if v.validationID == validationID {
					paid = v.feesBetween(from, to, n.feePrice)
				}
			}
		}
	})
	return paid
}

// SetUTXOs sets the number of Owner's unspent outputs of 1,000 AVAX on the X-Chain and the P-Chain.
func (n *Network) SetUTXOs(count int) { n.change(func(time.Time) { n.avaxUTXOs = count }) }

// Changes of chains and of the Metrics service.

// SetBlockPeriod sets the time between the blocks of a chain. With 0 the chain has no new blocks, like an L1 without transactions. By
// default the X-Chain has no new blocks. If it has blocks, the Data service lists a transaction in each.
func (n *Network) SetBlockPeriod(chain string, every time.Duration) {
	n.change(func(now time.Time) {
		c := n.mustChain(chain)
		c.heads.pace(now, every)
		c.frozen = 0
	})
}

// SetAlias gives a chain an alias on all nodes. Nodes name the chain by it in health checks, loggers and benched chains.
func (n *Network) SetAlias(chain, alias string) {
	n.change(func(time.Time) { c := n.mustChain(chain); c.aliases = append(c.aliases, alias) })
}

// SetPendingTransactions sets how many transactions wait in the pool of each node of a chain. No block removes them.
func (n *Network) SetPendingTransactions(chain string, count uint64) {
	n.change(func(time.Time) { n.mustChain(chain).pending = count })
}

// SetFeeConfig changes the fee configuration of a Subnet-EVM chain in a new block.
func (n *Network) SetFeeConfig(chain string, config FeeConfig) {
	n.change(func(now time.Time) {
		c := n.mustChain(chain)
		if !c.isL1() {
			panic(fmt.Sprintf("simnet: chain %s has no fee configuration", chain))
		}
		c.heads.add(now)
		c.fees = append(c.fees, feeChange{c.heads.at(now).height, config})
	})
}

// FeeConfig returns the fee configuration of a Subnet-EVM chain.
func (n *Network) FeeConfig(chain string) FeeConfig {
	n.mu.Lock()
	defer n.mu.Unlock()
	fees := n.mustChain(chain).fees
	return fees[len(fees)-1].config
}

// SetPrecompile activates or deactivates a precompile of a Subnet-EVM chain at a time, such as "txAllowListConfig".
func (n *Network) SetPrecompile(chain, name string, on bool, at time.Time) {
	n.change(func(time.Time) {
		c := n.mustChain(chain)
		c.upgrades = append(c.upgrades, precompileUpgrade{name, at.UTC(), !on})
	})
}

// RetireMetricsV1 removes version 1 from the Metrics service: its paths then answer 404, as those of a newer service do. With false
// it restores version 1.
func (n *Network) RetireMetricsV1(retired bool) {
	n.change(func(time.Time) { n.tps.retired = retired })
}

// Changes of subnets, and of data that only the Data service has.

// SetOwner sets the owner of a subnet: addresses, and how many of them must sign. The subnet is a subnet ID or one of its chains.
// Addresses have no chain prefix, like Owner. The deprecated fields of the Data service keep the first owner.
func (n *Network) SetOwner(subnet string, addresses []string, threshold int) {
	n.change(func(now time.Time) {
		n.mustSubnet(subnet).owner = subnetOwner{slices.Clone(addresses), threshold}
		n.pChain().heads.add(now.Truncate(time.Second))
	})
}

// SetManager sets the contract that manages the validators of an L1: its chain and its address.
func (n *Network) SetManager(subnet, chain, address string) {
	n.change(func(now time.Time) {
		s := n.mustSubnet(subnet)
		if s.conversion == "" {
			panic(fmt.Sprintf("simnet: %s is no L1", subnet))
		}
		s.managerChain, s.manager = n.mustChain(chain), address
		n.pChain().heads.add(now.Truncate(time.Second))
	})
}

func (t *truth) mustSubnet(name string) *subnet {
	if i := slices.IndexFunc(t.subnets, func(s *subnet) bool { return s.id == name }); i >= 0 {
		return t.subnets[i]
	}
	return t.mustChain(name).subnet
}

// SetNextPeriod sets the length of the next period of an auto-renewed validator. With 0 the validator leaves after the current
// period.
func (n *Network) SetNextPeriod(participant string, period time.Duration) {
	n.change(func(time.Time) {
		i := slices.IndexFunc(n.primary.stakers, func(v *staker) bool { return v.member == n.mustMember(participant) && v.renewal != nil })
		if i < 0 {
			panic("simnet: " + participant + " is not an auto-renewed validator")
		}
		n.primary.stakers[i].renewal.period = period
	})
}

// EndDelegations sets the end of all delegations to a participant.
func (n *Network) EndDelegations(participant string, at time.Time) {
	n.change(func(time.Time) {
		v := n.mustStaker(n.primary, n.mustMember(participant))
		for i := range v.delegators {
			v.delegators[i].end = at.Truncate(time.Second)
		}
	})
}

// RefuseReward makes the vote on the rewards of a validator no: for its delegations that end from now on, and for its own period.
func (n *Network) RefuseReward(participant string) {
	n.change(func(time.Time) { n.mustStaker(n.primary, n.mustMember(participant)).refused = true })
}

// PayReward pays a reward in nAVAX to a participant now, for the last day. The kind is VALIDATOR, DELEGATOR, VALIDATOR_FEE, or an
// unknown kind. Rewards for the built-in validations are paid automatically.
func (n *Network) PayReward(participant, kind string, amount uint64) {
	n.PayRewardOf(participant, kind, amount, n.clock().Add(-day))
}

// PayRewardOf is PayReward for a stake with this start.
func (n *Network) PayRewardOf(participant, kind string, amount uint64, start time.Time) {
	n.change(func(now time.Time) {
		now = now.Truncate(time.Second)
		m := n.mustMember(participant)
		tx := n.newID("paid", m.id, kind, now.Unix(), len(n.ledger.rewards))
		n.pay(reward{kind: kind, member: m, tx: tx, start: start, end: now, staked: 2_000 * avax, amount: amount, owner: Owner})
	})
}

// OrderRewards sets the order of rewards in the Data service.
func (n *Network) OrderRewards(order RewardOrder) {
	n.change(func(time.Time) { n.ledger.rewardOrder = order })
}

// SetNativeBalance fixes the balance of an address in the native token of an EVM chain, in wei.
func (n *Network) SetNativeBalance(chain, address string, wei *big.Int) {
	n.change(func(time.Time) {
		n.ledger.balances[holder{n.mustChain(chain), strings.ToLower(address)}] = new(big.Int).Set(wei)
	})
}

// Deploy deploys a contract from an address on an EVM chain, and returns the contract's address.
func (n *Network) Deploy(chain, deployer string) (address string) {
	n.change(func(now time.Time) {
		c := n.mustChain(chain)
		address = n.newAddress("deployed", len(n.ledger.deployments))
		n.ledger.deployments = append(n.ledger.deployments, deployment{
			chain: c, at: now, address: address, deployer: deployer, kind: "UNKNOWN",
		})
	})
	return address
}

// HoldICM stops or resumes the relayers of messages between chains. Pending messages are delivered seconds after the relayers resume.
func (n *Network) HoldICM(hold bool) {
	n.change(func(now time.Time) {
		if hold {
			n.ledger.held.begin(now)
		} else {
			n.ledger.held.finish(now)
		}
	})
}

// FailICM sets whether the calls in messages that are delivered from now on fail.
func (n *Network) FailICM(fail bool) {
	n.change(func(now time.Time) {
		if fail {
			n.ledger.failing.begin(now)
		} else {
			n.ledger.failing.finish(now)
		}
	})
}

// SetSigning sets whether a participant signs messages for signature aggregation. A connected participant that does not sign
// reduces the aggregated weight.
func (n *Network) SetSigning(participant string, signs bool) {
	n.change(func(time.Time) { n.ledger.mute[n.mustMember(participant)] = !signs })
}

// SetIndexLag sets the lag of the Data service behind a chain; the default is two seconds. If the lag grows, the service indexes
// nothing until it has the new lag, so a lag of hours simulates a stalled indexer. If the lag shrinks, it catches up at once.
func (n *Network) SetIndexLag(chain string, lag time.Duration) {
	n.change(func(now time.Time) {
		c := n.mustChain(chain)
		n.ledger.lags[c] = append(n.ledger.lags[c], indexer{now, lag})
	})
}

// Changes of the services.

// MetricsService returns the Metrics service.
func (n *Network) MetricsService() *Service { return n.metrics }

// DataService returns the Data service.
func (n *Network) DataService() *Service { return n.data }

// SetKey sets the only valid API key of the Data service, in the header x-service-api-key or x-glacier-api-key. Any other key is
// rejected with the status refusal, 401 or 403. Requests without a key are accepted. By default every key is rejected with 401.
func (s *Service) SetKey(good string, refusal int) {
	s.net.change(func(time.Time) { s.key, s.badKey = good, refusal })
}

// SetComputeLimit sets the maximum number of compute units per minute and caller. Beyond it the answer is 429. A key identifies a
// caller; all requests without a key count as one caller. 0, the default, means no limit. The limit of the real Data service is
// 6,000 without a key and 8,000 with a free key. The limit of the Metrics service is 8,000.
func (s *Service) SetComputeLimit(perMinute int) {
	s.net.change(func(time.Time) { s.limit = perMinute })
}

// Stop makes the service refuse connections.
func (s *Service) Stop() { s.net.change(func(time.Time) { s.stopped = true }) }

// Start ends Stop.
func (s *Service) Start() { s.net.change(func(time.Time) { s.stopped = false }) }

// Inject applies a fault to these calls, named as in Call.Method, or to all calls.
func (s *Service) Inject(f Fault, calls ...string) {
	s.net.change(func(time.Time) { s.inject(f, calls) })
}

// Recover removes all faults.
func (s *Service) Recover() { s.net.change(func(time.Time) { s.faults = nil }) }

// Votes reports whether a participant takes part in the consensus of a chain now: its process runs and is connected, and it has bootstrapped the chain, whose
// VM runs. Peers may know later that it does not.
func (n *Network) Votes(chain, participant string) (votes bool) {
	n.change(func(now time.Time) { votes = n.truth.votes(n.mustChain(chain), n.mustMember(participant), now) })
	return votes
}

func (t *truth) votes(c *chain, m *member, now time.Time) bool {
	n := m.node
	if n == nil {
		return !m.away.covers(now)
	}
	v := &view{truth: t, net: n.net, node: n, me: m, now: now}
	return n.listens(now) && !n.hung && !n.isolated && !n.disconnected && n.chains[c].state != Dead && v.chainState(c) == Running
}

// WeightShare returns the share of the weight of a chain's validators that a participant has.
func (n *Network) WeightShare(chain, participant string) (share float64) {
	n.change(func(time.Time) {
		s, m := n.mustChain(chain).subnet, n.mustMember(participant)
		var its, total uint64
		for _, staker := range s.stakers {
			if total += staker.total(); staker.member == m {
				its += staker.total()
			}
		}
		for _, v := range s.l1 {
			if total += v.weight; v.member == m {
				its += v.weight
			}
		}
		share = float64(its) / float64(total)
	})
	return share
}

// VotingShare returns the share of the weight of a chain's validators that votes without some of them, by node ID. For P it is that of the primary
// network's stake.
func (n *Network) VotingShare(chain string, without ...string) (share float64) {
	n.change(func(now time.Time) {
		c := n.mustChain(chain)
		var up, total uint64
		count := func(m *member, weight uint64, active bool) {
			total += weight
			if active && !slices.Contains(without, m.id) && n.truth.votes(c, m, now) {
				up += weight
			}
		}
		for _, s := range c.subnet.stakers {
			count(s.member, s.total(), true)
		}
		for _, l := range c.subnet.l1 {
			count(l.member, l.weight, l.active())
		}
		share = float64(up) / float64(total)
	})
	return share
}

// Validates reports whether a participant validates a chain.
func (n *Network) Validates(chain, participant string) (validates bool) {
	n.change(func(time.Time) { validates = n.mustChain(chain).subnet.validatedBy(n.mustMember(participant)) })
	return validates
}
