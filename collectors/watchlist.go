package collectors

import (
	"time"
)

// Watchlist lists what is monitored in addition to nodes and chains.
type Watchlist struct {
	Validators Validators
	// Addresses are addresses on the P-Chain or the X-Chain, such as P-avax1….
	Addresses []string
	// Assets are assets of the X-Chain, by asset ID.
	Assets []string

	// EVM are addresses on the monitored EVM chains, such as 0x1f…. The collectors of this field and of the fields
	// below need the Data service.
	EVM []string
	// Contracts are EVM addresses whose deployments are counted.
	Contracts []string
	// Tokens are NFTs whose metadata is checked.
	Tokens []Token
	// Signatures are the probes of the signature aggregator.
	Signatures []Probe
}

func (w Watchlist) validatorIDs() []string { return w.Validators.IDs }
func (w Watchlist) addresses() []string    { return w.Addresses }
func (w Watchlist) assets() []string       { return w.Assets }
func (w Watchlist) evm() []string          { return w.EVM }
func (w Watchlist) contracts() []string    { return w.Contracts }

// Validators selects the monitored validators of the primary network. If both fields are zero, these are the
// validators of the configured nodes.
type Validators struct {
	All bool
	IDs []string
}

// monitoredPeriod returns the period of collectors that request the monitored validators. It is fullSetEvery if all
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
	Contract string // contract address of the token's collection, such as 0x1f…
	ID       string // decimal token ID
	// Reindex requests that the Data service reads the token's metadata again if it has no valid copy. The maximum is
	// one request per reindexEvery.
	Reindex bool
}

// Probe is a synthetic check of the signature aggregator. The exporter regularly requests that the aggregator
// collects signatures of the message in a transaction of the P-Chain or the X-Chain.
type Probe struct {
	Name   string // value of the label probe
	TxHash string
}
