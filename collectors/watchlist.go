package collectors

import (
	"time"
)

// Watchlist is what the configuration names beside nodes and chains.
type Watchlist struct {
	Validators Validators
	// Addresses are addresses on the P- or the X-Chain, such as P-avax1….
	Addresses []string
	// Assets are assets of the X-Chain, by asset ID.
	Assets []string

	// EVM are addresses on the followed EVM chains, such as 0x1f…. The Data service
	// is asked about these and all that follow.
	EVM []string
	// Contracts are EVM addresses whose deployments are counted.
	Contracts []string
	// Tokens are NFTs whose metadata is watched.
	Tokens []Token
	// Signatures are synthetic probes of the signature aggregator.
	Signatures []Probe
}

func (w Watchlist) validatorIDs() []string { return w.Validators.IDs }
func (w Watchlist) addresses() []string    { return w.Addresses }
func (w Watchlist) assets() []string       { return w.Assets }
func (w Watchlist) evm() []string          { return w.EVM }
func (w Watchlist) contracts() []string    { return w.Contracts }

// Validators says which primary-network validators have series of their own: those
// of the configured nodes where both fields are zero.
type Validators struct {
	All bool
	IDs []string
}

// watchedPace is how often the watched validators' entries are asked: where all
// are watched, at the pace of full sets.
func watchedPace(v Validators) time.Duration {
	if v.All {
		return fullSetEvery
	}
	return time.Minute
}

// Token is a watched NFT.
type Token struct {
	Chain    string // the name of a followed chain
	Contract string // the address of its collection, such as 0x1f…
	ID       string // decimal
	// Reindex says that the Data service is asked to read the metadata again,
	// once an hour at most, while it has no good copy.
	Reindex bool
}

// Probe is a transaction of the P- or X-Chain whose message the signature
// aggregator is asked to have signed, again and again, to see whether it can.
type Probe struct {
	Name   string // the label probe
	TxHash string
}
