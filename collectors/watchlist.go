package collectors

import (
	"time"
)

// Watchlist is what the configuration names in addition to nodes and chains.
type Watchlist struct {
	Validators Validators
	// Addresses are addresses on the P- or the X-Chain, such as P-avax1….
	Addresses []string
	// Assets are assets of the X-Chain, by asset ID.
	Assets []string

	// EVM are addresses on the monitored EVM chains, such as 0x1f…. This field and the following need the Data
	// service.
	EVM []string
	// Contracts are EVM addresses whose deployments are counted.
	Contracts []string
	// Tokens are NFTs whose metadata is checked.
	Tokens []Token
	// Signatures are synthetic probes of the signature aggregator.
	Signatures []Probe
}

func (w Watchlist) validatorIDs() []string { return w.Validators.IDs }
func (w Watchlist) addresses() []string    { return w.Addresses }
func (w Watchlist) assets() []string       { return w.Assets }
func (w Watchlist) evm() []string          { return w.EVM }
func (w Watchlist) contracts() []string    { return w.Contracts }

// Validators selects the primary-network validators with series of their own. If both fields are zero,
// these are the validators of the configured nodes.
type Validators struct {
	All bool
	IDs []string
}

// monitoredPeriod returns the period of requests for monitored validators: that of whole sets if all
// validators are monitored.
func monitoredPeriod(v Validators) time.Duration {
	if v.All {
		return fullSetEvery
	}
	return time.Minute
}

// Token is a monitored NFT.
type Token struct {
	Chain    string // name of a monitored chain
	Contract string // address of its collection, such as 0x1f…
	ID       string // decimal
	// Reindex makes the Data service read the metadata again, at most once an hour, while it has no good
	// copy.
	Reindex bool
}

// Probe is a transaction of the P- or X-Chain with a message. The signature aggregator is asked repeatedly to
// have it signed, to check that it can.
type Probe struct {
	Name   string // value of the label probe
	TxHash string
}
