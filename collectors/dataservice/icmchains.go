package dataservice

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/cb58"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	icmChainRead = metric.New("avax_icm_chain_read_timestamp_seconds",
		"Time up to which the exporter has read the messages of a chain, in Unix seconds. If it is older than five minutes, the oldest pending message to this "+
			"chain is not exported, because it may have arrived.", "chain")
	icmContradicted = metric.New("avax_icm_contradicted_messages",
		"Messages of a monitored address whose status in the Data service is another one than on the chains, for more than ten minutes. Absent without the "+
			"Data service and its collector icm.", "address")
)

// ICMChains reads from the chains what ICM reads from the Data service, and shares its families.
var ICMChains = &collector.Spec{
	Name: "icm_chains",
	Help: "Cross-chain messages between your EVM chains, from the logs of the messenger contract on your nodes. Off by default, because of its cost. The label " +
		"address is the messenger (AVAX_ICM_MESSENGERS).",
	Calls: []string{"eth_getBlockByNumber", "eth_getLogs", "eth_getBlockReceipts", "platform.getBlockchains", "platform.getTx", "info.getBlockchainID"},
	Every: time.Minute,
	Off:   true,
	Families: []*metric.Family{icmMessages, icmOldestPending, icmLastDelivery, icmDeliveries, icmReceipts, icmOldestMessage, icmChainRead,
		icmContradicted},
	Bind: collector.Per(collector.Network, collectICMChains),
}

// Messenger is the address of the messenger contract TeleporterMessenger on the chains of Mainnet and Fuji. It is the same on each chain, because of how
// it is deployed.
const Messenger = "0x253b2784c75e510dD0fF1da844684a1aC0aa5fcf"

// The events of the messenger, on the source chain of a message (the first three) or on its destination chain.
const (
	icmSent = iota
	icmFeeAdded
	icmReceipted
	icmReceived
	icmExecuted
	icmFailed
)

const icmMessageType = "(uint256,address,bytes32,address,uint256,address[],(uint256,address)[],bytes)"

// icmTopics are the events in the notation of the Ethereum ABI. The source is ITeleporterMessenger.sol of github.com/ava-labs/icm-contracts.
var icmTopics = []string{
	icmSent:      topic("SendCrossChainMessage(bytes32,bytes32," + icmMessageType + ",(address,uint256))"),
	icmFeeAdded:  topic("AddFeeAmount(bytes32,(address,uint256))"),
	icmReceipted: topic("ReceiptReceived(bytes32,bytes32,address,(address,uint256))"),
	icmReceived:  topic("ReceiveCrossChainMessage(bytes32,bytes32,address,address," + icmMessageType + ")"),
	icmExecuted:  topic("MessageExecuted(bytes32,bytes32)"),
	icmFailed:    topic("MessageExecutionFailed(bytes32,bytes32," + icmMessageType + ")"),
}

func topic(event string) string { return "0x" + wire.Keccak256(event) }

const (
	// icmRange is the maximum number of blocks of one call.
	icmRange = 2048
	// icmMaxRanges is the maximum number of calls to one chain in a run, answered or refused.
	icmMaxRanges = 50
	// icmAgain is the number of blocks that each run reads again. A node may have shown blocks that were not accepted, or may have indexed logs late.
	icmAgain = 64
	// icmCurrent is the age up to which it is known what a chain has received.
	icmCurrent = 5 * time.Minute
	// icmDiffersAfter is how long two sources differ before that counts.
	icmDiffersAfter = 10 * time.Minute
	// icmMaxOfChains is the maximum number of stored messages. Further ones are not counted.
	icmMaxOfChains = 20_000
)

// icmEvents are the events of a message.
type icmEvents struct {
	Blocks [6]uint64 // that have them, by event; 0: no block has
	Token  string    `json:",omitempty"` // of the fee
	Fee    float64
	Nonce  uint64   `json:",omitempty"` // number of the message at its messenger
	Dated  bool     `json:",omitempty"` // the time of sending is that of the block
	Later  *float64 `json:",omitempty"` // lowest fee of messages that were sent later and delivered; 0 if one is in another token
}

// icmOfChains is the stored value.
type icmOfChains struct {
	icmTotals
	Chains  map[string]*icmChain // by blockchain ID
	Differs map[string]time.Time // since when the Data service has another status of a message
}

// icmChain is how far a chain was read.
type icmChain struct {
	Contract string
	Start    time.Time         // of reading: earlier messages do not count
	First    uint64            // block after the newest one at that time
	Next     uint64            // first block that was never read
	Read     time.Time         // begin of the last run that reached the newest block
	Range    uint64            // blocks of the next call; 0: icmRange
	Nonce    uint64            // highest one of the messages that no run reads again
	Recent   map[uint64]string // hashes of the blocks with events that a later run reads again, by height

	chain nodes.Chain
}

// settled returns the first block that is read again.
func (c *icmChain) settled() uint64 { return max(c.First, c.Next-min(c.Next, icmAgain)) }

func collectICMChains(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	const entry = "icm_chains"
	t := collector.Load[icmOfChains](ups, entry)
	if t.Chains == nil {
		t.Chains, t.Recent = map[string]*icmChain{}, map[string]icmMessage{}
	}
	names, contracts := map[string]string{}, map[string]string{}
	t.unsure = map[string]bool{}
	var errs []error
	all := ups.Chains()
	for i, c := range all {
		limited, cancel := nodes.DivideTime(ctx, len(all)-i)
		b, err := ups.Pool.KnownBlockchain(limited, c)
		if err == nil {
			names[b.ID], contracts[b.ID] = c.Name, messengerOf(ups, c)
			err = t.readChain(limited, ups, c, b.ID, contracts[b.ID], out)
		}
		cancel()
		if err != nil && !errors.Is(err, metric.ErrNotOffered) {
			errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
		}
	}
	for id, c := range t.Chains {
		t.unsure[id] = names[id] == "" || time.Since(c.Read) >= icmCurrent
		if names[id] != "" && !c.Read.IsZero() {
			out.SetTime(icmChainRead, c.Read, names[id])
		}
	}
	for id, m := range t.Recent {
		m.Status, m.Receipt = m.Events.status(), m.Events.Blocks[icmReceipted] > 0
		t.Recent[id] = m
	}
	t.compareFees()
	t.date(ctx, ups, out)
	t.giveUp(time.Now())
	t.compareWithService(ups, out)
	t.close()
	ups.Save(out, entry, t)
	t.set(out, func(l icmLane) string { return cmp.Or(contracts[l.Source], contracts[l.Destination], Messenger) }, names)
	err := errors.Join(errs...)
	if err != nil && len(errs) < len(all) {
		err = metric.WithSamples(err)
	}
	return err
}

// messengerOf returns the address of the messenger on a chain. An entry without a name counts for all chains.
func messengerOf(ups *collector.Upstreams, c nodes.Chain) string {
	address := Messenger
	for _, m := range ups.Watched().Messengers {
		if m.Name == c.Name {
			return m.Value
		}
		if m.Name == m.Value {
			address = m.Value
		}
	}
	return address
}

// readChain reads the blocks since the last run, and the last of those before again. Two nodes or more must give the same answer.
func (t *icmOfChains) readChain(ctx context.Context, ups *collector.Upstreams, of nodes.Chain, id, contract string, out *metric.Batch) error {
	began := time.Now()
	head, err := collector.NewestHeight(ctx, ups, of)
	if err != nil {
		return err
	}
	c := t.Chains[id]
	if c == nil || c.Contract != contract {
		t.drop(id)
		c = &icmChain{Contract: contract, Start: began, First: head + 1, Next: head + 1}
		t.Chains[id] = c
	}
	c.chain = of
	if c.Recent == nil {
		c.Recent = map[uint64]string{}
	}
	size, from := min(cmp.Or(c.Range, icmRange), icmRange), c.settled()
	for range icmMaxRanges {
		if from > head {
			break
		}
		to := min(head, from+size-1)
		var may atomic.Bool // a node that failed may have the logs
		logs, err := nodes.Agreed(ctx, ups.Pool, nodes.FactLogs, sameLogs, func(ctx context.Context, n *nodes.Node) ([]node.EthLog, error) {
			logs, err := executedLogs(ctx, n, of.Ref, contract, from, to)
			if err != nil && !errors.Is(err, errNotExecuted) {
				may.Store(true)
			}
			return logs, err
		})
		switch outcome := scrape.OutcomeOf(err); {
		case errors.Is(err, errNotExecuted) && !may.Load():
			t.drop(id)
			delete(t.Chains, id)
			return fmt.Errorf("blocks since %d: %w: the messages of the chain are counted from now on", from, err)
		case to > from && (outcome == scrape.Rejected || outcome == scrape.TooLarge || outcome == scrape.Timeout):
			if size = (to - from + 1) / 2; ctx.Err() == nil {
				continue
			}
			c.Range = size // the time was not enough: the next run tries this
		case err == nil:
			err = t.take(ctx, ups, id, logs, from, to)
		}
		if err != nil {
			return err
		}
		c.Next, from = max(c.Next, to+1), to+1
	}
	c.Range = min(2*size, icmRange) // a gateway may accept more again: at most one refusal in each run
	if from <= head {
		out.Note("%s: more blocks than one run reads: the next run continues", of.Name)
		return nil
	}
	c.Read = began
	return nil
}

var errNotExecuted = errors.New("the node has not executed these blocks, but synced the state after them, and has no logs of them")

// executedLogs returns the logs of these blocks. A node that synced its state lists none of the blocks before, without an error (AvalancheGo 1.14.2). It has
// no receipts of them either, so those of the first block tell.
func executedLogs(ctx context.Context, n *nodes.Node, chain, contract string, from, to uint64) ([]node.EthLog, error) {
	logs, err := nodes.Optional(n.EthLogsOf(ctx, chain, contract, icmTopics, from, to))
	if err != nil {
		return nil, err
	}
	receipts, err := n.EthBlockReceipts(ctx, chain, from)
	switch {
	case node.IsNotExecuted(err):
		return nil, errNotExecuted
	case node.IsNotOffered(err) || receipts > 0:
		return logs, nil
	case err != nil:
		return nil, err
	}
	if _, err = n.EthBlockByNumber(ctx, chain, &from); scrape.OutcomeOf(err) == scrape.NotFound { // before the blocks that it fetched
		return nil, errNotExecuted
	}
	return logs, err
}

// drop removes the messages of a chain, which are those of another contract, or whose logs the nodes no longer have.
func (t *icmOfChains) drop(chain string) {
	t.Lanes = slices.DeleteFunc(t.Lanes, func(l icmLane) bool { return l.Source == chain || l.Destination == chain })
	maps.DeleteFunc(t.Recent, func(_ string, m icmMessage) bool { return m.Source == chain || m.Destination == chain })
}

func sameLogs(a, b []node.EthLog) bool {
	return slices.EqualFunc(a, b, func(a, b node.EthLog) bool {
		return a.BlockHash == b.BlockHash && a.Data == b.Data && slices.Equal(a.Topics, b.Topics)
	})
}

// take replaces the events of these blocks of a chain by those of logs. If a block has no logs any more, the block is requested: if it is the same, the
// node lacks its logs, and the events stay.
func (t *icmOfChains) take(ctx context.Context, ups *collector.Upstreams, id string, logs []node.EthLog, from, to uint64) error {
	c, hashes := t.Chains[id], map[uint64]string{}
	for _, l := range logs {
		hashes[uint64(l.BlockNumber)] = l.BlockHash
	}
	for at, before := range c.Recent {
		hash := hashes[at]
		if at < from || at > to || hash == before {
			continue
		}
		if hash == "" {
			b, err := t.block(ctx, ups, c, at)
			if err != nil {
				return err
			}
			hash = b.Hash
		}
		if hash != before {
			t.forget(id, at)
			delete(c.Recent, at)
		}
	}
	for _, l := range logs {
		if at := uint64(l.BlockNumber); hashes[at] == l.BlockHash {
			c.Recent[at] = l.BlockHash
			t.add(id, l)
		}
	}
	return nil
}

func (t *icmOfChains) block(ctx context.Context, ups *collector.Upstreams, c *icmChain, at uint64) (node.EthBlock, error) {
	return nodes.First(ctx, ups.Pool, nodes.BasisBlock, func(ctx context.Context, n *nodes.Node) (node.EthBlock, error) {
		return n.EthBlockByNumber(ctx, c.chain.Ref, &at)
	})
}

// forget removes the events of a block that is no longer part of its chain.
func (t *icmOfChains) forget(chain string, at uint64) {
	for id, m := range t.Recent {
		e := m.Events
		for event, block := range e.Blocks {
			if of := []string{m.Source, m.Destination}[event/icmReceived]; of == chain && block == at {
				e.Blocks[event] = 0
			}
		}
		if e.Blocks == [6]uint64{} {
			delete(t.Recent, id)
		}
	}
}

// add adds an event of a chain to its message. A message may be sent again until its receipt arrives: its nonce is then at most that of messages that no run
// reads again.
func (t *icmOfChains) add(chain string, l node.EthLog) {
	at := uint64(l.BlockNumber)
	if len(l.Topics) < 2 {
		return
	}
	event, id, other := slices.Index(icmTopics, l.Topics[0]), l.Topics[1], ""
	if len(l.Topics) > 2 {
		other = blockchainID(l.Topics[2])
	}
	m, known := t.Recent[id]
	words, nonce := wordsOf(l.Data), uint64(0)
	if event == icmSent && len(words) > 2 {
		if i := words[0].Uint64() / 32; words[0].IsUint64() && i < uint64(len(words)) && words[i].IsUint64() {
			nonce = words[i].Uint64()
		}
	}
	again := event == icmSent && nonce <= t.Chains[chain].Nonce
	if !known && (event == icmFeeAdded || again || t.Chains[other] == nil || len(t.Recent) >= icmMaxOfChains) {
		return
	}
	if !known {
		m = icmMessage{Source: chain, Destination: other, At: time.Now(), Seen: time.Now(), Events: &icmEvents{}}
		if event >= icmReceived {
			m.Source, m.Destination = other, chain
		}
	}
	e := m.Events
	switch event {
	case icmSent:
		if first := e.Blocks[icmSent]; first > 0 {
			at = min(at, first)
		}
		e.Nonce = nonce
		if e.Token == "" && len(words) > 2 {
			e.Token, e.Fee = words[1].Text(16), wire.BigInt{Int: words[2]}.Tokens(0)
		}
	case icmFeeAdded:
		if len(words) > 1 {
			e.Token, e.Fee, e.Later = words[0].Text(16), wire.BigInt{Int: words[1]}.Tokens(0), nil
		}
		at = 0 // says nothing of the way of the message
	case icmReceived:
		if len(l.Topics) > 3 {
			m.Deliverer = "0x" + l.Topics[3][26:]
		}
	}
	e.Blocks[event] = at
	t.Recent[id] = m
}

// wordsOf returns the words of 32 bytes that the data of a log has.
func wordsOf(text string) (words []*big.Int) {
	content, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		return nil
	}
	for word := range slices.Chunk(content, 32) {
		words = append(words, new(big.Int).SetBytes(word))
	}
	return words
}

// blockchainID returns the ID in a topic in the notation of the P-Chain; empty if there is none.
func blockchainID(topic string) string {
	id, err := hex.DecodeString(strings.TrimPrefix(topic, "0x"))
	if err != nil || len(id) != 32 {
		return ""
	}
	return cb58.Encode(id)
}

// status returns the status. A message without content, which only carries receipts, is received and neither executed nor failed.
func (e *icmEvents) status() string {
	switch sent, received, executed := e.Blocks[icmSent] > 0, e.Blocks[icmReceived] > 0, e.Blocks[icmExecuted] > 0; {
	case e.Blocks[icmFailed] > 0 && !executed:
		return icmExecutionFailed
	case sent && (received || executed):
		return data.ICMDelivered
	case received:
		return data.ICMDeliveredSourceNotIndexed
	case sent:
		return data.ICMPending
	}
	return "" // a receipt, or a repeated execution, of an older message
}

// date requests the times of the messages that are exported: those that have waited longest, and the newest delivered one of each pair of chains.
func (t *icmOfChains) date(ctx context.Context, ups *collector.Upstreams, out *metric.Batch) {
	at := func(chain string, block uint64) time.Time {
		b, err := t.block(ctx, ups, t.Chains[chain], block)
		if err != nil {
			out.Note("time of a message not known: %v", err)
			return time.Time{}
		}
		return b.Time()
	}
	for dropped := true; dropped; {
		dropped = false
		for wait, id := range t.longest() {
			m := t.Recent[id]
			if !m.Events.Dated && m.Events.Blocks[icmSent] > 0 {
				if sent := at(m.Source, m.Events.Blocks[icmSent]); !sent.IsZero() {
					m.At, m.Events.Dated = sent, true
				}
			}
			t.Recent[id] = m
			if wait.status == data.ICMPending && m.At.Before(t.Chains[m.Destination].Start) { // it may have arrived before
				delete(t.Recent, id)
				dropped = true
			}
		}
	}
	for on, ids := range t.delivered() {
		id := slices.MaxFunc(ids, func(a, b string) int {
			return cmp.Compare(t.Recent[a].Events.Blocks[icmReceived], t.Recent[b].Events.Blocks[icmReceived])
		})
		if m := t.Recent[id]; m.Arrived.IsZero() && m.Events.Blocks[icmReceived] > 0 {
			sent, arrived := at(on.source, m.Events.Blocks[icmSent]), at(on.destination, m.Events.Blocks[icmReceived])
			if !sent.IsZero() && !arrived.IsZero() {
				m.At, m.Arrived = sent, arrived
				t.Recent[id] = m
			}
		}
	}
}

// delivered returns the IDs of the delivered messages that a later run reads again.
func (t *icmOfChains) delivered() map[icmPair][]string {
	all := map[icmPair][]string{}
	for id, m := range t.Recent {
		if m.Status == data.ICMDelivered {
			all[m.pair()] = append(all[m.pair()], id)
		}
	}
	return all
}

// compareFees compares the fees of messages that wait with those of messages that were sent later and delivered.
func (t *icmOfChains) compareFees() {
	delivered := t.delivered()
	for _, m := range t.Recent {
		if m.Status != data.ICMPending {
			continue
		}
		for _, id := range delivered[m.pair()] {
			e, later := m.Events, t.Recent[id].Events
			fee := later.Fee
			if e.Fee > 0 && later.Token != e.Token {
				fee = 0
			}
			if later.Blocks[icmSent] > e.Blocks[icmSent] && (e.Later == nil || fee < *e.Later) {
				e.Later = &fee
			}
		}
	}
}

// close moves messages to the sums that no later run reads again, and whose status does not change any more.
func (t *icmOfChains) close() {
	for id, m := range t.Recent {
		on, source, destination := m.Events.Blocks, t.Chains[m.Source], t.Chains[m.Destination]
		if on[icmSent] < source.settled() {
			source.Nonce = max(source.Nonce, m.Events.Nonce)
		}
		final := m.Status == data.ICMDelivered || m.Status == "" || m.Status == data.ICMDeliveredSourceNotIndexed && source.Read.After(m.Seen)
		if final && slices.Max(on[:icmReceived]) < source.settled() && slices.Max(on[icmReceived:]) < destination.settled() {
			t.addToSums(id)
		}
	}
	for _, c := range t.Chains {
		maps.DeleteFunc(c.Recent, func(at uint64, _ string) bool { return at < c.settled() })
	}
}

// compareWithService compares the messages with those of the Data service, for each monitored address. The Data service knows messages as pending that are
// not stored here any more because they were delivered.
func (t *icmOfChains) compareWithService(ups *collector.Upstreams, out *metric.Batch) {
	if ups.Data == nil {
		return
	}
	since := map[string]time.Time{}
	same := map[string]string{icmGivenUp: data.ICMPending, data.ICMDeliveredSourceNotIndexed: data.ICMDelivered, "": data.ICMDelivered}
	plain := func(status string) string { return cmp.Or(same[status], status) }
	for _, address := range collector.Values(ups.Watched().EVM) {
		service := collector.Load[icmTotals](ups, ups.Data.Entry("icm", address))
		if service.Events.Read.IsZero() {
			continue
		}
		differ := 0
		for id, theirs := range service.Recent {
			source, destination := t.Chains[theirs.Source], t.Chains[theirs.Destination]
			if source == nil || destination == nil || t.unsure[theirs.Source] || t.unsure[theirs.Destination] ||
				theirs.At.Before(source.Start) || theirs.At.Before(destination.Start) {
				continue
			}
			ours := plain(t.Recent["0x"+strings.ToLower(strings.TrimPrefix(id, "0x"))].Status)
			if ours == plain(theirs.Status) {
				continue
			}
			if since[id] = t.Differs[id]; since[id].IsZero() {
				since[id] = time.Now()
			}
			if time.Since(since[id]) >= icmDiffersAfter {
				differ++
				out.Note("message %s: %s on the chains, %s in the Data service", id, ours, theirs.Status)
			}
		}
		out.Set(icmContradicted, float64(differ), address)
	}
	t.Differs = since
}
