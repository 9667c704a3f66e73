package collector

import (
	"cmp"
	"slices"
)

// Watchlist lists what is monitored in addition to nodes and chains.
type Watchlist struct {
	Validators Validators
	// Addresses are addresses on the P-Chain or the X-Chain, such as P-avax1….
	Addresses []Item
	// Delegators are P-Chain addresses whose delegations are monitored.
	Delegators []Item
	// Assets are assets of the X-Chain, by asset ID.
	Assets []Item

	// EVM are addresses on the monitored EVM chains, such as 0x1f…. Only their balances are known without the Data service.
	EVM []Item
	// Contracts are EVM addresses. The contracts that they deploy are counted. This field and all fields below need the Data
	// service.
	Contracts []Item
	// Tokens are NFTs whose metadata is checked.
	Tokens []Token
	// Signatures are the probes of the signature aggregator, which are synthetic checks. In each run, the aggregator must collect signatures
	// of the message in a transaction of the P-Chain or the X-Chain.
	Signatures []Item
	// Messengers are the addresses of the ICM messenger contract, by the name of a chain. A name that equals the address stands for all chains.
	Messengers []Item
}

// Item is an address, an asset ID or a transaction, and its name. Without a configured name, the name is the value.
type Item struct{ Name, Value string }

// Unnamed returns items without configured names.
func Unnamed(values ...string) (items []Item) {
	for _, v := range values {
		items = append(items, Item{v, v})
	}
	return items
}

// Values returns the values of items.
func Values(items []Item) (values []string) {
	for _, i := range items {
		values = append(values, i.Value)
	}
	return values
}

func (w Watchlist) ValidatorItems() []Item { return Unnamed(w.Validators.IDs...) }
func (w Watchlist) AddressItems() []Item   { return w.Addresses }
func (w Watchlist) DelegatorItems() []Item { return w.Delegators }
func (w Watchlist) AssetItems() []Item     { return w.Assets }
func (w Watchlist) EVMItems() []Item       { return w.EVM }
func (w Watchlist) ContractItems() []Item  { return w.Contracts }
func (w Watchlist) SignatureItems() []Item { return w.Signatures }

// Delegator returns the address of the delegator with this name. A reload may have removed it while its run is in progress: then the address is
// empty.
func (w Watchlist) Delegator(name string) string {
	if i := slices.IndexFunc(w.Delegators, func(i Item) bool { return i.Name == name }); i >= 0 {
		return w.Delegators[i].Value
	}
	return ""
}

// Validators selects the monitored validators of the primary network. If both fields are zero, these are the
// validators of the configured nodes.
type Validators struct {
	All bool
	IDs []string
}

// Token is a monitored NFT.
type Token struct {
	Name     string // empty: it has none
	Chain    string // name of a monitored chain
	Contract string // contract address of the token's collection, such as 0x1f…
	ID       string // decimal token ID
	// Reindex: if the Data service has no valid copy of the token's metadata, the exporter requests that the service
	// reads the metadata again. It requests this at most once per reindexEvery.
	Reindex bool
}

// Title returns the name, or without one contract/ID.
func (t Token) Title() string { return cmp.Or(t.Name, t.Contract+"/"+t.ID) }
