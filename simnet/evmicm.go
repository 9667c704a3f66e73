package simnet

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"
)

// The logs of the messenger contract, written by hand from its ABI (ITeleporterMessenger.sol in github.com/ava-labs/icm-contracts). Only a query for its
// address has them.

// Topics of the events, as in the generated bindings of icm-contracts.
const (
	icmSent      = "0x2a211ad4a59ab9d003852404f9c57c690704ee755f3c79d2c2812ad32da99df8" // SendCrossChainMessage
	icmFeeAdded  = "0xc1bfd1f1208927dfbd414041dcb5256e6c9ad90dd61aec3249facbd34ff7b3e1" // AddFeeAmount
	icmReceived  = "0x292ee90bbaf70b5d4936025e09d56ba08f3e421156b6a568cf3c2840d9343e34" // ReceiveCrossChainMessage
	icmExecuted  = "0x34795cc6b122b9a0ae684946319f1e14a577b4e8f9b3dda9ac94c21a54d3188c" // MessageExecuted
	icmFailed    = "0x4619adc1017b82e02eaefac01a43d50d6d8de4460774bc370c3ff0210d40c985" // MessageExecutionFailed
	icmReceipted = "0xd13a7935f29af029349bed0a2097455b91fd06190a30478c575db3f31e00bf57" // ReceiptReceived
)

const (
	icmFee       = "1000000000000000000" // of every fourth message
	receiptAfter = time.Hour             // from the delivery to the receipt
)

// SendICM sends messages from one chain to another from now on, one each period.
func (n *Network) SendICM(from, to string, every time.Duration) {
	n.change(func(now time.Time) {
		n.ledger.lanes = append(n.ledger.lanes, lane{from: from, to: to, every: beat(every), since: now})
	})
}

// StopICM ends what SendICM began.
func (n *Network) StopICM() {
	n.change(func(now time.Time) {
		for i, l := range n.ledger.lanes {
			if !l.since.IsZero() && l.until.IsZero() {
				n.ledger.lanes[i].until = now
			}
		}
	})
}

// RetryICM repeats the calls of all messages that failed before, with success.
func (n *Network) RetryICM() {
	n.change(func(now time.Time) { n.ledger.retried = append(n.ledger.retried, now) })
}

// ResendICM sends all messages of the last period again, delivered or not, as anybody may do until the receipt has arrived.
func (n *Network) ResendICM(period time.Duration) {
	n.change(func(now time.Time) { n.ledger.resent = append(n.ledger.resent, span{now.Add(-period), now}) })
}

// PaidICM sets whether relayers deliver only messages with a fee. Those without are never delivered.
func (n *Network) PaidICM(on bool) {
	n.change(func(now time.Time) {
		if on {
			n.ledger.paid.begin(now)
		} else {
			n.ledger.paid.finish(now)
		}
	})
}

// CountICM returns the numbers of messages that were sent after a time: all, and those that were delivered.
func (n *Network) CountICM(since time.Time) (sent, delivered int) {
	n.change(func(now time.Time) {
		for _, l := range n.ledger.lanes {
			for _, m := range n.between(l, since, now) {
				if m.sent.After(since) {
					sent++
				}
				if m.sent.After(since) && !m.delivered.IsZero() && !m.delivered.After(now) {
					delivered++
				}
			}
		}
	})
	return sent, delivered
}

// LimitLogs makes the node refuse eth_getLogs for more blocks, as gateways do. 0: no limit.
func (n *Node) LimitLogs(blocks uint64) { n.net.change(func(time.Time) { n.maxLogs = blocks }) }

// paidFor reports whether a message has a fee.
func (m message) paidFor() bool { return m.n%4 == 0 }

// between returns the messages of a lane that were sent in this time.
func (t *truth) between(l lane, after, until time.Time) (list []message) {
	from, to := t.mustChain(l.from), t.mustChain(l.to)
	start := l.since
	if start.IsZero() {
		start = l.every.at(t, 0)
	}
	if !l.until.IsZero() && l.until.Before(until) {
		until = l.until
	}
	for n := max(0, int(after.Sub(start)/time.Duration(l.every))); ; n++ {
		sent := start.Add(time.Duration(n) * time.Duration(l.every))
		if sent.After(until) {
			return list
		}
		takes := 6*time.Second + time.Duration(30*t.chance("delivery", from.id, n))*time.Second
		m := message{n, from, to, l.since.UnixMilli(), sent, t.delivery(sent.Add(takes))}
		if t.ledger.paid.covers(sent.Add(takes)) && !m.paidFor() {
			m.delivered = time.Time{}
		}
		list = append(list, m)
	}
}

// includedIn returns the height of the first block at or after a time.
func (h heads) includedIn(at time.Time) uint64 {
	last := h.at(at)
	if last.time.Equal(at) {
		return last.height
	}
	return last.height + 1
}

func wordOf(n uint64) string { return fmt.Sprintf("%064x", n) }

func addressWord(address string) string {
	return strings.Repeat("0", 24) + strings.ToLower(strings.TrimPrefix(address, "0x"))
}

// idTopic returns a blockchain ID as a topic.
func idTopic(c *chain) string {
	b, err := parseCB58(c.id, 32)
	if err != nil {
		panic(err)
	}
	return "0x" + hex.EncodeToString(b)
}

// encoded returns the message as a tuple of the ABI: without allowed relayers, receipts and content.
func (m message) encoded() string {
	heads := 8 * 32
	return wordOf(uint64(m.sent.UnixMilli())) + addressWord(Account) + idTopic(m.to)[2:] + addressWord(Account) + wordOf(200_000) +
		wordOf(uint64(heads)) + wordOf(uint64(heads+32)) + wordOf(uint64(heads+64)) + wordOf(0) + wordOf(0) + wordOf(0)
}

func (m message) fee() string {
	if !m.paidFor() {
		return wordOf(0) + wordOf(0)
	}
	amount, _ := new(big.Int).SetString(icmFee, 10)
	return addressWord(Items) + fmt.Sprintf("%064x", amount)
}

// messengerLogs lists the logs of the messenger in a range of blocks. A forked node has each event one block later, does not have those of every third
// message, and has a message that the network never has.
func (e evm) messengerLogs(from, to uint64, topics []string) []any {
	if from == 0 {
		from = 1
	}
	fork, forked := e.node.forked[e.chain]
	after, until := e.blockTime(from-1), e.blockTime(to)
	if forked && from > 1 {
		after = e.blockTime(from - 2)
	}
	earliest := after.Add(-time.Minute)
	for _, s := range slices.Concat(e.ledger.held, e.ledger.failing) {
		if s.to.IsZero() || s.to.After(earliest) || len(e.ledger.retried) > 0 {
			if s.from.Add(-time.Minute).Before(earliest) {
				earliest = s.from.Add(-time.Minute)
			}
		}
	}
	for _, s := range e.ledger.resent {
		if s.to.After(after) && !s.to.After(until) && s.from.Before(earliest) {
			earliest = s.from
		}
	}
	windows := []span{{after.Add(-receiptAfter - time.Minute), until.Add(-receiptAfter)}, {earliest, until}} // of sending
	if !windows[1].from.After(windows[0].to) {
		windows = []span{{earlier(windows[0].from, earliest), until}}
	}
	all := []any{}
	log := func(m message, at time.Time, data func() string, of ...string) {
		if at.IsZero() || at.Before(after) || at.After(until) {
			return
		}
		height := e.chain.heads.includedIn(at)
		if forked && height >= fork {
			if height++; m.n%3 == 0 {
				return
			}
		}
		if height < from || height > to || topics != nil && !slices.Contains(topics, of[0]) {
			return
		}
		all = append(all, map[string]any{
			"address": strings.ToLower(Messenger), "blockHash": e.blockHash(height), "blockNumber": quantity(height), "data": "0x" + data(),
			"logIndex": quantity(uint64(len(all))), "removed": false, "topics": of, "transactionHash": e.hex(32, "icm", of[1], at.UnixMilli()),
			"transactionIndex": "0x0",
		})
	}
	nothing := func() string { return "" }
	for _, l := range e.ledger.lanes {
		source, destination := e.mustChain(l.from), e.mustChain(l.to)
		if source != e.chain && destination != e.chain {
			continue
		}
		from, to, next := idTopic(source), idTopic(destination), 0
		for _, w := range windows {
			for _, m := range e.between(l, w.from, w.to) {
				if m.n < next {
					continue
				}
				next = m.n + 1
				id := e.messageID(m)
				if source == e.chain {
					sent := func() string { return wordOf(96) + m.fee() + m.encoded() }
					log(m, m.sent, sent, icmSent, id, to)
					for _, s := range e.ledger.resent {
						if s.covers(m.sent) {
							log(m, s.to, sent, icmSent, id, to)
						}
					}
					if forked && m.n%3 == 1 && e.chain.heads.includedIn(m.sent) >= fork {
						log(m, m.sent, sent, icmSent, e.hex(32, "message of a fork", id), to)
					}
					if !m.delivered.IsZero() {
						log(m, m.delivered.Add(receiptAfter), m.fee, icmReceipted, id, to, "0x"+addressWord(Relayer))
					}
					continue
				}
				received := func() string { return addressWord(Relayer) + wordOf(64) + m.encoded() }
				log(m, m.delivered, received, icmReceived, id, from, "0x"+addressWord(Relayer))
				if !e.ledger.failing.covers(m.delivered) {
					log(m, m.delivered, nothing, icmExecuted, id, from)
					continue
				}
				log(m, m.delivered, func() string { return wordOf(32) + m.encoded() }, icmFailed, id, from)
				if i := slices.IndexFunc(e.ledger.retried, func(at time.Time) bool { return at.After(m.delivered) }); i >= 0 {
					log(m, e.ledger.retried[i], nothing, icmExecuted, id, from)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b any) int {
		return strings.Compare(heightText(a), heightText(b))
	})
	return all
}

func heightText(log any) string {
	text := log.(map[string]any)["blockNumber"].(string)
	return fmt.Sprintf("%20s", text)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (t *truth) messageID(m message) string {
	return t.hex(32, "message", m.from.id, m.to.id, m.lane, m.n)
}

// logFilter is the parameter of eth_getLogs.
type logFilter struct {
	FromBlock, ToBlock string
	Address            string
	Topics             []json.RawMessage
}

// first returns the alternatives of the first topic; nil: any.
func (f logFilter) first() (topics []string) {
	if len(f.Topics) > 0 {
		_ = json.Unmarshal(f.Topics[0], &topics)
	}
	return topics
}
