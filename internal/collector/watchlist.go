package collector

import (
	"slices"
	"time"
)

// Watchlist lists what is monitored in addition to nodes and chains.
type Watchlist struct {
	Validators Validators
	// Addresses are addresses on the P-Chain or the X-Chain, such as P-avax1….
	Addresses []string
	// Delegators are P-Chain addresses whose delegations are monitored.
	Delegators []Delegator
	// Assets are assets of the X-Chain, by asset ID.
	Assets []string

	// EVM are addresses on the monitored EVM chains, such as 0x1f…. Only their balances are known without the Data service.
	EVM []string
	// Contracts are EVM addresses. The contracts that they deploy are counted. This field and all fields below need the Data
	// service.
	Contracts []string
	// Tokens are NFTs whose metadata is checked.
	Tokens []Token
	// Signatures are the probes of the signature aggregator.
	Signatures []Probe
}

func (w Watchlist) ValidatorIDs() []string { return w.Validators.IDs }
func (w Watchlist) AddressList() []string  { return w.Addresses }
func (w Watchlist) AssetList() []string    { return w.Assets }
func (w Watchlist) EVMList() []string      { return w.EVM }
func (w Watchlist) ContractList() []string { return w.Contracts }

// Delegator is a P-Chain address with a name. Without a configured name, the name is the address.
type Delegator struct{ Name, Address string }

func (w Watchlist) DelegatorNames() (names []string) {
	for _, d := range w.Delegators {
		names = append(names, d.Name)
	}
	return names
}

// DelegatorAddresses returns the addresses of all delegators.
func (w Watchlist) DelegatorAddresses() (addresses []string) {
	for _, d := range w.Delegators {
		addresses = append(addresses, d.Address)
	}
	return addresses
}

// Delegator returns the delegator with this name. A reload may have removed it while its run is in progress: then it has no address.
func (w Watchlist) Delegator(name string) Delegator {
	i := slices.IndexFunc(w.Delegators, func(d Delegator) bool { return d.Name == name })
	if i < 0 {
		return Delegator{Name: name}
	}
	return w.Delegators[i]
}

// Validators selects the monitored validators of the primary network. If both fields are zero, these are the
// validators of the configured nodes.
type Validators struct {
	All bool
	IDs []string
}

// MonitoredPeriod returns the period of collectors that request the monitored validators. It is FullSetEvery if all
// validators are monitored.
func MonitoredPeriod(v Validators) time.Duration {
	if v.All {
		return FullSetEvery
	}
	return time.Minute
}

// Token is a monitored NFT.
type Token struct {
	Chain    string // name of a monitored chain
	Contract string // contract address of the token's collection, such as 0x1f…
	ID       string // decimal token ID
	// Reindex: if the Data service has no valid copy of the token's metadata, the exporter requests that the service
	// reads the metadata again. It requests this at most once per reindexEvery.
	Reindex bool
}

// Probe is a synthetic check of the signature aggregator. In each run, the aggregator must collect signatures of the
// message in a transaction.
type Probe struct {
	Name   string // value of the label probe
	TxHash string // transaction of the P-Chain or the X-Chain that sends a message to an L1
}
