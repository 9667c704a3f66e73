package simnet

import (
	"fmt"
	"math"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The Data service's view of EVM chains.

// evm returns a chain up to the newest indexed block. It follows the network, not the fork of a node.
func (r *request) evm(c *chain) evm {
	v := &view{truth: r.truth, net: r.service.net, node: new(Node), me: new(member), now: r.indexed(c, r.asOf)}
	return evm{v, c}
}

// onChain returns the chain in the path, by its EVM chain ID or its blockchain ID.
func (r *request) onChain() (evm, error) {
	id := r.values["chainId"]
	for _, c := range r.chains {
		if c.evmID != 0 && (u64(c.evmID) == id || c.id == id) {
			return r.evm(c), nil
		}
	}
	return evm{}, missing("Chain %s not found", id)
}

var evmAddress = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// address returns the address in the path.
func (r *request) address() string {
	a := r.values["address"]
	if !evmAddress.MatchString(a) {
		r.reject("address must be a valid EVM address")
	}
	return a
}

// ofAddress returns the chain and the address in the path.
func (r *request) ofAddress() (evm, string, error) {
	address := r.address()
	e, err := r.onChain()
	return e, address, err
}

type networkToken struct {
	Name     string `json:"name"`
	Symbol   string `json:"symbol"`
	Decimals int    `json:"decimals"`
	LogoURI  string `json:"logoUri,omitempty"`
}

func (c *chain) token() networkToken {
	if !c.isL1() {
		return networkToken{"Avalanche", "AVAX", 18, "https://images.example/avax.svg"}
	}
	return networkToken{"Token of " + c.name, strings.ToUpper(c.name[len("example"):]), 18, ""}
}

// evmBlock returns a block by number, or one of the latest by hash.
func (r *request) evmBlock() (any, error) {
	e, err := r.onChain()
	if err != nil {
		return nil, err
	}
	id := r.values["blockId"]
	height, err := strconv.ParseUint(id, 10, 64)
	known := err == nil && height <= e.head(e.chain).height
	if err != nil && !strings.HasPrefix(id, "0x") {
		r.reject("blockId must be a block number or a block hash")
	} else if err != nil {
		height, known = e.heightOfHash(strings.ToLower(id))
	}
	if !known {
		return nil, missing("Block %s not found", id)
	}
	parent := noHash
	if height > 0 {
		parent = e.blockHash(height - 1)
	}
	count := e.transactionsIn(e.chain, height)
	gas := uint64(count) * transfer
	at := e.blockTime(height)
	return struct {
		ChainID                string `json:"chainId"`
		BlockNumber            string `json:"blockNumber"`
		BlockTimestamp         int64  `json:"blockTimestamp"`
		BlockTimestampMS       int64  `json:"blockTimestampMilliseconds"`
		BlockMinDelayExcess    int    `json:"blockMinDelayExcess"`
		BlockHash              string `json:"blockHash"`
		TxCount                int    `json:"txCount"`
		BaseFee                string `json:"baseFee"`
		GasUsed                string `json:"gasUsed"`
		GasLimit               string `json:"gasLimit"`
		GasCost                string `json:"gasCost"`
		ParentHash             string `json:"parentHash"`
		FeesSpent              string `json:"feesSpent"`
		CumulativeTransactions string `json:"cumulativeTransactions"`
	}{
		u64(e.chain.evmID), u64(height), at.Unix(), at.UnixMilli(), minDelayExcess, e.blockHash(height), count,
		u64(e.baseFeeAt(height)), u64(gas), u64(e.gasLimitAt(height)), "0", parent,
		u64(gas * (e.baseFeeAt(height) + e.tip())), u64(e.cumulative(e.chain, height)),
	}, nil
}

type nativeTokenBalance struct {
	networkToken
	ChainID      string `json:"chainId"`
	Price        *money `json:"price,omitempty"`
	Balance      string `json:"balance"`
	BalanceValue *money `json:"balanceValue,omitempty"`
}

// relayFee is the relayer's cost of a delivery, in wei.
const relayFee = 500_000_000_000_000

var oneToken = big.NewInt(1_000_000_000_000_000_000) // in wei

// wei returns the balance of an address at a time.
func (t *truth) wei(c *chain, address string, at time.Time) *big.Int {
	if set, ok := t.ledger.balances[holder{c, strings.ToLower(address)}]; ok {
		return set
	}
	tokens := int64(0)
	switch {
	case strings.EqualFold(address, Account):
		tokens = 5_000_000
	case strings.EqualFold(address, Partner):
		tokens = 100
	case strings.EqualFold(address, Relayer):
		tokens = 10
	}
	balance := new(big.Int).Mul(big.NewInt(tokens), oneToken)
	if strings.EqualFold(address, Relayer) {
		for _, m := range t.messages(at) {
			if m.to == c && !m.delivered.IsZero() && !m.delivered.After(at) {
				balance.Sub(balance, big.NewInt(relayFee))
			}
		}
	}
	return balance
}

// native returns the balance at the newest block, or at the block in the parameter blockNumber. Only AVAX has a price.
func (r *request) native(e evm, address, currency string) (*nativeTokenBalance, error) {
	at := e.head(e.chain).time
	if text := r.query.Get("blockNumber"); text != "" {
		height := uint64(r.integer("blockNumber", 0, 0, math.MaxInt))
		if height > e.head(e.chain).height {
			return nil, missing("Block %s not found", text)
		}
		at = e.blockTime(height)
	}
	wei := r.wei(e.chain, address, at)
	b := &nativeTokenBalance{networkToken: e.chain.token(), ChainID: u64(e.chain.evmID), Balance: wei.String()}
	if !e.chain.isL1() {
		tokens, _ := new(big.Rat).SetFrac(wei, oneToken).Float64()
		b.Price, b.BalanceValue = r.worth(1, r.asOf, currency), r.worth(tokens, r.asOf, currency)
	}
	return b, nil
}

func (r *request) nativeBalance() (any, error) {
	currency := r.currency()
	e, address, err := r.ofAddress()
	if err != nil {
		return nil, err
	}
	b, err := r.native(e, address, currency)
	if err != nil {
		return nil, err
	}
	return struct {
		Balance *nativeTokenBalance `json:"nativeTokenBalance"`
	}{b}, nil
}

// nftToken is a token of either standard: ERC-721 tokens have an owner, ERC-1155 tokens a balance.
type nftToken struct {
	Address      string      `json:"address"`
	Name         string      `json:"name,omitempty"`
	Symbol       string      `json:"symbol,omitempty"`
	ErcType      string      `json:"ercType"`
	TokenID      string      `json:"tokenId"`
	TokenURI     string      `json:"tokenUri"`
	Metadata     nftMetadata `json:"metadata"`
	OwnerAddress string      `json:"ownerAddress,omitempty"`
	ChainID      string      `json:"chainId,omitempty"`
	Balance      string      `json:"balance,omitempty"`
}

type nftMetadata struct {
	IndexStatus  string `json:"indexStatus"`
	LastUpdated  int64  `json:"metadataLastUpdatedTimestamp,omitempty"`
	Name         string `json:"name,omitempty"`
	Symbol       string `json:"symbol,omitempty"`
	ImageURI     string `json:"imageUri,omitempty"`
	Description  string `json:"description,omitempty"`
	AnimationURI string `json:"animationUri,omitempty"`
	ExternalURL  string `json:"externalUrl,omitempty"`
	Background   string `json:"background,omitempty"`
	Attributes   string `json:"attributes,omitempty"`
	Decimals     *int   `json:"decimals,omitempty"`
	Properties   string `json:"properties,omitempty"`
}

// reindexTakes is the time from a reindex request to the new metadata.
const reindexTakes = 20 * time.Second

// metadata of token 7 was unreachable and that of token 11 was never indexed, until they are reindexed.
func (r *request) metadata(n nft) nftMetadata {
	updated, status := r.origin.Add(-5*day), "INDEXED"
	if again, ok := r.ledger.reindexed[n]; ok && !r.asOf.Before(again.Add(reindexTakes)) {
		updated = again.Add(reindexTakes)
	} else if n.contract == Collection && n.token == 7 {
		status = "UNREACHABLE_TOKEN_URI"
	} else if n.contract == Collection && n.token == 11 {
		return nftMetadata{IndexStatus: "UNINDEXED"}
	}
	m := nftMetadata{IndexStatus: status, LastUpdated: updated.Unix()}
	if status != "INDEXED" {
		return m
	}
	m.Name, m.Description = fmt.Sprintf("Example #%d", n.token), "A token of the simulated network"
	m.ImageURI = fmt.Sprintf("https://images.example/%d.png", n.token)
	if n.contract == Items {
		m.Decimals, m.Properties = new(0), `{"rank":"gold"}`
	} else {
		m.Symbol, m.ExternalURL, m.Attributes = "EXC", "https://collection.example", `[{"trait_type":"rank","value":"gold"}]`
	}
	return m
}

func (r *request) collectible(n nft) nftToken {
	return nftToken{
		Address: Collection, Name: "Example Collection", Symbol: "EXC", ErcType: "ERC-721", TokenID: strconv.Itoa(n.token),
		TokenURI: fmt.Sprintf("ipfs://example/%d.json", n.token), Metadata: r.metadata(n),
	}
}

// transferBeat is the interval of transfers of a collectible on a chain, alternately from Account to Partner and back.
const transferBeat = beat(30 * time.Minute)

// ownerOf returns the owner of a collectible after this number of transfers.
func ownerOf(token, tokens, moves int) string {
	if (moves+tokens-1-token)/tokens%2 == 0 {
		return Account
	}
	return Partner
}

// collectiblesOf returns the ERC-721 tokens of an address.
func (r *request) collectiblesOf(e evm, address, contract string) []nftToken {
	list := []nftToken{}
	n := e.chain.collectibles()
	if contract != "" && !strings.EqualFold(contract, Collection) {
		return list
	}
	moves := transferBeat.times(r.truth, e.head(e.chain).time)
	for i := range n {
		owner := ownerOf(i, n, moves)
		if strings.EqualFold(owner, address) {
			t := r.collectible(nft{e.chain, Collection, i})
			t.OwnerAddress, t.ChainID = owner, u64(e.chain.evmID)
			list = append(list, t)
		}
	}
	return list
}

// items is Account's balance of each token of Items.
var items = map[int]string{1: "25", 2: "3"}

// itemsOf returns the ERC-1155 tokens of an address.
func (r *request) itemsOf(e evm, address, contract string) []nftToken {
	list := []nftToken{}
	if e.chain.isL1() || !strings.EqualFold(address, Account) || contract != "" && !strings.EqualFold(contract, Items) {
		return list
	}
	for token := range len(items) {
		token++
		list = append(list, nftToken{
			Address: Items, ErcType: "ERC-1155", TokenID: strconv.Itoa(token),
			TokenURI: fmt.Sprintf("ipfs://items/%d.json", token), Metadata: r.metadata(nft{e.chain, Items, token}),
			ChainID: u64(e.chain.evmID), Balance: items[token],
		})
	}
	return list
}

// contract returns the filter by contract address.
func (r *request) contract() string {
	c := r.query.Get("contractAddress")
	if c != "" && !evmAddress.MatchString(c) {
		r.reject("contractAddress must be a valid EVM address")
	}
	return c
}

// tokenBalances are lists of tokens and the native balance.
type tokenBalances struct {
	Native       *nativeTokenBalance `json:"nativeTokenBalance,omitempty"`
	ERC721       *[]nftToken         `json:"erc721TokenBalances,omitempty"`
	ERC1155      *[]nftToken         `json:"erc1155TokenBalances,omitempty"`
	Collectibles *[]nftToken         `json:"collectibleBalances,omitempty"`
	Next         string              `json:"nextPageToken"`
}

func (r *request) erc721Balances() (any, error) {
	size, contract := r.paging(10, 500), r.contract()
	e, address, err := r.ofAddress()
	if err != nil {
		return nil, err
	}
	var body tokenBalances
	list, next := cut(r, r.collectiblesOf(e, address, contract), size)
	body.ERC721, body.Next = &list, next
	body.Native, err = r.native(e, address, "usd")
	return body, err
}

func (r *request) erc1155Balances() (any, error) {
	size, contract := r.paging(10, 500), r.contract()
	e, address, err := r.ofAddress()
	if err != nil {
		return nil, err
	}
	var body tokenBalances
	list, next := cut(r, r.itemsOf(e, address, contract), size)
	body.ERC1155, body.Next = &list, next
	body.Native, err = r.native(e, address, "usd")
	return body, err
}

func (r *request) collectibleBalances() (any, error) {
	size, contract := r.paging(10, 500), r.contract()
	e, address, err := r.ofAddress()
	if err != nil {
		return nil, err
	}
	both := append(r.collectiblesOf(e, address, contract), r.itemsOf(e, address, contract)...)
	list, next := cut(r, both, size)
	return tokenBalances{Collectibles: &list, Next: next}, nil
}

// place is the position of an event on a chain: the first transaction of the newest block at that time.
type place struct {
	BlockNumber      string `json:"blockNumber"`
	BlockTimestamp   int64  `json:"blockTimestamp"`
	BlockTimestampMS int64  `json:"blockTimestampMilliseconds"`
	BlockHash        string `json:"blockHash"`
	TxHash           string `json:"txHash"`
}

func (e evm) place(height uint64) place {
	at := e.blockTime(height)
	return place{u64(height), at.Unix(), at.UnixMilli(), e.blockHash(height), e.transaction(height, 0, false).(string)}
}

// party is a sender or recipient; only a contract has more than its address.
type party struct {
	Name    string `json:"name,omitempty"`
	Symbol  string `json:"symbol,omitempty"`
	Address string `json:"address"`
}

// happening is the nth event of a beat on a chain.
type happening struct {
	n      int
	height uint64
}

// happenings returns the events of a beat in the requested blocks, newest first.
func (r *request) happenings(e evm, b beat) (list []happening) {
	from := uint64(r.integer("startBlock", 0, 0, math.MaxInt))
	to := uint64(r.integer("endBlock", math.MaxInt, 0, math.MaxInt))
	for n := b.times(r.truth, e.head(e.chain).time) - 1; n >= 0; n-- {
		if height := e.chain.heads.at(b.at(r.truth, n)).height; height >= from && height < to {
			list = append(list, happening{n, height})
		}
	}
	return list
}

func (r *request) erc721Transfers() (any, error) {
	size := r.paging(10, 100)
	e, address, err := r.ofAddress()
	if err != nil {
		return nil, err
	}
	type erc721Transfer struct {
		place
		From     party    `json:"from"`
		To       party    `json:"to"`
		LogIndex int      `json:"logIndex"`
		Token    nftToken `json:"erc721Token"`
	}
	var list []happening
	tokens := e.chain.collectibles()
	if tokens > 0 && (strings.EqualFold(address, Account) || strings.EqualFold(address, Partner)) {
		list = r.happenings(e, transferBeat)
	}
	body := struct {
		Transactions []erc721Transfer `json:"transactions"`
		Next         string           `json:"nextPageToken"`
	}{Transactions: []erc721Transfer{}}
	list, body.Next = cut(r, list, size)
	for _, h := range list {
		token := h.n % tokens
		body.Transactions = append(body.Transactions, erc721Transfer{
			e.place(h.height), party{Address: ownerOf(token, tokens, h.n)}, party{Address: ownerOf(token, tokens, h.n+1)}, 3,
			r.collectible(nft{e.chain, Collection, token}),
		})
	}
	return body, nil
}

// internalBeat is the interval of internal transactions of a contract that Account calls.
const internalBeat = beat(45 * time.Minute)

func (r *request) internalTransactions() (any, error) {
	size := r.paging(10, 100)
	e, address, err := r.ofAddress()
	if err != nil {
		return nil, err
	}
	type internalTransaction struct {
		place
		From       party  `json:"from"`
		To         party  `json:"to"`
		Type       string `json:"internalTxType"`
		Value      string `json:"value"`
		IsReverted bool   `json:"isReverted"`
		GasUsed    string `json:"gasUsed"`
		GasLimit   string `json:"gasLimit"`
	}
	var list []happening
	if strings.EqualFold(address, Account) || strings.EqualFold(address, Items) {
		list = r.happenings(e, internalBeat)
	}
	list = slices.DeleteFunc(list, func(h happening) bool { return h.n%8 == 3 && strings.EqualFold(address, Items) })
	body := struct {
		Transactions []internalTransaction `json:"transactions"`
		Next         string                `json:"nextPageToken"`
	}{Transactions: []internalTransaction{}}
	list, body.Next = cut(r, list, size)
	for _, h := range list {
		t := internalTransaction{
			place: e.place(h.height), From: party{Address: Account}, To: party{"Example Items", "EXI", Items},
			Type: "CALL", Value: "100000000000000000", IsReverted: h.n%16 == 6, GasUsed: "21055", GasLimit: "2300000",
		}
		switch {
		case h.n%8 == 3:
			t.Type, t.Value, t.To = "CREATE", "0", party{Address: r.newAddress("created", e.chain.id, h.n)}
		case h.n%8 == 5:
			t.Type = "CALLCODE"
		}
		if h.n%2 == 0 {
			t.From, t.To = t.To, t.From
		}
		body.Transactions = append(body.Transactions, t)
	}
	return body, nil
}

func (r *request) contractDeployments() (any, error) {
	size := r.paging(10, 100)
	e, address, err := r.ofAddress()
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(r.ledger.deployments), func(d deployment) bool {
		return d.chain != e.chain || !strings.EqualFold(d.deployer, address) || d.at.After(e.head(e.chain).time)
	})
	slices.Reverse(list)
	body := struct {
		Contracts []deployedContract `json:"contracts"`
		Next      string             `json:"nextPageToken"`
	}{Contracts: []deployedContract{}}
	list, body.Next = cut(r, list, size)
	for _, d := range list {
		body.Contracts = append(body.Contracts, e.renderDeployment(d))
	}
	return body, nil
}

type imageAsset struct {
	AssetID  string `json:"assetId"`
	ImageURI string `json:"imageUri"`
}

type resourceLink struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type deployedContract struct {
	Name          string         `json:"name,omitempty"`
	Description   string         `json:"description,omitempty"`
	OfficialSite  string         `json:"officialSite,omitempty"`
	Email         string         `json:"email,omitempty"`
	LogoAsset     *imageAsset    `json:"logoAsset,omitempty"`
	BannerAsset   *imageAsset    `json:"bannerAsset,omitempty"`
	Color         string         `json:"color,omitempty"`
	ResourceLinks []resourceLink `json:"resourceLinks,omitempty"`
	Tags          []string       `json:"tags,omitempty"`
	Address       string         `json:"address"`
	Symbol        string         `json:"symbol,omitempty"`
	Decimals      *int           `json:"decimals,omitempty"`
	ErcType       string         `json:"ercType"`
	Deployment    struct {
		TxHash          string `json:"txHash"`
		DeployerAddress string `json:"deployerAddress"`
		Factory         string `json:"deployerContractAddress,omitempty"`
	} `json:"deploymentDetails"`
}

// renderDeployment has details only for the collection: the deployer need not describe a contract.
func (e evm) renderDeployment(d deployment) deployedContract {
	c := deployedContract{Name: d.name, Address: d.address, Symbol: d.symbol, ErcType: d.kind}
	c.Deployment.TxHash = e.transaction(e.chain.heads.at(d.at).height, 0, false).(string)
	c.Deployment.DeployerAddress, c.Deployment.Factory = d.deployer, d.factory
	if d.kind == "ERC-20" {
		c.Decimals = new(18)
	}
	if d.address == Collection {
		c.Description, c.OfficialSite, c.Email, c.Color = "The collection of the simulated network", "https://collection.example", "info@collection.example",
			"#e84142"
		c.LogoAsset = &imageAsset{"logo", "https://images.example/logo.png"}
		c.BannerAsset = &imageAsset{"banner", "https://images.example/banner.png"}
		c.ResourceLinks = []resourceLink{{"Website", "https://collection.example"}}
		c.Tags = []string{"example"}
	}
	return c
}

// reindexPause is the minimum time between two reindex requests of a token.
const reindexPause = time.Hour

func (r *request) reindex() (any, error) {
	e, address, err := r.ofAddress()
	if err != nil {
		return nil, err
	}
	token, err := strconv.Atoi(r.values["tokenId"])
	n := nft{e.chain, "", token}
	switch {
	case err != nil:
	case strings.EqualFold(address, Collection) && token >= 0 && token < e.chain.collectibles():
		n.contract = Collection
	case strings.EqualFold(address, Items) && !e.chain.isL1() && items[token] != "":
		n.contract = Items
	}
	if n.contract == "" {
		return nil, missing("Token %s of %s not found", r.values["tokenId"], address)
	}
	if last, ok := r.ledger.reindexed[n]; ok && r.now.Sub(last) < reindexPause {
		return nil, failure{http.StatusTooManyRequests, "Token metadata can be reindexed once per hour only"}
	}
	r.ledger.reindexed[n] = r.now
	return created{}, nil
}
