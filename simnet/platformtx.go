package simnet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Blocks and balances of the P-Chain.

func (v *view) platformBlock(p blockParams) (any, error) {
	height, err := v.heightOf(v.pChain(), p.BlockID)
	if err != nil {
		return nil, err
	}
	return v.platformBlockByHeight(heightParams{uintParam(height), p.Encoding})
}

type inOut struct {
	AssetID string  `json:"assetID"`
	FxID    string  `json:"fxID"`
	Output  *output `json:"output,omitempty"`
}

type spent struct {
	TxID        string `json:"txID"`
	OutputIndex int    `json:"outputIndex"`
	AssetID     string `json:"assetID"`
	FxID        string `json:"fxID"`
	Input       struct {
		Amount  uint64 `json:"amount"`
		Indices []int  `json:"signatureIndices"`
	} `json:"input"`
}

type blockOwner struct {
	Addresses []string `json:"addresses"`
	Locktime  uint64   `json:"locktime"`
	Threshold uint32   `json:"threshold"`
}

type createSubnet struct {
	NetworkID    int        `json:"networkID"`
	BlockchainID string     `json:"blockchainID"`
	Outputs      []inOut    `json:"outputs"`
	Inputs       []spent    `json:"inputs"`
	Memo         string     `json:"memo"`
	Owner        blockOwner `json:"owner"`
}

type credential struct {
	Signatures []string `json:"signatures"`
}

type platformTx struct {
	UnsignedTx  createSubnet `json:"unsignedTx"`
	Credentials []credential `json:"credentials"`
	ID          string       `json:"id"`
}

// platformBlockByHeight puts one transaction that creates a subnet into every block; its amounts are numbers. The genesis block
// has neither time nor transactions.
func (v *view) platformBlockByHeight(p heightParams) (any, error) {
	c, height := v.pChain(), uint64(p.Height)
	if height > v.head(c).height {
		return nil, fmt.Errorf("couldn't get block at height %d: not found", height)
	}
	if p.Encoding != "json" {
		return encoded{Block: checkedHex(binary.BigEndian.AppendUint64(nil, height)), Encoding: "hex"}, nil
	}
	if height == 0 {
		return encoded{Block: struct {
			ParentID string `json:"parentID"`
			Height   uint64 `json:"height"`
			ID       string `json:"id"`
		}{v.newID("genesis"), 0, v.blockID(c, 0)}, Encoding: "json"}, nil
	}
	const before, after = 10_000_000 * avax, 10_000_000*avax - 10_278
	in := spent{TxID: v.newID("spent", height), AssetID: v.avaxAsset(), FxID: secpFx}
	in.Input.Amount, in.Input.Indices = before, []int{0}
	addresses := []string{"P-" + Owner}
	return encoded{Block: struct {
		Time     int64        `json:"time"`
		ParentID string       `json:"parentID"`
		Height   uint64       `json:"height"`
		ID       string       `json:"id"`
		Txs      []platformTx `json:"txs"`
	}{c.heads.timeOf(height).Unix(), v.blockID(c, height-1), height, v.blockID(c, height), []platformTx{{
		createSubnet{
			networkID, primaryNetworkID,
			[]inOut{{v.avaxAsset(), secpFx, &output{addresses, after, 0, 1}}},
			[]spent{in}, "0x", blockOwner{addresses, 0, 1},
		},
		[]credential{{[]string{v.hex(65, "signature", height)}}},
		v.newID("transaction", height),
	}}}, Encoding: "json"}, nil
}

// platformBalance has only AVAX, in the same outputs as the X-Chain.
func (v *view) platformBalance(p struct{ Addresses []string }) (any, error) {
	if len(p.Addresses) == 0 {
		return nil, errors.New("no addresses provided")
	}
	var sum uint64
	ids := []utxoID{}
	for _, a := range p.Addresses {
		if err := parseAddress("P", a); err != nil {
			return nil, err
		}
		s, u := v.owned(a, v.avaxAsset())
		sum, ids = sum+s, append(ids, u...)
	}
	byAsset := map[string]string{}
	if sum > 0 {
		byAsset[v.avaxAsset()] = u64(sum)
	}
	return struct {
		Balance             string            `json:"balance"`
		Unlocked            string            `json:"unlocked"`
		LockedStakeable     string            `json:"lockedStakeable"`
		LockedNotStakeable  string            `json:"lockedNotStakeable"`
		Balances            map[string]string `json:"balances"`
		Unlockeds           map[string]string `json:"unlockeds"`
		LockedStakeables    map[string]string `json:"lockedStakeables"`
		LockedNotStakeables map[string]string `json:"lockedNotStakeables"`
		UTXOIDs             []utxoID          `json:"utxoIDs"`
	}{u64(sum), u64(sum), "0", "0", byAsset, byAsset, map[string]string{}, map[string]string{}, ids}, nil
}

type createChainTx struct {
	NetworkID    int      `json:"networkID"`
	BlockchainID string   `json:"blockchainID"`
	SubnetID     string   `json:"subnetID"`
	ChainName    string   `json:"chainName"`
	VMID         string   `json:"vmID"`
	FxIDs        []string `json:"fxIDs"`
	GenesisData  string   `json:"genesisData"`
}

// platformTxByID knows the transactions that created the chains. The ID of such a transaction is that of the chain.
func (v *view) platformTxByID(p struct {
	TxID     idParam
	Encoding string
}) (any, error) {
	c := v.chain(string(p.TxID))
	if c == nil || c == v.pChain() {
		return nil, errors.New("couldn't get tx: not found")
	}
	var made struct {
		UnsignedTx createChainTx `json:"unsignedTx"`
		ID         string        `json:"id"`
	}
	made.UnsignedTx, made.ID = createChainTx{networkID, primaryNetworkID, c.subnet.id, c.name, c.vm, []string{secpFx}, ""}, c.id
	return encoded{Tx: made, Encoding: "json"}, nil
}

func (v *view) platformStakingAssetID(noParams) (any, error) {
	return struct {
		AssetID string `json:"assetID"`
	}{v.avaxAsset()}, nil
}
