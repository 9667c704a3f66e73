package simnet

import (
	"encoding/json"
	"slices"
	"time"
)

// precompileUpgrade activates or deactivates a precompile of a Subnet-EVM chain after genesis.
type precompileUpgrade struct {
	name    string
	at      time.Time
	disable bool
}

// precompileUpgrades returns the upgrades in the node's configuration.
func (e evm) precompileUpgrades() []precompileUpgrade {
	return slices.Concat(e.chain.upgrades, e.node.upgrades[e.chain])
}

// config returns the chain config. That of the C-Chain names its upgrades differently and has neither fees nor precompiles.
func (e evm) config([]json.RawMessage) (any, error) {
	genesis, helicon := e.genesis.Unix(), e.helicon.Unix()
	c := map[string]any{"chainId": e.chain.evmID, "cancunTime": genesis, "shanghaiTime": genesis}
	for _, name := range []string{
		"berlin", "byzantium", "constantinople", "eip150", "eip155", "eip158", "homestead", "istanbul", "london",
		"muirGlacier", "petersburg",
	} {
		c[name+"Block"] = 0
	}
	for _, name := range []string{"etna", "granite"} {
		c[name+"Timestamp"] = genesis
	}
	c["heliconTimestamp"] = helicon
	if !e.chain.isL1() {
		for _, name := range []string{
			"apricotPhase1", "apricotPhase2", "apricotPhase3", "apricotPhase4", "apricotPhase5", "apricotPhase6",
			"apricotPhasePost6", "apricotPhasePre6", "banff", "cortina", "durango",
		} {
			c[name+"BlockTimestamp"] = genesis
		}
		c["fortunaTimestamp"], c["daoForkBlock"], c["daoForkSupport"] = genesis, 0, true
		return c, nil
	}
	c["durangoTimestamp"], c["subnetEVMTimestamp"] = genesis, 0
	c["allowFeeRecipients"] = true
	c["feeConfig"] = e.chain.fees[0].config
	for _, name := range e.chain.precompiles {
		c[name] = precompileConfig(name, e.genesis)
	}
	upgrades := map[string]any{}
	if known := e.precompileUpgrades(); len(known) > 0 {
		list := []any{}
		for _, u := range known {
			value := precompileConfig(u.name, u.at)
			if u.disable {
				value = map[string]any{"blockTimestamp": u.at.Unix(), "disable": true}
			}
			list = append(list, map[string]any{u.name: value})
		}
		upgrades["precompileUpgrades"] = list
	}
	var state []any
	for _, at := range e.node.stateUpgrades[e.chain] {
		state = append(state, map[string]any{"blockTimestamp": at.Unix(), "accounts": map[string]any{evmAccount: map[string]any{"balanceChange": "0x1"}}})
	}
	if state != nil {
		upgrades["stateUpgrades"] = state
	}
	c["upgrades"] = upgrades
	return c, nil
}

func precompileConfig(name string, at time.Time) map[string]any {
	c := map[string]any{"blockTimestamp": at.Unix()}
	switch name {
	case "warpConfig":
		c["quorumNumerator"], c["requirePrimaryNetworkSigners"] = 67, true
		return c
	case "rewardManagerConfig":
		c["initialRewardConfig"] = map[string]any{"allowFeeRecipients": true, "rewardAddress": "0x0000000000000000000000000000000000000000"}
	}
	c["adminAddresses"] = []string{evmAccount}
	return c
}

// activeAt returns the active precompiles at a time, with their activation times.
func (e evm) activeAt(at time.Time) map[string]time.Time {
	active := make(map[string]time.Time)
	if at.Before(e.genesis) {
		return active
	}
	for _, name := range e.chain.precompiles {
		active[name] = e.genesis
	}
	for _, u := range e.precompileUpgrades() {
		switch {
		case u.at.After(at):
		case u.disable:
			delete(active, u.name)
		default:
			active[u.name] = u.at
		}
	}
	return active
}

// instant decodes the optional argument of the two methods below: Unix seconds as a number.
func (e evm) instant(args []json.RawMessage) (time.Time, error) {
	var seconds uint64
	given, err := argument(args, 0, &seconds)
	if err != nil || !given {
		return e.head(e.chain).time, err
	}
	return time.Unix(int64(seconds), 0).UTC(), nil
}

func (e evm) activePrecompiles(args []json.RawMessage) (any, error) {
	at, err := e.instant(args)
	if err != nil {
		return nil, err
	}
	configs := make(map[string]any)
	for name, since := range e.activeAt(at) {
		configs[name] = precompileConfig(name, since)
	}
	return configs, nil
}

func (e evm) activeRules(args []json.RawMessage) (any, error) {
	at, err := e.instant(args)
	if err != nil {
		return nil, err
	}
	born, helicon := !at.Before(e.genesis), !at.Before(e.helicon)
	var eth, avalanche orderedFields
	eth.add("ChainID", e.chain.evmID)
	for _, name := range []string{
		"Homestead", "EIP150", "EIP155", "EIP158", "Byzantium", "Constantinople", "Petersburg", "Istanbul", "Berlin",
		"London", "Merge", "Shanghai", "Cancun", "Prague", "Verkle",
	} {
		later := slices.Contains([]string{"Shanghai", "Cancun"}, name)
		never := slices.Contains([]string{"Prague", "Verkle"}, name)
		eth.add("Is"+name, !never && (born || !later))
	}
	avalanche.add("IsSubnetEVM", true)
	avalanche.add("IsDurango", born)
	avalanche.add("IsEtna", born)
	avalanche.add("IsFortuna", false)
	avalanche.add("IsGranite", born)
	avalanche.add("IsHelicon", helicon)
	precompiles := make(map[string]any)
	for name, since := range e.activeAt(at) {
		precompiles[name] = map[string]int64{"timestamp": since.Unix()}
	}
	return struct {
		Eth         orderedFields  `json:"ethRules"`
		Avalanche   orderedFields  `json:"avalancheRules"`
		Precompiles map[string]any `json:"precompiles"`
	}{eth, avalanche, precompiles}, nil
}
