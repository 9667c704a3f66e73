package simnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// Loss is what a node lacks of an EVM chain although it answers fast and without an error.
type Loss int

// The kinds of losses.
const (
	NewState Loss = iota // the state of blocks since then: it answers with the state before
	Logs                 // all logs, as with a damaged index: it answers with an empty list
	Receipts             // all receipts
	Past                 // all before now, as after a state sync: logs and receipts, and blocks before the last 256
)

// fetched is the number of blocks that a node fetches with a state.
const fetched = 256

// lossOf is a loss of a chain.
type lossOf struct {
	chain *chain
	what  Loss
}

// Lose makes the node lose a part of an EVM chain.
func (n *Node) Lose(chain string, what Loss) {
	n.net.change(func(now time.Time) {
		c := n.net.mustChain(chain)
		n.lost[lossOf{c, what}] = c.heads.at(now).height
	})
}

// Restore ends all losses of the node.
func (n *Node) Restore() { n.net.change(func(time.Time) { clear(n.lost) }) }

// SetArchive sets whether the node keeps the state of old blocks. By default it does not.
func (n *Node) SetArchive(on bool) { n.net.change(func(time.Time) { n.archive = on }) }

const (
	burned    = "0x0100000000000000000000000000000000000000" // receives the fees
	keptState = 32                                           // blocks whose state a node without archive keeps
	eventLog  = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
)

// balance is the balance at the end of a block.
func (e evm) balance(args []json.RawMessage) (any, error) {
	var address string
	if _, err := argument(args, 0, &address); err != nil {
		return nil, err
	}
	_, height, err := e.blockOf(args, 1)
	if errors.Is(err, errFuture) {
		err = errors.New("header not found")
	}
	if err != nil {
		return nil, err
	}
	if head := e.head(e.chain).height; !e.node.archive && height > 0 && height+keptState <= head {
		root := e.hex(32, "state", e.chain.id, height)
		return nil, fmt.Errorf("missing trie node %s (path ) state %s is not available, not found", root[2:], root)
	}
	if from, lost := e.node.lost[lossOf{e.chain, NewState}]; lost {
		height = min(height, from)
	}
	if strings.EqualFold(address, burned) {
		return fmt.Sprintf("%#x", new(big.Int).Mul(big.NewInt(transfer*int64(e.tip())), new(big.Int).SetUint64(height))), nil
	}
	return fmt.Sprintf("%#x", e.wei(e.chain, address, e.blockTime(height))), nil
}

// since returns the first block after a state sync that the node has executed, and the first one that it has.
func (e evm) since() (executed, kept uint64) {
	if at, lost := e.node.lost[lossOf{e.chain, Past}]; lost {
		return at + 1, at + 1 - min(at, fetched)
	}
	return 0, 0
}

// receipts answers null for a future block of the C-Chain.
func (e evm) receipts(args []json.RawMessage) (any, error) {
	_, height, err := e.blockOf(args, 0)
	if errors.Is(err, errFuture) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := []any{}
	if _, lost := e.node.lost[lossOf{e.chain, Receipts}]; lost {
		return all, nil
	}
	executed, kept := e.since()
	switch transactions := e.transactionsIn(e.chain, height); {
	case height > 0 && height < kept:
		return nil, nil
	case height > 0 && height < executed:
		return nil, fmt.Errorf("receipts length mismatch: %d vs 0", transactions)
	}
	for i := range e.transactionsIn(e.chain, height) {
		all = append(all, map[string]any{
			"blockHash": e.blockHash(height), "blockNumber": quantity(height), "contractAddress": nil,
			"cumulativeGasUsed": quantity(uint64(i+1) * transfer), "effectiveGasPrice": quantity(e.tip() + e.baseFeeAt(height)),
			"from": evmAccount, "gasUsed": quantity(transfer), "logs": e.logsOf(height, i), "logsBloom": "0x" + strings.Repeat("0", 512),
			"status": "0x1", "to": evmAccount, "transactionHash": e.transaction(height, i, false), "transactionIndex": quantity(uint64(i)), "type": "0x2",
		})
	}
	return all, nil
}

// logs lists the logs of a range of blocks, until the first block that the node does not have. Only a query for its address has those of the messenger.
func (e evm) logs(args []json.RawMessage) (any, error) {
	filter := logFilter{FromBlock: "latest", ToBlock: "latest"}
	if _, err := argument(args, 0, &filter); err != nil {
		return nil, err
	}
	var bounds [2]uint64
	for i, block := range []string{filter.FromBlock, filter.ToBlock} {
		var err error
		if bounds[i], err = e.height(block); err != nil {
			head := e.head(e.chain).height
			return nil, fmt.Errorf("requested from block %s to block %s after last accepted block %d", filter.FromBlock, filter.ToBlock, head)
		}
	}
	if bounds[0] > bounds[1] {
		return nil, fmt.Errorf("begin block %d is greater than end block %d", bounds[0], bounds[1])
	}
	if most := e.node.maxLogs; most > 0 && bounds[1]-bounds[0] >= most {
		return nil, fmt.Errorf("the block range is too wide: ask for %d blocks", most)
	}
	all := []any{}
	if _, lost := e.node.lost[lossOf{e.chain, Logs}]; lost {
		return all, nil
	}
	executed, kept := e.since()
	if 0 < bounds[0] && bounds[0] < kept {
		return all, nil
	}
	bounds[0] = max(bounds[0], executed)
	if bounds[0] > bounds[1] {
		return all, nil
	}
	if strings.EqualFold(filter.Address, Messenger) {
		return e.messengerLogs(bounds[0], bounds[1], filter.first()), nil
	}
	for height := bounds[0]; height <= bounds[1]; height++ {
		for i := range e.transactionsIn(e.chain, height) {
			all = append(all, e.logsOf(height, i)...)
		}
	}
	return all, nil
}

// logsOf derives the logs of a transaction: none or one.
func (e evm) logsOf(height uint64, index int) []any {
	if e.chance("logs", e.chain.id, height, index) < 0.5 {
		return []any{}
	}
	account := "0x" + strings.Repeat("0", 24) + evmAccount[2:]
	return []any{map[string]any{
		"address": Items, "blockHash": e.blockHash(height), "blockNumber": quantity(height), "data": "0x" + strings.Repeat("0", 63) + "1",
		"logIndex": quantity(uint64(index)), "removed": false, "topics": []string{eventLog, account, account},
		"transactionHash": e.transaction(height, index, false), "transactionIndex": quantity(uint64(index)),
	}}
}
