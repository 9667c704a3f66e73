package simnet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The JSON-RPC variant of EVM chains: parameters are a list, errors have no data, batches work, and a GET gets an empty answer.

type evmMethod struct {
	required, optional int
	answer             func(e evm, args []json.RawMessage) (any, error)
	only               evmKind
}

type evmKind int

const (
	anyEVM evmKind = iota
	onL1           // Subnet-EVM only
	onC            // C-Chain only
)

// evm is the view of one EVM chain.
type evm struct {
	*view
	chain *chain
}

// evmError is an error with its own code.
type evmError struct {
	code int
	text string
}

func (e evmError) Error() string { return e.text }

var evmMethods = map[string]evmMethod{
	"eth_baseFee":          {answer: evm.baseFee},
	"eth_blockNumber":      {answer: evm.blockNumber},
	"eth_chainId":          {answer: evm.chainID},
	"eth_feeConfig":        {answer: evm.feeConfig, optional: 1, only: onL1},
	"eth_getBalance":       {answer: evm.balance, required: 2},
	"eth_getBlockByHash":   {answer: evm.blockByHash, required: 2},
	"eth_getBlockByNumber": {answer: evm.blockByNumber, required: 2},
	"eth_getBlockReceipts": {answer: evm.receipts, required: 1},
	"eth_getLogs":          {answer: evm.logs, required: 1},

	"eth_getActivePrecompilesAt": {answer: evm.activePrecompiles, optional: 1, only: onL1},
	"eth_getActiveRulesAt":       {answer: evm.activeRules, optional: 1, only: onL1},
	"eth_getChainConfig":         {answer: evm.config},
	"txpool_status":              {answer: evm.poolStatus, only: onC},
}

type evmSuccess struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
}

type evmFailure struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   evmErrorBody    `json:"error"`
}

type evmErrorBody struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func evmFail(id json.RawMessage, err error) evmFailure {
	body := evmErrorBody{-32000, err.Error()}
	var coded evmError
	if errors.As(err, &coded) {
		body.Code = coded.code
	}
	return evmFailure{"2.0", id, body}
}

// evmReply answers a request to the RPC endpoint of a chain.
func (v *view) evmReply(q *query, c *chain) reply {
	switch {
	case q.Method == http.MethodGet && len(q.body) == 0:
		return newReply(http.StatusOK, "", nil)
	case q.Method != http.MethodPost:
		return textReply(http.StatusMethodNotAllowed, "method not allowed")
	case mediaType(q.Request) != "application/json":
		return textReply(http.StatusUnsupportedMediaType, "invalid content type, only application/json is supported")
	}
	e := evm{v, c}
	var body []byte
	var batch []json.RawMessage
	switch {
	case json.Unmarshal(q.body, &batch) == nil:
		answers := []any{}
		for _, one := range batch {
			if a := e.call(one); a != nil {
				answers = append(answers, a)
			}
		}
		body = encode(answers)
	case !json.Valid(q.body):
		body = bytes.TrimSpace(encode(evmFailure{"2.0", nil, evmErrorBody{-32700, "parse error"}}))
	default:
		if a := e.call(q.body); a != nil {
			body = encode(a)
		}
	}
	return newReply(http.StatusOK, "application/json", body)
}

// call answers one request; nil for a notification.
func (e evm) call(body []byte) any {
	var r rpcRequest
	if json.Unmarshal(body, &r) != nil || r.Version != "2.0" || r.Method == "" {
		return evmFailure{"2.0", r.ID, evmErrorBody{-32600, "invalid request"}}
	}
	if r.ID == nil {
		return nil
	}
	m, ok := evmMethods[r.Method]
	if !ok || m.only == onL1 && !e.chain.isL1() || m.only == onC && e.chain.isL1() {
		return evmFail(r.ID, evmError{-32601, fmt.Sprintf("the method %s does not exist/is not available", r.Method)})
	}
	args, err := m.args(r.Params)
	if err != nil {
		return evmFail(r.ID, err)
	}
	result, err := m.answer(e, args)
	if err != nil {
		return evmFail(r.ID, err)
	}
	return evmSuccess{"2.0", r.ID, result}
}

// args returns as many arguments as the method has; missing ones are nil.
func (m evmMethod) args(params json.RawMessage) ([]json.RawMessage, error) {
	var args []json.RawMessage
	if params != nil && json.Unmarshal(params, &args) != nil {
		return nil, evmError{-32602, "non-array args"}
	}
	if want := m.required + m.optional; len(args) > want {
		return nil, evmError{-32602, fmt.Sprintf("too many arguments, want at most %d", want)}
	}
	if len(args) < m.required {
		return nil, evmError{-32602, fmt.Sprintf("missing value for required argument %d", len(args))}
	}
	return append(args, make([]json.RawMessage, m.required+m.optional-len(args))...), nil
}

// argument decodes an argument and reports whether it is present.
func argument(args []json.RawMessage, i int, into any) (bool, error) {
	if args[i] == nil || string(args[i]) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(args[i], into); err != nil {
		return false, evmError{-32602, fmt.Sprintf("invalid argument %d: %v", i, err)}
	}
	return true, nil
}

func quantity(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

func (e evm) chainID([]json.RawMessage) (any, error) { return quantity(e.chain.evmID), nil }
func (e evm) blockNumber([]json.RawMessage) (any, error) {
	return quantity(e.head(e.chain).height), nil
}
func (e evm) baseFee([]json.RawMessage) (any, error) {
	return quantity(e.baseFeeAt(e.head(e.chain).height)), nil
}

func (e evm) tip() uint64 {
	if e.chain.isL1() {
		return 1_000_000_000
	}
	return 150
}

func (e evm) poolStatus([]json.RawMessage) (any, error) {
	return map[string]string{"pending": quantity(e.chain.pending), "queued": "0x0"}, nil
}

// FeeConfig is the fee configuration of a Subnet-EVM chain. Fees are in wei, the rate is in seconds.
type FeeConfig struct {
	GasLimit                 uint64 `json:"gasLimit"`
	TargetBlockRate          uint64 `json:"targetBlockRate"`
	MinBaseFee               uint64 `json:"minBaseFee"`
	TargetGas                uint64 `json:"targetGas"`
	BaseFeeChangeDenominator uint64 `json:"baseFeeChangeDenominator"`
	MinBlockGasCost          uint64 `json:"minBlockGasCost"`
	MaxBlockGasCost          uint64 `json:"maxBlockGasCost"`
	BlockGasCostStep         uint64 `json:"blockGasCostStep"`
}

// feeChange is a fee configuration and the block that set it; 0 for the genesis.
type feeChange struct {
	block  uint64
	config FeeConfig
}

// feesAt returns the fee configuration of a block.
func (c *chain) feesAt(height uint64) feeChange {
	for i := len(c.fees) - 1; i > 0; i-- {
		if c.fees[i].block <= height {
			return c.fees[i]
		}
	}
	return c.fees[0]
}

func (e evm) baseFeeAt(height uint64) uint64 {
	if e.chain.isL1() {
		return e.chain.feesAt(height).config.MinBaseFee
	}
	return 1
}

func (e evm) feeConfig(args []json.RawMessage) (any, error) {
	height := e.head(e.chain).height
	var block string
	given, err := argument(args, 0, &block)
	if err != nil {
		return nil, err
	}
	if given {
		if len(block) == len(noHash) {
			var known bool
			if height, known = e.heightOfHash(block); !known {
				return nil, errors.New("header for hash not found")
			}
		} else if height, err = e.height(block); err != nil {
			return nil, err
		}
	}
	fees := e.chain.feesAt(height)
	return struct {
		FeeConfig     FeeConfig `json:"feeConfig"`
		LastChangedAt uint64    `json:"lastChangedAt"`
	}{fees.config, fees.block}, nil
}

var errUnfinalized = errors.New("cannot query unfinalized data")

// errFuture stands for the C-Chain's null answer for a future block.
var errFuture = errors.New("no such block yet")

// height parses a block number or tag.
func (e evm) height(block string) (uint64, error) {
	head := e.head(e.chain).height
	switch block {
	case "latest", "pending":
		return head, nil
	case "safe", "finalized":
		if !e.chain.isL1() && head >= 2 {
			return head - 2, nil // the C-Chain settles two blocks behind its head
		}
		return head, nil
	case "earliest":
		return 0, nil
	case "accepted":
		if e.chain.isL1() {
			return head, nil
		}
	}
	digits, ok := strings.CutPrefix(block, "0x")
	if !ok {
		return 0, evmError{-32602, "invalid argument 0: hex string without 0x prefix"}
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	switch {
	case err != nil:
		return 0, evmError{-32602, "invalid argument 0: invalid hex string"}
	case n > head && e.chain.isL1():
		return 0, errUnfinalized
	case n > head:
		return 0, errFuture
	}
	return n, nil
}

// blockOf returns the block that an argument names, and its height. The error is errFuture if there is no such block yet.
func (e evm) blockOf(args []json.RawMessage, at int) (block string, height uint64, err error) {
	if _, err = argument(args, at, &block); err == nil {
		height, err = e.height(block)
	}
	return block, height, err
}

// blockByNumber answers null for a future block of the C-Chain.
func (e evm) blockByNumber(args []json.RawMessage) (any, error) {
	var full bool
	if _, err := argument(args, 1, &full); err != nil {
		return nil, err
	}
	block, height, err := e.blockOf(args, 0)
	if errors.Is(err, errFuture) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, kept := e.since(); 0 < height && height < kept {
		return nil, nil
	}
	b := e.block(height, full)
	if block == "pending" && !e.chain.isL1() {
		b["hash"], b["miner"], b["nonce"] = nil, nil, nil
	}
	return b, nil
}

// heightOfHash returns a block by its hash, among the last searchedBlocks.
func (e evm) heightOfHash(hash string) (height uint64, known bool) {
	head := e.head(e.chain).height
	for i := range min(head+1, searchedBlocks) {
		if e.blockHash(head-i) == hash {
			return head - i, true
		}
	}
	return 0, false
}

// blockByHash answers null for an unknown block.
func (e evm) blockByHash(args []json.RawMessage) (any, error) {
	var hash string
	var full bool
	if _, err := argument(args, 0, &hash); err != nil {
		return nil, err
	}
	if _, err := argument(args, 1, &full); err != nil {
		return nil, err
	}
	height, known := e.heightOfHash(hash)
	if !known {
		return nil, nil
	}
	return e.block(height, full), nil
}

// blockHash differs from the network's hash on a forked node.
func (e evm) blockHash(height uint64) string {
	if from, ok := e.node.forked[e.chain]; ok && height >= from {
		return e.hex(32, "block", e.chain.id, height, "fork of", e.me.id)
	}
	return e.hex(32, "block", e.chain.id, height)
}

const (
	noHash     = "0x0000000000000000000000000000000000000000000000000000000000000000"
	emptyRoot  = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"
	emptyUncle = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"
	evmAccount = "0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"
	transfer   = 21_000 // gas

	minDelayExcess = 7_970_124
)

// transactionsIn returns the number of transactions in a block.
func (t *truth) transactionsIn(c *chain, height uint64) int {
	if height == 0 {
		return 0
	}
	return 1 + int(5*t.chance("transactions", c.id, height))
}

func (e evm) gasLimitAt(height uint64) uint64 {
	if e.chain.isL1() {
		return e.chain.feesAt(height).config.GasLimit
	}
	return 20_000_000
}

// block derives a block from its number: one to five transfers, none in the genesis.
func (e evm) block(height uint64, full bool) map[string]any {
	l1, genesis := e.chain.isL1(), height == 0
	at := e.blockTime(height)
	transactions := []any{}
	for i := range e.transactionsIn(e.chain, height) {
		transactions = append(transactions, e.transaction(height, i, full))
	}
	b := map[string]any{
		"baseFeePerGas":         quantity(e.baseFeeAt(height)),
		"blobGasUsed":           "0x0",
		"blockGasCost":          "0x0",
		"difficulty":            "0x1",
		"excessBlobGas":         "0x0",
		"extraData":             "0x000000000000",
		"gasLimit":              quantity(e.gasLimitAt(height)),
		"gasUsed":               quantity(uint64(len(transactions)) * transfer),
		"hash":                  e.blockHash(height),
		"logsBloom":             "0x" + strings.Repeat("0", 512),
		"minDelayExcess":        quantity(minDelayExcess),
		"miner":                 "0x0100000000000000000000000000000000000000",
		"mixHash":               noHash,
		"nonce":                 "0x0000000000000000",
		"number":                quantity(height),
		"parentBeaconBlockRoot": noHash,
		"parentHash":            noHash,
		"receiptsRoot":          emptyRoot,
		"sha3Uncles":            emptyUncle,
		"size":                  "0x2db",
		"stateRoot":             e.hex(32, "state", e.chain.id, height),
		"timestamp":             quantity(uint64(at.Unix())),
		"timestampMilliseconds": quantity(uint64(at.UnixMilli())),
		"totalDifficulty":       "0x0",
		"transactions":          transactions,
		"transactionsRoot":      emptyRoot,
		"uncles":                []string{},
	}
	if genesis {
		b["difficulty"], b["extraData"], b["miner"] = "0x0", "0x00", "0x0000000000000000000000000000000000000000"
	} else {
		b["parentHash"] = e.blockHash(height - 1)
		b["receiptsRoot"] = e.hex(32, "receipts", e.chain.id, height)
		b["transactionsRoot"] = e.hex(32, "transactions", e.chain.id, height)
	}
	if l1 {
		b["totalDifficulty"] = quantity(height)
		return b
	}
	b["blockExtraData"], b["extDataGasUsed"], b["extDataHash"] = "0x", "0x0", emptyRoot
	if !genesis {
		settled := height - min(2, height)
		b["minPriceExponent"], b["targetExponent"] = "0x0", "0x0"
		b["settledExcess"], b["settledGasNumerator"] = "0x2904", "0x99138"
		b["settledGasUnix"] = quantity(uint64(e.blockTime(settled).Unix()))
		b["settledHeight"] = quantity(settled)
	}
	return b
}

func (e evm) blockTime(height uint64) time.Time {
	if height == 0 {
		return e.genesis
	}
	return e.chain.heads.timeOf(height)
}

func (e evm) transaction(height uint64, index int, full bool) any {
	hash := e.hex(32, "transaction", e.chain.id, height, index)
	if !full {
		return hash
	}
	return map[string]any{
		"accessList":           []any{},
		"blockHash":            e.blockHash(height),
		"blockNumber":          quantity(height),
		"chainId":              quantity(e.chain.evmID),
		"from":                 evmAccount,
		"gas":                  quantity(transfer),
		"gasPrice":             quantity(e.tip() + e.baseFeeAt(height)),
		"hash":                 hash,
		"input":                "0x",
		"maxFeePerGas":         quantity(2 * e.tip()),
		"maxPriorityFeePerGas": quantity(e.tip()),
		"nonce":                quantity(height),
		"r":                    e.hex(32, "r", hash),
		"s":                    e.hex(32, "s", hash),
		"to":                   evmAccount,
		"transactionIndex":     quantity(uint64(index)),
		"type":                 "0x2",
		"v":                    "0x0",
		"value":                "0x1",
		"yParity":              "0x0",
	}
}
