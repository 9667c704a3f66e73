package simnet

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

// What a test or a demonstration may do to a node.

// Stop ends the process: connections are refused, and the others lose the node at once.
func (n *Node) Stop() {
	n.net.change(func(now time.Time) {
		n.stopped = true
		n.reach(now)
	})
}

// Kill makes connections be refused, as Stop does. The others lose the node after that time: a machine that loses
// its power closes no connection.
func (n *Node) Kill(noticed time.Duration) {
	n.net.change(func(now time.Time) {
		n.stopped = true
		n.reach(now.Add(noticed))
	})
}

// Start begins the process again, whether it ran or not. It passes through the steps of Options.Startup.
func (n *Node) Start() { n.start(false) }

// StartIsolated begins the process without a way to any peer: it bootstraps for ever. P answers 503, every
// other chain 404; P, X and C are not bootstrapped, and chains of other subnets are unknown.
func (n *Node) StartIsolated() { n.start(true) }

func (n *Node) start(isolated bool) {
	n.net.change(func(now time.Time) {
		n.member.away.begin(now)
		n.stopped, n.isolated, n.started = false, isolated, now
		n.reach(now.Add(n.net.opts.Startup.Listen))
	})
}

// Suffer makes a fault befall the named calls, as Call.Method spells them, or all if none is named. Faults add
// up: all waits of Slow, and the first of the other kinds.
func (n *Node) Suffer(f Fault, calls ...string) {
	n.net.change(func(now time.Time) {
		n.suffer(f, calls)
		if f.kind == hung && len(calls) == 0 {
			n.hung = true
			n.reach(now.Add(30 * time.Second))
		}
	})
}

// Recover ends all faults. It starts no process, and it is no cure for chains.
func (n *Node) Recover() {
	n.net.change(func(now time.Time) {
		n.faults, n.hung = nil, false
		n.reach(now)
	})
}

// SetChain sets what the node does with a chain. A chain that was untracked is tracked from then on unless the
// state is Untracked.
func (n *Node) SetChain(chain string, state ChainState) {
	n.net.change(func(now time.Time) {
		c := n.net.mustChain(chain)
		if c.isL1() && state != Untracked && !slices.Contains(n.member.subnets, c.subnet) {
			n.member.subnets = append(n.member.subnets, c.subnet)
		}
		n.chains[c] = chainFate{state, now}
	})
}

// FallBehind makes the node accept no further block of the chain.
func (n *Node) FallBehind(chain string) {
	n.net.change(func(now time.Time) { n.stuck[n.net.mustChain(chain)] = now })
}

// Fork makes the node's blocks of an EVM chain differ from the network's, from the next block on.
func (n *Node) Fork(chain string) {
	n.net.change(func(now time.Time) {
		c := n.net.mustChain(chain)
		n.forked[c] = c.heads.at(now).height + 1
	})
}

// CatchUp ends what FallBehind and Fork did.
func (n *Node) CatchUp(chain string) {
	n.net.change(func(time.Time) {
		delete(n.stuck, n.net.mustChain(chain))
		delete(n.forked, n.net.mustChain(chain))
	})
}

// SetPrecompile puts a switch of a precompile into the node's own configuration of a Subnet-EVM chain, which no
// other node has: it is about to fork, or does once the instant has come.
func (n *Node) SetPrecompile(chain, name string, on bool, at time.Time) {
	n.net.change(func(time.Time) {
		c := n.net.mustChain(chain)
		n.upgrades[c] = append(n.upgrades[c], precompileUpgrade{name, at.UTC(), !on})
	})
}

// SetVMVersion makes the node tell that version of a VM, by its ID or name as in info.getNodeVersion, while it has
// loaded it. A plugin may be of another release than the node.
func (n *Node) SetVMVersion(vm, version string) {
	n.net.change(func(time.Time) { n.vmVersions[vm] = version })
}

// Bench makes the node bench a peer for the chains, given by alias or ID as info.peers shows them; none ends it.
func (n *Node) Bench(peer string, chains ...string) {
	n.net.change(func(time.Time) { n.benched[n.net.mustMember(peer)] = slices.Clone(chains) })
}

// SetObservedUptime makes peers observe the node connected for that percentage of its validation period,
// whatever they saw: they tell the node so, and say so of it when they are asked themselves. Without peers
// named, all do. A negative percentage ends it: they go by what they saw.
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

// SetPartialSync makes the node run P alone of the primary network, as validators of L1s alone do with
// --partial-sync-primary-network. X and C are never bootstrapped.
func (n *Node) SetPartialSync(on bool) {
	n.net.change(func(time.Time) { n.partial = on })
}

// SetAdminAPI turns the admin API on or off. It is on in the scene; on real nodes it is off by default.
func (n *Node) SetAdminAPI(on bool) {
	n.net.change(func(time.Time) { n.adminOff = !on })
}

// What may be done to any participant, by name or node ID.

// Disconnect takes a participant off the network: the others lose it, its uptime decays in their eyes, and it
// sees nobody and accepts no block. A node's API still answers, and in its own eyes it is always connected.
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

// SetSilent makes a participant send nothing although it stays connected, or ends that.
func (n *Network) SetSilent(participant string, silent bool) {
	n.change(func(now time.Time) {
		if m := n.mustMember(participant); silent {
			m.silent.begin(now)
		} else {
			m.silent.finish(now)
		}
	})
}

// SetVersion sets the version of a participant, as "1.15.0".
func (n *Network) SetVersion(participant, version string) {
	n.change(func(time.Time) { n.mustMember(participant).version = version })
}

// AnnounceUpgrade makes participants announce an upgrade at that time, as a newer version does; all of them if
// none is named.
func (n *Network) AnnounceUpgrade(at time.Time, participants ...string) {
	n.change(func(time.Time) {
		for _, m := range n.members {
			if len(participants) == 0 || slices.Contains(participants, m.name) || slices.Contains(participants, m.id) {
				m.upgradeTime = at.UTC()
			}
		}
	})
}

// SetUpgrade sets when an upgrade becomes active that all nodes know, as "helicon" or a new name; the zero time
// means not scheduled.
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

// SetACPs sets which proposals a participant supports and objects to.
func (n *Network) SetACPs(participant string, supports, objects []uint32) {
	n.change(func(time.Time) {
		m := n.mustMember(participant)
		m.supports, m.objects = slices.Clone(supports), slices.Clone(objects)
	})
}

// What may be done to sets of validators. The P-Chain makes a block for each.

// AddValidator adds a participant to the primary network, with that stake in nAVAX for that long. A name that
// the scene does not have becomes a new peer.
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

// AddL1Validator adds a participant to the validators of a chain's subnet, with a weight in the L1's unit and a
// balance in nAVAX, and returns its validation ID. A permissioned subnet becomes an L1 thereby. Until a node
// has taken the change over, up to a minute, validators.getCurrentValidators fails as a whole on it.
func (n *Network) AddL1Validator(chain, participant string, weight, balance uint64) (validationID string) {
	n.change(func(now time.Time) {
		s, m := n.mustChain(chain).subnet, n.newcomer(participant)
		if s == n.primary || s.validatedBy(m) {
			panic(fmt.Sprintf("simnet: %s cannot become a validator of %s", participant, chain))
		}
		if s.conversion == "" {
			s.conversion, s.managerChain, s.manager = n.newID("conversion", s.id), s.chains[0], theManager
		}
		now = now.Truncate(time.Second)
		validationID = n.newID("validation", s.id, m.name, now.Unix())
		s.l1 = append(s.l1, &l1Validator{
			member: m, validationID: validationID, weight: weight, start: now, balance: balance, paidAt: now, added: now,
		})
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

// RemoveValidator takes a participant out of the validators of a chain's subnet, P for the primary network.
func (n *Network) RemoveValidator(chain, participant string) {
	n.change(func(now time.Time) {
		s, m := n.mustChain(chain).subnet, n.mustMember(participant)
		s.stakers = slices.DeleteFunc(s.stakers, func(v *staker) bool { return v.member == m })
		s.l1 = slices.DeleteFunc(s.l1, func(v *l1Validator) bool { return v.member == m })
		n.pChain().heads.add(now.Truncate(time.Second))
	})
}

// SetStakeEnd moves the end of a validation on the primary network. Once the P-Chain has passed it the
// validator is no longer in the set.
func (n *Network) SetStakeEnd(participant string, end time.Time) {
	n.change(func(time.Time) {
		n.mustStaker(n.primary, n.mustMember(participant)).end = end.UTC().Truncate(time.Second)
	})
}

// SetStakeStart moves the start of a validation on the primary network.
func (n *Network) SetStakeStart(participant string, start time.Time) {
	n.change(func(time.Time) {
		n.mustStaker(n.primary, n.mustMember(participant)).start = start.UTC().Truncate(time.Second)
	})
}

// SetWeight changes the weight of an L1 validator.
func (n *Network) SetWeight(chain, participant string, weight uint64) {
	n.changeL1(chain, participant, func(v *l1Validator, _ time.Time) { v.weight = weight })
}

// TopUp adds nAVAX to the balance of an L1 validator, and makes it active again if it was not.
func (n *Network) TopUp(chain, participant string, amount uint64) {
	n.changeL1(chain, participant, func(v *l1Validator, now time.Time) { v.fill(v.balance+amount, now) })
}

// SetBalance sets the balance of an L1 validator in nAVAX; 0 makes it inactive.
func (n *Network) SetBalance(chain, participant string, balance uint64) {
	n.changeL1(chain, participant, func(v *l1Validator, now time.Time) { v.fill(balance, now) })
}

func (v *l1Validator) fill(balance uint64, now time.Time) {
	v.balance = balance
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

// SetFeePrice sets what every active L1 validator pays, in nAVAX per second. It is 512 in the scene, the floor
// of the main network.
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

// SetUTXOs sets how many unspent outputs of 1,000 AVAX the Owner has on the X-Chain and the P-Chain.
func (n *Network) SetUTXOs(count int) { n.change(func(time.Time) { n.avaxUTXOs = count }) }

// What may be done to chains and to the metrics service.

// SetBlockPeriod sets the time between the blocks of a chain. With 0 no further block comes, as on a quiet L1. The
// X-Chain is quiet in the scene; once it is not, the data service tells of a transaction in each of its blocks.
func (n *Network) SetBlockPeriod(chain string, every time.Duration) {
	n.change(func(now time.Time) { n.mustChain(chain).heads.pace(now, every) })
}

// SetFeeConfig changes the fee configuration of a Subnet-EVM chain, by a new block of it.
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

// SetPrecompile switches a precompile of a Subnet-EVM chain on or off at an instant, as "txAllowListConfig".
func (n *Network) SetPrecompile(chain, name string, on bool, at time.Time) {
	n.change(func(time.Time) {
		c := n.mustChain(chain)
		c.upgrades = append(c.upgrades, precompileUpgrade{name, at.UTC(), !on})
	})
}

// SetTPS sets the average transactions per second of a chain from today on. The series is an EVM chain ID in
// decimal, or "total".
func (n *Network) SetTPS(series string, tps float64) {
	n.change(func(now time.Time) {
		if _, ok := n.tps.mean[series]; !ok {
			panic(fmt.Sprintf("simnet: no series %q", series))
		}
		n.tps.set[series] = append(n.tps.set[series], tpsSet{now.Truncate(day), tps})
	})
}

// HoldMetrics makes the metrics service take over no further data, so that lastRun stands still, or ends that.
func (n *Network) HoldMetrics(hold bool) {
	n.change(func(now time.Time) {
		n.tps.held = time.Time{}
		if hold {
			n.tps.held = now
		}
	})
}

// RetireMetricsV1 takes the paths of version 1 off the metrics service, as a newer one does: they are not found.
// With false they are back.
func (n *Network) RetireMetricsV1(retired bool) {
	n.change(func(time.Time) { n.tps.retired = retired })
}

// What may be done to subnets, and to what the data service alone tells.

// SetOwner sets whose keys may change a subnet, and how many of them it takes. The subnet is given by its ID or
// by one of its chains, the addresses without chain prefix, as Owner. The deprecated fields of the data service
// keep the first owner.
func (n *Network) SetOwner(subnet string, addresses []string, threshold int) {
	n.change(func(now time.Time) {
		n.mustSubnet(subnet).owner = subnetOwner{slices.Clone(addresses), threshold}
		n.pChain().heads.add(now.Truncate(time.Second))
	})
}

// SetManager sets which contract manages the validators of an L1: the chain it is on, and its address.
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

// SetNextPeriod sets the length of the next period of an auto-renewed validator; with 0 it ends with the current one.
func (n *Network) SetNextPeriod(participant string, period time.Duration) {
	n.change(func(time.Time) {
		i := slices.IndexFunc(n.primary.stakers, func(v *staker) bool { return v.member == n.mustMember(participant) && v.renewal != nil })
		if i < 0 {
			panic("simnet: " + participant + " is not an auto-renewed validator")
		}
		n.primary.stakers[i].renewal.period = period
	})
}

// PayReward pays a participant now, in nAVAX, for the last day. The kind is VALIDATOR, DELEGATOR or
// VALIDATOR_FEE, or one that nobody knows yet. Rewards of the scene's validations are paid without it.
func (n *Network) PayReward(participant, kind string, amount uint64) {
	n.PayRewardOf(participant, kind, amount, n.clock().Add(-day))
}

// PayRewardOf is PayReward for a stake that began at start.
func (n *Network) PayRewardOf(participant, kind string, amount uint64, start time.Time) {
	n.change(func(now time.Time) {
		now = now.Truncate(time.Second)
		m := n.mustMember(participant)
		tx := n.newID("paid", m.id, kind, now.Unix(), len(n.ledger.rewards))
		n.pay(reward{kind, m, tx, start, now, 2_000 * avax, amount})
	})
}

// OrderRewards sets the order in which the data service lists rewards.
func (n *Network) OrderRewards(order RewardOrder) {
	n.change(func(time.Time) { n.ledger.rewardOrder = order })
}

// SetNativeBalance sets what an address has of the native token of an EVM chain, in wei; it stays there.
func (n *Network) SetNativeBalance(chain, address string, wei *big.Int) {
	n.change(func(time.Time) {
		n.ledger.balances[holder{n.mustChain(chain), strings.ToLower(address)}] = new(big.Int).Set(wei)
	})
}

// Deploy makes an address deploy a contract on an EVM chain, and returns where it is.
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

// HoldICM makes relayers deliver no message between chains, as when they are down, or ends that: what waited is
// delivered seconds later.
func (n *Network) HoldICM(hold bool) {
	n.change(func(now time.Time) {
		if hold {
			n.ledger.held.begin(now)
		} else {
			n.ledger.held.finish(now)
		}
	})
}

// FailICM makes the calls fail that the messages carry which are delivered from now on, or ends that.
func (n *Network) FailICM(fail bool) {
	n.change(func(now time.Time) {
		if fail {
			n.ledger.failing.begin(now)
		} else {
			n.ledger.failing.finish(now)
		}
	})
}

// SetSigning sets whether a participant signs the messages that the data service aggregates signatures for. One
// that is connected and does not sign costs the aggregate its weight.
func (n *Network) SetSigning(participant string, signs bool) {
	n.change(func(time.Time) { n.ledger.mute[n.mustMember(participant)] = !signs })
}

// SetIndexLag sets how far the data service is behind a chain; it is two seconds in the scene. It takes over
// nothing until it is that far behind, so that a lag of hours is an indexer that stands still, and catches up
// at once where the lag is smaller than before.
func (n *Network) SetIndexLag(chain string, lag time.Duration) {
	n.change(func(now time.Time) {
		c := n.mustChain(chain)
		n.ledger.lags[c] = append(n.ledger.lags[c], indexer{now, lag})
	})
}

// What may be done to the services themselves.

// MetricsService returns the metrics service.
func (n *Network) MetricsService() *Service { return n.metrics }

// DataService returns the data service.
func (n *Network) DataService() *Service { return n.data }

// SetKey sets the only API key that the data service takes, under the name x-service-api-key or
// x-glacier-api-key. Requests with another one are refused with that status, 401 or 403; those without a key
// are not. In the scene no key is good, and a bad one meets 401.
func (s *Service) SetKey(good string, refusal int) {
	s.net.change(func(time.Time) { s.key, s.badKey = good, refusal })
}

// SetComputeLimit sets how many compute units a caller may spend a minute; beyond it meets 429. Callers are
// told apart by their key, and all without one are the same. The real data service grants 6,000 without a key
// and 8,000 with a free one, the metrics service 8,000. 0 is no limit, as in the scene.
func (s *Service) SetComputeLimit(perMinute int) {
	s.net.change(func(time.Time) { s.limit = perMinute })
}

// Stop makes the service refuse connections.
func (s *Service) Stop() { s.net.change(func(time.Time) { s.stopped = true }) }

// Start ends Stop.
func (s *Service) Start() { s.net.change(func(time.Time) { s.stopped = false }) }

// Suffer makes a fault befall the named calls, as Call.Method spells them, or all if none is named.
func (s *Service) Suffer(f Fault, calls ...string) {
	s.net.change(func(time.Time) { s.suffer(f, calls) })
}

// Recover ends all faults.
func (s *Service) Recover() { s.net.change(func(time.Time) { s.faults = nil }) }
