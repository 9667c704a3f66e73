package simnet

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var avmService = service{"avm", map[string]method{
	"getAllBalances":      on((*view).avmAllBalances),
	"getAssetDescription": on((*view).avmAssetDescription),
	"getBalance":          on((*view).avmBalance),
	"getBlock":            on((*view).avmBlock),
	"getBlockByHeight":    on((*view).avmBlockByHeight),
	"getHeight":           on((*view).avmHeight),
	"getTx":               on((*view).avmTx),
	"getTxFee":            on((*view).avmTxFee),
	"getTxStatus":         on((*view).avmTxStatus),
	"getUTXOs":            on((*view).avmUTXOs),
}}

const (
	xTxFee = "1000000" // nAVAX
	secpFx = "spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ"
	// ownerHex is Owner as 20 bytes in hex.
	ownerHex = "3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c"
)

// asset is an asset of the X-Chain. Its ID is that of the transaction that created it.
type asset struct {
	id, name, symbol string
	denomination     int
}

func (t *truth) avaxAsset() string { return t.newID("asset", "AVAX") }

func (t *truth) assets() []asset {
	return []asset{
		{t.avaxAsset(), "Avalanche", "AVAX", 9},
		{t.newID("asset", "EXM"), "Example", "EXM", 2},
	}
}

// asset finds an asset by its ID; AVAX has an alias.
func (t *truth) asset(id string) (asset, error) {
	for i, a := range t.assets() {
		if a.id == id || i == 0 && id == a.symbol {
			return a, nil
		}
	}
	return asset{}, fmt.Errorf("asset '%s' not found", id)
}

// utxo is an unspent output of the owner.
type utxo struct {
	id, tx string
	index  uint32
	asset  string
	amount uint64
}

// utxos returns the outputs of Owner, sorted by ID: 1,000 AVAX each, and one of the other asset.
func (t *truth) utxos() []utxo {
	assets := t.assets()
	list := []utxo{{asset: assets[1].id, amount: 250_000}}
	for range t.avaxUTXOs {
		list = append(list, utxo{asset: assets[0].id, amount: 1_000 * avax})
	}
	for i := range list {
		list[i].index = uint32(i % 2)
		list[i].tx = t.newID("utxo", i/2)
		list[i].id = t.newID("output", i)
	}
	slices.SortFunc(list, func(a, b utxo) int { return strings.Compare(a.id, b.id) })
	return list
}

type utxoID struct {
	TxID        string `json:"txID"`
	OutputIndex uint32 `json:"outputIndex"`
}

func parseAddress(chain, address string) error {
	if !strings.HasPrefix(address, chain+"-custom1") {
		return fmt.Errorf("couldn't parse address %q: no separator found in address", address)
	}
	return nil
}

func (v *view) avmHeight(noParams) (any, error) {
	return heightResult{u64(v.head(v.mustChain("X")).height)}, nil
}

func (v *view) avmTxFee(noParams) (any, error) {
	return struct {
		TxFee            string `json:"txFee"`
		CreateAssetTxFee string `json:"createAssetTxFee"`
	}{xTxFee, xTxFee}, nil
}

func (v *view) avmAssetDescription(p struct{ AssetID string }) (any, error) {
	a, err := v.asset(p.AssetID)
	if err != nil {
		return nil, err
	}
	return struct {
		AssetID      string `json:"assetID"`
		Name         string `json:"name"`
		Symbol       string `json:"symbol"`
		Denomination string `json:"denomination"`
	}{a.id, a.name, a.symbol, strconv.Itoa(a.denomination)}, nil
}

// owned returns the sum and the IDs of an address's outputs of an asset.
func (v *view) owned(address, asset string) (sum uint64, ids []utxoID) {
	ids = []utxoID{}
	if strings.TrimLeft(address, "XP-") != Owner {
		return 0, ids
	}
	for _, u := range v.utxos() {
		if u.asset == asset {
			sum += u.amount
			ids = append(ids, utxoID{u.tx, u.index})
		}
	}
	return sum, ids
}

func (v *view) avmBalance(p struct{ Address, AssetID string }) (any, error) {
	if err := parseAddress("X", p.Address); err != nil {
		return nil, err
	}
	a, err := v.asset(p.AssetID)
	if err != nil {
		return nil, err
	}
	sum, ids := v.owned(p.Address, a.id)
	return struct {
		Balance string   `json:"balance"`
		UTXOIDs []utxoID `json:"utxoIDs"`
	}{u64(sum), ids}, nil
}

func (v *view) avmAllBalances(p struct{ Address string }) (any, error) {
	if err := parseAddress("X", p.Address); err != nil {
		return nil, err
	}
	type item struct {
		Asset   string `json:"asset"`
		Balance string `json:"balance"`
	}
	list := []item{}
	for i, a := range v.assets() {
		if sum, _ := v.owned(p.Address, a.id); sum > 0 {
			name := a.id
			if i == 0 {
				name = a.symbol
			}
			list = append(list, item{name, u64(sum)})
		}
	}
	return struct {
		Balances []item `json:"balances"`
	}{list}, nil
}

type utxoIndex struct {
	Address string `json:"address"`
	UTXO    string `json:"utxo"`
}

// maxUTXOs is the maximum page size.
const maxUTXOs = 1024

type utxoParams struct {
	Addresses   []string
	SourceChain string
	Limit       uintParam
	StartIndex  utxoIndex
}

func (v *view) avmUTXOs(p utxoParams) (any, error)      { return v.utxoPage("X", p) }
func (v *view) platformUTXOs(p utxoParams) (any, error) { return v.utxoPage("P", p) }

// utxoPage returns a page of the outputs of addresses. None was exported from another chain.
func (v *view) utxoPage(chain string, p utxoParams) (any, error) {
	if len(p.Addresses) == 0 {
		return nil, errors.New("no addresses provided")
	}
	for _, a := range p.Addresses {
		if err := parseAddress(chain, a); err != nil {
			return nil, err
		}
	}
	limit := maxUTXOs
	if p.Limit > 0 && p.Limit < maxUTXOs {
		limit = int(p.Limit)
	}
	end := utxoIndex{p.Addresses[0], primaryNetworkID}
	list := []string{}
	if slices.Contains(p.Addresses, chain+"-"+Owner) && p.SourceChain == "" {
		end.Address = chain + "-" + Owner
		for _, u := range v.utxos() {
			if chain == "P" && u.asset != v.avaxAsset() {
				continue
			}
			if len(list) < limit && u.id > p.StartIndex.UTXO {
				list = append(list, u.hex())
				end.UTXO = u.id
			}
		}
		if len(list) == 0 && p.StartIndex.UTXO != "" {
			end.UTXO = p.StartIndex.UTXO
		}
	}
	return struct {
		NumFetched string    `json:"numFetched"`
		UTXOs      []string  `json:"utxos"`
		EndIndex   utxoIndex `json:"endIndex"`
		Encoding   string    `json:"encoding"`
	}{strconv.Itoa(len(list)), list, end, "hex"}, nil
}

// hex returns the output in the codec of the X-Chain: version, transaction, index, asset, type, amount, locktime, threshold,
// number of addresses, address.
func (u utxo) hex() string {
	id := func(s string) []byte {
		b, err := parseCB58(s, 32)
		if err != nil {
			panic(fmt.Sprintf("simnet: %q: %v", s, err))
		}
		return b
	}
	owner, err := hex.DecodeString(ownerHex)
	if err != nil {
		panic(fmt.Sprintf("simnet: %v", err))
	}
	b := append([]byte{0, 0}, id(u.tx)...)
	b = binary.BigEndian.AppendUint32(b, u.index)
	b = append(b, id(u.asset)...)
	b = binary.BigEndian.AppendUint32(b, 7)
	b = binary.BigEndian.AppendUint64(b, u.amount)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, 1)
	return checkedHex(append(b, owner...))
}

// checkedHex returns the node's hex encoding, with its checksum.
func checkedHex(b []byte) string {
	sum := sha256.Sum256(b)
	return "0x" + hex.EncodeToString(append(b, sum[28:]...))
}

func (v *view) avmTxStatus(p struct{ TxID idParam }) (any, error) {
	status := "Unknown"
	if _, err := v.asset(string(p.TxID)); err == nil {
		status = "Accepted"
	}
	for _, u := range v.utxos() {
		if u.tx == string(p.TxID) {
			status = "Accepted"
		}
	}
	return struct {
		Status string `json:"status"`
	}{status}, nil
}

type encoded struct {
	Block    any    `json:"block,omitempty"`
	Tx       any    `json:"tx,omitempty"`
	Encoding string `json:"encoding"`
}

type output struct {
	Addresses []string `json:"addresses"`
	Amount    uint64   `json:"amount"`
	Locktime  uint64   `json:"locktime"`
	Threshold uint32   `json:"threshold"`
}

// avmTx returns the transactions that created the assets.
func (v *view) avmTx(p struct {
	TxID     idParam
	Encoding string
}) (any, error) {
	a, err := v.asset(string(p.TxID))
	if err != nil {
		return nil, errNotFound
	}
	if p.Encoding != "json" {
		return encoded{Tx: checkedHex([]byte("transaction of " + a.name)), Encoding: "hex"}, nil
	}
	type state struct {
		FxIndex int      `json:"fxIndex"`
		FxID    string   `json:"fxID"`
		Outputs []output `json:"outputs"`
	}
	type create struct {
		NetworkID     int     `json:"networkID"`
		BlockchainID  string  `json:"blockchainID"`
		Outputs       []any   `json:"outputs"`
		Inputs        []any   `json:"inputs"`
		Memo          string  `json:"memo"`
		Name          string  `json:"name"`
		Symbol        string  `json:"symbol"`
		Denomination  int     `json:"denomination"`
		InitialStates []state `json:"initialStates"`
	}
	amount, _ := v.owned(Owner, a.id)
	return encoded{Tx: struct {
		UnsignedTx  create `json:"unsignedTx"`
		Credentials []any  `json:"credentials"`
		ID          string `json:"id"`
	}{
		create{
			networkID, primaryNetworkID, []any{}, []any{}, "0x", a.name, a.symbol, a.denomination,
			[]state{{0, secpFx, []output{{[]string{"X-" + Owner}, amount, 0, 1}}}},
		},
		[]any{}, a.id,
	}, Encoding: "json"}, nil
}

type heightParams struct {
	Height   uintParam
	Encoding string
}

type blockParams struct {
	BlockID  idParam
	Encoding string
}

func (t *truth) blockID(c *chain, height uint64) string { return t.newID("block", c.id, height) }

// searchedBlocks is the number of recent blocks that are found by ID.
const searchedBlocks = 2_000

// heightOf returns the height of a block by its ID.
func (v *view) heightOf(c *chain, id idParam) (uint64, error) {
	head := v.head(c).height
	for i := range min(head+1, searchedBlocks) {
		if v.blockID(c, head-i) == string(id) {
			return head - i, nil
		}
	}
	if v.blockID(c, 0) == string(id) {
		return 0, nil
	}
	return 0, fmt.Errorf("couldn't get block with id %s: not found", id)
}

func (v *view) avmBlock(p blockParams) (any, error) {
	height, err := v.heightOf(v.mustChain("X"), p.BlockID)
	if err != nil {
		return nil, err
	}
	return v.avmBlockByHeight(heightParams{uintParam(height), p.Encoding})
}

func (v *view) avmBlockByHeight(p heightParams) (any, error) {
	x, height := v.mustChain("X"), uint64(p.Height)
	if height > v.head(x).height {
		return nil, fmt.Errorf("couldn't get block at height %d: not found", height)
	}
	if p.Encoding != "json" {
		return encoded{Block: checkedHex(binary.BigEndian.AppendUint64(nil, height)), Encoding: "hex"}, nil
	}
	return encoded{Block: struct {
		ParentID   string `json:"parentID"`
		Height     uint64 `json:"height"`
		Time       int64  `json:"time"`
		MerkleRoot string `json:"merkleRoot"`
		Txs        []any  `json:"txs"`
		ID         string `json:"id"`
	}{v.blockID(x, height-1), height, x.heads.timeOf(height).Unix(), primaryNetworkID, []any{}, v.blockID(x, height)}, Encoding: "json"}, nil
}
