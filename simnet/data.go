package simnet

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The Data service. This file has the primary network; dataevm.go and dataicm.go have the EVM chains and the messages between
// chains.

func newData(net *Network) *Service {
	const (
		network = "/v1/networks/{network}"
		chain   = "/v1/chains/{chainId}"
		address = chain + "/addresses/{address}"
		sign    = "/v1/signatureAggregator/{network}/aggregateSignatures"
	)
	s := newService(net, "data", []route{
		{"GET", network + "/blockchains", medium, (*request).listBlockchains},
		{"GET", network + "/blockchains/{blockchainId}/assets/{assetId}/transactions", xl, (*request).assetTransactions},
		{"GET", network + "/rewards", xl, (*request).historicalRewards},
		{"GET", network + "/rewards:listPending", xl, (*request).pendingRewards},
		{"GET", network + "/l1Validators", medium, (*request).l1Validators},
		{"GET", network + "/blockchains/{blockchainId}/transactions", xl, (*request).platformTransactions},
		{"GET", network + "/subnets/{subnetId}", medium, (*request).subnetDetails},
		{"GET", chain + "/blocks/{blockId}", small, (*request).evmBlock},
		{"GET", address + "/balances:getNative", medium, (*request).nativeBalance},
		{"GET", address + "/balances:listCollectibles", medium, (*request).collectibleBalances},
		{"GET", address + "/balances:listErc721", medium, (*request).erc721Balances},
		{"GET", address + "/balances:listErc1155", medium, (*request).erc1155Balances},
		{"GET", address + "/transactions:listErc721", medium, (*request).erc721Transfers},
		{"GET", address + "/transactions:listInternals", medium, (*request).internalTransactions},
		{"GET", chain + "/contracts/{address}/deployments", medium, (*request).contractDeployments},
		{"POST", chain + "/nfts/collections/{address}/tokens/{tokenId}:reindex", small, (*request).reindex},
		{"GET", "/v1/icm/addresses/{address}/messages", medium, (*request).icmMessages},
		{"GET", "/v1/icm/messages/{messageId}", medium, (*request).icmMessage},
		{"POST", sign, medium, (*request).aggregateSignatures},
		{"GET", sign + "/{txHash}", medium, (*request).signaturesOfTx},
	})
	s.keyed = true
	return s
}

// mainnet is the name of the simulated network in the Data service. Its other networks are empty.
const mainnet = "mainnet"

// ours reports whether a request is about the simulated network.
func (r *request) ours() bool {
	name := r.values["network"]
	if name == "" {
		name = r.query.Get("network")
	}
	return name == "" || r.oneOf("network", name, mainnet, "fuji", "testnet") == mainnet
}

// order returns the sort order of a list; the default is newest first.
func (r *request) order() string { return r.option("sortOrder", "desc", "asc") }

type blockchain struct {
	CreateBlockTimestamp int64  `json:"createBlockTimestamp"`
	CreateBlockNumber    string `json:"createBlockNumber"`
	BlockchainID         string `json:"blockchainId"`
	VMID                 string `json:"vmId"`
	SubnetID             string `json:"subnetId"`
	BlockchainName       string `json:"blockchainName"`
	EVMChainID           uint64 `json:"evmChainId,omitempty"`
	GenesisData          any    `json:"genesisData,omitempty"`
}

// createdIn returns the P-Chain height at which a subnet was created; its chains were created in the next block.
func (t *truth) createdIn(s *subnet) int { return 2*slices.Index(t.subnets, s) + 1 }

func (r *request) renderBlockchain(c *chain) blockchain {
	b := blockchain{
		c.subnet.created.Unix(), "-1", c.id, c.vm, c.subnet.id, c.name, c.evmID, r.genesisData(c),
	}
	if c.name == "P" {
		b.BlockchainName = "P-Chain"
	}
	if c.isL1() {
		b.CreateBlockTimestamp += 4
		b.CreateBlockNumber = strconv.Itoa(r.createdIn(c.subnet) + 1)
	}
	return b
}

func (r *request) listBlockchains() (any, error) {
	size := r.paging(100, 10_000)
	list := []blockchain{}
	if r.ours() {
		for _, c := range r.chains {
			list = append(list, r.renderBlockchain(c))
		}
	}
	if r.order() == "desc" {
		slices.Reverse(list)
	}
	var body struct {
		Blockchains []blockchain `json:"blockchains"`
		Next        string       `json:"nextPageToken,omitempty"`
	}
	body.Blockchains, body.Next = cut(r, list, size)
	return body, nil
}

type ownership struct {
	Locktime  int      `json:"locktime"`
	Threshold int      `json:"threshold"`
	Addresses []string `json:"addresses"`
}

type managerDetails struct {
	BlockchainID    string `json:"blockchainId"`
	ContractAddress string `json:"contractAddress"`
}

// subnetDetails has the first owner in the deprecated fields.
func (r *request) subnetDetails() (any, error) {
	id, ours := r.values["subnetId"], r.ours()
	if _, err := parseCB58(id, 32); err != nil {
		r.reject("subnetId: %v", err)
	}
	i := slices.IndexFunc(r.subnets, func(s *subnet) bool { return s.id == id })
	if i < 0 || !ours {
		return nil, missing("Subnet %s not found", id)
	}
	s := r.subnets[i]
	body := struct {
		CreateBlockTimestamp int64           `json:"createBlockTimestamp"`
		CreateBlockIndex     string          `json:"createBlockIndex"`
		SubnetID             string          `json:"subnetId"`
		OwnerAddresses       []string        `json:"ownerAddresses"`
		Threshold            int             `json:"threshold"`
		Locktime             int             `json:"locktime"`
		Ownership            ownership       `json:"subnetOwnershipInfo"`
		IsL1                 bool            `json:"isL1"`
		ConversionTx         string          `json:"l1ConversionTransactionHash,omitempty"`
		Manager              *managerDetails `json:"l1ValidatorManagerDetails,omitempty"`
		Blockchains          []blockchain    `json:"blockchains"`
	}{
		s.created.Unix(), strconv.Itoa(r.createdIn(s)), s.id, noNil(s.born.addresses), s.born.threshold, 0,
		ownership{0, s.owner.threshold, noNil(s.owner.addresses)}, false, "", nil, []blockchain{},
	}
	if s.conversion != "" {
		body.IsL1, body.ConversionTx = true, r.conversionTx(s)
		body.Manager = &managerDetails{s.managerChain.id, s.manager}
	}
	for _, c := range s.chains {
		body.Blockchains = append(body.Blockchains, r.renderBlockchain(c))
	}
	return body, nil
}

func noNil(list []string) []string { return append([]string{}, list...) }

// conversionTx returns the hash of the transaction that converted a subnet to an L1.
func (t *truth) conversionTx(s *subnet) string { return t.newID("conversion of", s.id) }

// genesisData returns all existing forms: an object, a string that contains one, the bytes of another codec, or nothing.
func (r *request) genesisData(c *chain) any {
	switch {
	case c.vm == platformVM:
		return nil
	case c.vm == assetVM:
		return struct {
			Encoding string `json:"encoding"`
			Data     string `json:"data"`
		}{"hex", r.hex(200, "genesis", c.id)}
	}
	g := r.evmGenesis(c)
	if c.name != "examplepoa" {
		return g
	}
	text, err := json.Marshal(g)
	if err != nil {
		panic(fmt.Sprintf("simnet: genesis: %v", err))
	}
	return string(text)
}

func (r *request) evmGenesis(c *chain) map[string]any {
	whole, _ := r.evm(c).config(nil)
	config := map[string]any{"eip150Hash": noHash}
	for name, value := range whole.(map[string]any) {
		known := strings.HasSuffix(name, "Block") && name != "daoForkBlock"
		if known || slices.Contains(c.precompiles, name) ||
			slices.Contains([]string{"chainId", "feeConfig", "allowFeeRecipients", "subnetEVMTimestamp"}, name) {
			config[name] = value
		}
		if precompile, ok := value.(map[string]any); ok {
			delete(precompile, "initialRewardConfig")
		}
	}
	return map[string]any{
		"airdropAmount": nil,
		"airdropHash":   noHash,
		"alloc": map[string]any{
			strings.ToLower(Account[2:]):    map[string]any{"balance": "0x295be96e64066972000000"},
			strings.ToLower(theManager[2:]): map[string]any{"balance": "0x0", "code": r.hex(90, "code"), "storage": map[string]string{noHash: r.hex(32, "slot")}},
		},
		"baseFeePerGas": nil,
		"blobGasUsed":   nil,
		"coinbase":      "0x0000000000000000000000000000000000000000",
		"config":        config,
		"difficulty":    "0x0",
		"excessBlobGas": nil,
		"extraData":     "0x",
		"gasLimit":      quantity(r.evm(c).gasLimitAt(0)),
		"gasUsed":       "0x0",
		"mixHash":       noHash,
		"nonce":         "0x0",
		"number":        "0x0",
		"parentHash":    noHash,
		"timestamp":     quantity(uint64(r.genesis.Unix())),
	}
}

// money is an amount in a currency. The value is a number, although the documentation shows a string.
type money struct {
	CurrencyCode string  `json:"currencyCode"`
	Value        float64 `json:"value"`
}

// currency returns the requested currency of prices.
func (r *request) currency() string {
	return r.option("currency", "usd", "eur", "aud", "cad", "chf", "clp", "cny", "czk", "dkk", "gbp", "hkd", "huf", "jpy", "nzd")
}

// worth returns the value of an amount of AVAX at the price of a day.
func (r *request) worth(amount float64, at time.Time, currency string) *money {
	return &money{currency, math.Round(100*amount*r.price(at)*currencies[currency]) / 100}
}

// assetAmount is an amount of an asset of the X-Chain or the P-Chain.
type assetAmount struct {
	AssetID         string `json:"assetId"`
	Name            string `json:"name"`
	Symbol          string `json:"symbol"`
	Denomination    int    `json:"denomination"`
	Type            string `json:"type"`
	Amount          string `json:"amount"`
	HistoricalPrice *money `json:"historicalPrice,omitempty"`
}

func (a asset) amount(n uint64) assetAmount {
	return assetAmount{a.id, a.name, a.symbol, a.denomination, "secp256k1", u64(n), nil}
}

type historicalReward struct {
	Addresses      []string    `json:"addresses"`
	TxHash         string      `json:"txHash"`
	AmountStaked   string      `json:"amountStaked"`
	NodeID         string      `json:"nodeId"`
	StartTimestamp int64       `json:"startTimestamp"`
	EndTimestamp   int64       `json:"endTimestamp"`
	RewardType     string      `json:"rewardType"`
	UTXOID         string      `json:"utxoId"`
	OutputIndex    int         `json:"outputIndex"`
	Reward         assetAmount `json:"reward"`
	RewardTxHash   string      `json:"rewardTxHash"`
}

// historicalRewards has prices only for rewards older than a day.
func (r *request) historicalRewards() (any, error) {
	size, currency, ours, order := r.paging(10, 100), r.currency(), r.ours(), r.order()
	selected, err := r.rewardsOf()
	if err != nil {
		return nil, err
	}
	accepted := r.newest(r.pChain(), r.asOf).time
	var list []reward
	for _, w := range r.ledger.rewards {
		if ours && !w.end.After(accepted) && selected(w) {
			list = append(list, w)
		}
	}
	slices.SortStableFunc(list, r.compare)
	if order == "desc" && r.ledger.rewardOrder != RewardsUnordered {
		slices.Reverse(list)
	}
	body := struct {
		Rewards []historicalReward `json:"historicalRewards"`
		Next    string             `json:"nextPageToken,omitempty"`
	}{Rewards: []historicalReward{}}
	list, body.Next = cut(r, list, size)
	for _, w := range list {
		amount := r.assets()[0].amount(w.amount)
		if r.now.Sub(w.end) > day {
			amount.HistoricalPrice = r.worth(1, w.end, currency)
		}
		body.Rewards = append(body.Rewards, historicalReward{
			[]string{w.owner}, w.tx, u64(w.staked), w.member.id, w.start.Unix(), w.end.Unix(), w.kind,
			r.newID("reward output", w.tx, w.kind, w.end.Unix()), int(w.output()), amount, r.paidBy(w),
		})
	}
	return body, nil
}

type pendingReward struct {
	Addresses       []string    `json:"addresses"`
	TxHash          string      `json:"txHash"`
	AmountStaked    string      `json:"amountStaked"`
	NodeID          string      `json:"nodeId"`
	StartTimestamp  int64       `json:"startTimestamp"`
	EndTimestamp    int64       `json:"endTimestamp"`
	RewardType      string      `json:"rewardType"`
	Progress        float64     `json:"progress"` // percent of the period
	EstimatedReward assetAmount `json:"estimatedReward"`
}

// pendingRewards lists the validations and delegations that have not ended, and those whose end the service has not indexed yet.
func (r *request) pendingRewards() (any, error) {
	size, ours := r.paging(10, 100), r.ours()
	selected, err := r.rewardsOf()
	if err != nil {
		return nil, err
	}
	var list []reward
	for _, v := range r.primary.stakers {
		list = append(list, reward{kind: validatorReward, member: v.member, tx: v.txID, start: v.start, end: v.end, staked: v.weight, amount: v.reward, owner: Owner})
		for _, d := range v.delegators {
			list = append(list, reward{kind: delegatorReward, member: v.member, tx: d.txID, start: d.start, end: d.end, staked: d.weight, amount: v.net(d),
				owner: d.owner})
		}
	}
	accepted := r.newest(r.pChain(), r.now).time
	for _, w := range r.ledger.rewards {
		if w.end.After(accepted) && w.kind != feeReward {
			list = append(list, w)
		}
	}
	list = slices.DeleteFunc(list, func(w reward) bool { return !ours || !selected(w) })
	body := struct {
		Rewards []pendingReward `json:"pendingRewards"`
		Next    string          `json:"nextPageToken,omitempty"`
	}{Rewards: []pendingReward{}}
	list, body.Next = cut(r, list, size)
	for _, w := range list {
		body.Rewards = append(body.Rewards, pendingReward{
			[]string{w.owner}, w.tx, u64(w.staked), w.member.id, w.start.Unix(), w.end.Unix(), w.kind,
			min(100, 100*r.now.Sub(w.start).Seconds()/w.end.Sub(w.start).Seconds()), r.assets()[0].amount(w.amount),
		})
	}
	return body, nil
}

// rewardsOf returns whether a reward belongs to the requested nodes and addresses.
func (r *request) rewardsOf() (func(reward) bool, error) {
	addresses, nodes := r.list("addresses"), r.list("nodeIds")
	for _, id := range nodes {
		if text, ok := strings.CutPrefix(id, "NodeID-"); !ok {
			r.reject("nodeIds: %q does not begin with NodeID-", id)
		} else if _, err := parseCB58(text, 20); err != nil {
			r.reject("nodeIds: %q: %v", id, err)
		}
	}
	for i, a := range addresses {
		a = strings.TrimPrefix(strings.TrimPrefix(a, "P-"), "X-")
		if prefix, _, ok := strings.Cut(a, "1"); !ok || prefix == "" || strings.HasPrefix(a, "0x") {
			r.reject("addresses: %q is no address of the P-Chain or the X-Chain", a)
		}
		addresses[i] = a
	}
	if len(addresses) == 0 && len(nodes) == 0 {
		return nil, failure{http.StatusBadRequest, "At least one of addresses or nodeIds is required"}
	}
	return func(w reward) bool {
		return (len(nodes) == 0 || slices.Contains(nodes, w.member.id)) && (len(addresses) == 0 || slices.Contains(addresses, w.owner))
	}, nil
}

// list returns a parameter with comma-separated values.
func (r *request) list(name string) []string {
	if r.query.Get(name) == "" {
		return nil
	}
	return strings.Split(r.query.Get(name), ",")
}

// xTx is a transaction of the X-Chain that moves or creates an asset.
type xTx struct {
	id, kind string
	at       time.Time
	height   uint64 // of its block; 0 for a transaction from before blocks existed
	amount   uint64
}

// xTxs returns the transactions of an asset, newest first: two from the time of vertices, then one in every block, every third
// of which is of the asset that is not AVAX.
func (r *request) xTxs(a asset) []xTx {
	list := []xTx{
		{a.id, "CreateAssetTx", r.genesis, 0, 250_000},
		{r.newID("x transaction", a.id), "BaseTx", r.genesis.Add(time.Hour), 0, 5_000},
	}
	x := r.mustChain("X")
	for h := range r.newest(x, r.asOf).height {
		h++
		kind := "BaseTx"
		switch {
		case a.id == r.avaxAsset() && h%5 == 0:
			kind = "ImportTx"
		case a.id == r.avaxAsset() && h%5 == 1:
			kind = "ExportTx"
		case a.id != r.avaxAsset() && h%3 != 0:
			continue
		}
		list = append(list, xTx{r.newID("x transaction", h), kind, x.heads.timeOf(h), h, 1_000 * h})
	}
	slices.Reverse(list)
	return list
}

var xTxTypes = []string{"BaseTx", "CreateAssetTx", "OperationTx", "ImportTx", "ExportTx", "UNKNOWN"}

// primaryTxTypes are the valid transaction types of a filter.
var primaryTxTypes = append([]string{
	"AddValidatorTx", "AddSubnetValidatorTx", "AddDelegatorTx", "CreateChainTx", "CreateSubnetTx", "AdvanceTimeTx",
	"RewardValidatorTx", "RemoveSubnetValidatorTx", "TransformSubnetTx", "AddPermissionlessValidatorTx",
	"AddPermissionlessDelegatorTx", "TransferSubnetOwnershipTx", "ConvertSubnetToL1Tx", "RegisterL1ValidatorTx",
	"SetL1ValidatorWeightTx", "DisableL1ValidatorTx", "IncreaseL1ValidatorBalanceTx",
}, xTxTypes...)

func (r *request) assetTransactions() (any, error) {
	size, ours := r.paging(10, 100), r.ours()
	start, end := r.between()
	types := r.query["txTypes"]
	for _, t := range types {
		r.oneOf("each value in txTypes", t, primaryTxTypes...)
	}
	x := r.mustChain("X")
	r.oneOf("blockchainId", r.values["blockchainId"], "x-chain", x.id)
	a, err := r.asset(r.values["assetId"])
	if err != nil || a.id != r.values["assetId"] || !ours {
		return nil, missing("Asset %s not found", r.values["assetId"])
	}
	list := slices.DeleteFunc(r.xTxs(a), func(t xTx) bool {
		return t.at.Unix() < start || t.at.Unix() > end || len(types) > 0 && !slices.Contains(types, t.kind)
	})
	body := struct {
		Transactions []map[string]any `json:"transactions"`
		ChainInfo    struct {
			ChainName string `json:"chainName"`
			Network   string `json:"network"`
		} `json:"chainInfo"`
		Next string `json:"nextPageToken,omitempty"`
	}{Transactions: []map[string]any{}}
	body.ChainInfo.ChainName, body.ChainInfo.Network = "x-chain", mainnet
	list, body.Next = cut(r, list, size)
	for _, t := range list {
		body.Transactions = append(body.Transactions, r.renderXTx(a, t))
	}
	return body, nil
}

type xOutput struct {
	Addresses            []string     `json:"addresses"`
	Asset                assetAmount  `json:"asset"`
	ConsumedOnChainID    string       `json:"consumedOnChainId"`
	ConsumingTxHash      string       `json:"consumingTxHash,omitempty"`
	CreatedOnChainID     string       `json:"createdOnChainId"`
	UTXOID               string       `json:"utxoId"`
	UTXOBytes            string       `json:"utxoBytes"`
	ConsumingTxTimestamp int64        `json:"consumingTxTimestamp,omitempty"`
	CreationTxHash       string       `json:"creationTxHash"`
	Credentials          []xSignature `json:"credentials,omitempty"`
	Locktime             int          `json:"locktime"`
	OutputIndex          string       `json:"outputIndex"`
	Threshold            int          `json:"threshold"`
	Timestamp            int64        `json:"timestamp"`
	UTXOType             string       `json:"utxoType"`
}

type xSignature struct {
	Signature string `json:"signature"`
	PublicKey string `json:"publicKey"`
}

// renderXTx renders a transaction that moves one output of the owner to a new one.
func (r *request) renderXTx(a asset, t xTx) map[string]any {
	x := r.mustChain("X").id
	output := func(tx string, index uint32, at time.Time) xOutput {
		u := utxo{r.newID("output", tx, index), tx, index, a.id, t.amount}
		return xOutput{
			Addresses: []string{Owner}, Asset: a.amount(t.amount), ConsumedOnChainID: x, CreatedOnChainID: x, UTXOID: u.id,
			UTXOBytes: u.hex(), CreationTxHash: tx, OutputIndex: strconv.Itoa(int(index)), Threshold: 1,
			Timestamp: at.Unix(), UTXOType: "transfer",
		}
	}
	created := output(t.id, 0, t.at)
	consumed := []xOutput{}
	tx := map[string]any{
		"txHash":         t.id,
		"timestamp":      t.at.Unix(),
		"txType":         t.kind,
		"memo":           "0x",
		"amountUnlocked": []assetAmount{},
		"amountCreated":  []assetAmount{a.amount(t.amount)},
	}
	switch t.kind {
	case "CreateAssetTx":
		created.UTXOType = "mint"
		tx["memo"] = "0x" + hex.EncodeToString([]byte(a.name))
		tx["assetCreated"] = struct {
			assetAmount
			Amount    *string `json:"amount,omitempty"` // has none
			CreatedAt int64   `json:"createdAtTimestamp"`
			Cap       string  `json:"cap"`
		}{a.amount(0), nil, t.at.Unix(), "fixed"}
	default:
		from := output(r.newID("spent by", t.id), 1, t.at.Add(-time.Hour))
		from.ConsumingTxHash, from.ConsumingTxTimestamp = t.id, t.at.Unix()
		from.Credentials = []xSignature{{r.hex(65, "signature", t.id)[2:], r.hex(33, "key")[2:]}}
		consumed = append(consumed, from)
		tx["amountUnlocked"] = []assetAmount{from.Asset}
	}
	switch t.kind {
	case "ImportTx":
		tx["sourceChain"], consumed[0].CreatedOnChainID = r.mustChain("C").id, r.mustChain("C").id
	case "ExportTx":
		tx["destinationChain"], created.ConsumedOnChainID = primaryNetworkID, primaryNetworkID
	}
	tx["consumedUtxos"], tx["emittedUtxos"] = consumed, []xOutput{created}
	if t.height > 0 {
		tx["chainFormat"], tx["blockHeight"], tx["blockHash"] = "linear", t.height, r.blockID(r.mustChain("X"), t.height)
		return tx
	}
	tx["chainFormat"] = "non-linear"
	tx["vertices"] = []any{map[string]any{"hash": r.newID("vertex", t.id), "height": 1_961, "timestamp": t.at.Unix()}}
	return tx
}
