package simnet

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// What the Data service knows about the validators of L1s and their balances.

// l1Change is the state of an L1 validator after a transaction.
type l1Change struct {
	ValidationID     string `json:"validationId"`
	ValidationIDHex  string `json:"validationIdHex"`
	NodeID           string `json:"nodeId"`
	SubnetID         string `json:"subnetId"`
	Weight           uint64 `json:"weight"`
	RemainingBalance uint64 `json:"remainingBalance"`
	BalanceChange    int64  `json:"balanceChange"`
}

type balanceOwner struct {
	Addresses []string `json:"addresses"`
	Threshold int      `json:"threshold"`
}

// l1Validators lists the validators of L1s: by default only active ones. A removed validator has no weight.
func (r *request) l1Validators() (any, error) {
	type item struct {
		l1Change
		BalanceChange         *int64       `json:"balanceChange,omitempty"` // has none
		CreationTimestamp     int64        `json:"creationTimestamp"`
		BLSCredentials        struct{}     `json:"blsCredentials"`
		RemainingBalanceOwner balanceOwner `json:"remainingBalanceOwner"`
		DeactivationOwner     balanceOwner `json:"deactivationOwner"`
	}
	size, ours := r.paging(10, 100), r.ours()
	inactive := r.option("includeInactiveL1Validators", "false", "true") == "true"
	accepted := r.newest(r.pChain(), r.asOf)
	list, owner := []item{}, balanceOwner{[]string{Owner}, 1}
	for _, s := range r.subnets {
		for _, v := range slices.Concat(s.l1, s.removed) {
			balance := v.balanceAt(accepted.time, r.feePrice)
			if !ours || v.start.After(accepted.time) || balance == 0 && !inactive || !r.matches("subnetId", s.id) || !r.matches("nodeId", v.member.id) ||
				!r.matches("l1ValidationId", v.validationID) {
				continue
			}
			list = append(list, item{l1Change{v.validationID, r.hex(32, v.validationID), v.member.id, s.id, v.weight, balance, 0}, nil, v.start.Unix(), struct{}{},
				owner, owner})
		}
	}
	body := struct {
		Validators  []item `json:"validators"`
		BlockHeight string `json:"blockHeight"`
		Next        string `json:"nextPageToken,omitempty"`
	}{BlockHeight: strconv.FormatUint(accepted.height, 10)}
	body.Validators, body.Next = cut(r, list, size)
	return body, nil
}

// matches reports whether an optional parameter has this value, or is absent.
func (r *request) matches(name, value string) bool {
	wanted := r.query.Get(name)
	return wanted == "" || wanted == value
}

// platformTransactions lists the transactions that changed balances of L1 validators. All are signed by Owner. Without a filter, it lists the
// newest transactions: one in each of the last blocks.
func (r *request) platformTransactions() (any, error) {
	type tx struct {
		TxHash         string        `json:"txHash"`
		TxType         string        `json:"txType"`
		BlockTimestamp int64         `json:"blockTimestamp"`
		BlockNumber    string        `json:"blockNumber"`
		BlockHash      string        `json:"blockHash"`
		Consumed       []struct{}    `json:"consumedUtxos"`
		Emitted        []struct{}    `json:"emittedUtxos"`
		Value          []assetAmount `json:"value"`
		Burned         []assetAmount `json:"amountBurned"`
		Staked         []assetAmount `json:"amountStaked"`
		Locked         []assetAmount `json:"amountL1ValidatorBalanceBurned"`
		Validators     []l1Change    `json:"l1ValidatorDetails"`
	}
	size, ours := r.paging(10, 100), r.ours()
	start, end := r.between()
	types, addresses := r.query["txTypes"], r.list("addresses")
	for _, kind := range types {
		r.oneOf("each value in txTypes", kind, primaryTxTypes...)
	}
	p := r.pChain()
	r.oneOf("blockchainId", r.values["blockchainId"], "p-chain", p.id)
	accepted, byID := r.newest(p, r.asOf).time, map[string]*tx{}
	var list []*tx
	for _, s := range r.subnets {
		for _, v := range slices.Concat(s.l1, s.removed) {
			for i, c := range v.changes {
				id := r.newID("balance", v.validationID, i)
				if c.kind == "ConvertSubnetToL1Tx" {
					id = r.conversionTx(s)
				}
				paid := len(addresses) == 0 || slices.ContainsFunc(addresses, func(a string) bool { return strings.TrimPrefix(a, "P-") == Owner })
				if !ours || !paid || c.at.After(accepted) || c.at.Unix() < start || c.at.Unix() > end || len(types) > 0 && !slices.Contains(types, c.kind) {
					continue
				}
				if byID[id] == nil {
					height := p.heads.at(c.at).height
					none := []assetAmount{}
					byID[id] = &tx{TxHash: id, TxType: c.kind, BlockTimestamp: c.at.Unix(), BlockNumber: strconv.FormatUint(height, 10), BlockHash: r.blockID(p, height),
						Consumed: []struct{}{}, Emitted: []struct{}{}, Value: none, Burned: none, Staked: none, Locked: none}
					list = append(list, byID[id])
				}
				byID[id].Validators = append(byID[id].Validators, l1Change{v.validationID, r.hex(32, v.validationID), v.member.id, s.id, c.weight, c.left, c.change})
				if c.change > 0 {
					byID[id].Locked = append(byID[id].Locked, r.assets()[0].amount(uint64(c.change)))
				}
			}
		}
	}
	if len(addresses) == 0 && r.query.Get("l1ValidationId") == "" && len(types) == 0 && ours {
		list = nil
		for height := p.heads.at(accepted).height; height > 0 && len(list) < 100; height-- {
			none := []assetAmount{}
			list = append(list, &tx{TxHash: r.newID("p transaction", height), TxType: "BaseTx", BlockTimestamp: p.heads.timeOf(height).Unix(),
				BlockNumber: strconv.FormatUint(height, 10), BlockHash: r.blockID(p, height), Consumed: []struct{}{}, Emitted: []struct{}{}, Value: none, Burned: none,
				Staked: none, Locked: none, Validators: []l1Change{}})
		}
	}
	list = slices.DeleteFunc(list, func(x *tx) bool {
		return len(x.Validators) > 0 && !slices.ContainsFunc(x.Validators, func(v l1Change) bool { return r.matches("l1ValidationId", v.ValidationID) })
	})
	slices.SortStableFunc(list, func(a, b *tx) int { return cmp.Compare(a.BlockTimestamp, b.BlockTimestamp) })
	if r.order() == "desc" {
		slices.Reverse(list)
	}
	body := struct {
		Transactions []*tx `json:"transactions"`
		ChainInfo    struct {
			ChainName string `json:"chainName"`
			Network   string `json:"network"`
		} `json:"chainInfo"`
		Next string `json:"nextPageToken,omitempty"`
	}{Transactions: []*tx{}}
	body.ChainInfo.ChainName, body.ChainInfo.Network = "p-chain", mainnet
	body.Transactions, body.Next = cut(r, append(body.Transactions, list...), size)
	return body, nil
}
