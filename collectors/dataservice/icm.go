package dataservice

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var (
	icmMessages = metric.New("avax_icm_messages",
		"Messages between chains, by status. Of the collector icm, address is a monitored address that sent or received them, counted from one day before the "+
			"address was first monitored. Of the collector icm_chains, address is the messenger contract, and all messages since its first run count. Status "+
			"pending: not delivered. Status given_up: pending for a week, no longer tracked. Status delivered: delivered and executed. Status "+
			"delivered_source_not_indexed: delivered, but the sending is not known. Status execution_failed: delivered, but the call "+
			"on the destination chain failed. The labels source and destination are names of AVAX_CHAINS, or blockchain IDs. Only 100 pairs of chains have series "+
			"of their own. The series source=other, destination=other is the sum of the others.",
		"address", "source", "destination", "status")
	icmOldestPending = metric.New("avax_icm_oldest_pending_timestamp_seconds",
		"Time at which the oldest pending message was sent, in Unix seconds. Absent if no message is pending. After a week, a pending message gets the status "+
			"given_up and no longer counts.", "address", "source", "destination")
	icmDeliveries = metric.New("avax_icm_deliveries",
		"Delivered messages by the address that delivered them, if it is known. Only 20 addresses per pair of "+
			"chains have series of their own. The series deliverer=other is the sum of the others.",
		"address", "source", "destination", "deliverer")
	icmReceipts = metric.New("avax_icm_receipts",
		"Delivered messages whose receipt has arrived at the source chain. The collector icm requests each message for two days after it was sent or "+
			"delivered: a later receipt does not count there.",
		"address", "source", "destination")
	icmOldestMessage = metric.New("avax_icm_oldest_message_timestamp_seconds",
		"Time at which the message was sent that has waited longest for this reason, in Unix seconds. Statuses: pending for 5 minutes and more, "+
			"and execution_failed. why says why a pending message may wait. waiting: no message that was sent later was delivered. overtaken: messages "+
			"that were sent later were. fee: those paid more. block is the block of the source chain that has the message, or of the destination chain "+
			"on which its call failed. It is empty if the message comes from the Data service, which says nothing about fees.",
		"address", "source", "destination", "status", "why", "message", "block")
	icmLastDelivery = metric.New("avax_icm_last_delivery_seconds",
		"Time in seconds between the sending and the delivery of the message that was delivered last.", "address", "source", "destination")
)

var icmRead = newRead("avax_icm_read_timestamp_seconds", "messages of a monitored address", "address")

var ICM = &collector.Spec{
	Name: "icm",
	Help: "Cross-chain messages that the monitored EVM addresses sent or received.",
	Calls: []string{data.ListICMMessages.Op(), data.GetICMMessage.Op(), "platform.getBlockchains",
		"platform.getTx", "info.getBlockchainID", "info.getNetworkID"},
	Every:    2 * time.Minute,
	Families: []*metric.Family{icmMessages, icmOldestPending, icmLastDelivery, icmDeliveries, icmReceipts, icmOldestMessage, icmRead},
	Bind:     collector.PerWithData(collector.Items(collector.Watchlist.EVMItems), collectICM),
	Cost: func(_ collector.Watchlist, jobs int) map[string]int {
		return map[string]int{data.ListICMMessages.Op(): jobs, data.GetICMMessage.Op(): jobs}
	},
}

func collectICM(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	address := on.Item.Value
	name := ups.Data.Entry("icm", address)
	totals := collector.Load[icmTotals](ups, name)
	err := totals.read(ctx, ups, address, out)
	if err == nil {
		totals.readPending(ctx, ups, out)
	}
	ups.Save(out, name, totals)
	if err != nil {
		return collector.IfRejected(err, "AVAX_WATCH_ADDRESSES")
	}
	totals.Events.set(out, icmRead, address)

	names := map[string]string{}
	for _, c := range ups.Chains() {
		switch b, err := ups.KnownBlockchain(ctx, c); {
		case err == nil:
			names[b.ID] = c.Name
		case scrape.OutcomeOf(err) != scrape.NotFound:
			return err // the label would change from the chain's name to its ID
		}
	}
	totals.set(out, func(icmLane) string { return address }, names)
	return nil
}

// icmTotals is the stored value for the messages of a monitored address.
type icmTotals struct {
	Events   eventCursor
	Recent   map[string]icmMessage // messages that a later run reads again or asks for, by ID
	Lanes    []icmLane             // sums of all other messages
	Answered bool                  // the service has answered a request for one message

	listed   map[string]bool // messages that this run has read
	readFrom int64           // beginning of the pass that this run has ended; 0: none
	unsure   map[string]bool // destinations of which it is not known now what they have received
}

// icmMessage is the stored part of a message.
type icmMessage struct {
	Source, Destination string
	Status              string
	Deliverer           string    // empty if unknown
	Receipt             bool      // true if the receipt has arrived at the source
	At                  time.Time // time of sending; if that is not known, the time of delivery
	Arrived             time.Time // time of delivery; zero if not delivered or not known
	Seen                time.Time // when the service answered it last
	Unclear             bool      `json:",omitempty"` // true if the answer cannot be decoded: the message may have been delivered since

	Events *icmEvents `json:",omitempty"` // if the message was read from the chains
}

// icmLane is the sum of the messages from one source chain to one destination chain.
type icmLane struct {
	Source, Destination string
	Counts              map[string]int // messages by status
	Deliverers          map[string]int // deliveries by address
	Receipts            int
	LastArrived         time.Time     // time of the last delivery
	LastTook            time.Duration // time from sending to delivery of the message that was delivered last
	LastSent            int64         // highest position of a delivered message

	oldest time.Time // when the oldest pending message was sent; zero if no message is pending
}

// position orders the messages of a lane by the time of sending: the block of the source chain if it is known, or else the time.
func (m icmMessage) position() int64 {
	if m.Events != nil {
		return int64(m.Events.Blocks[icmSent])
	}
	return m.At.Unix()
}

const (
	// icmFirstRead is the age of the oldest messages that the first run reads.
	icmFirstRead = 24 * time.Hour
	// icmMaxAsked is the maximum number of messages that one run requests by ID.
	icmMaxAsked = 10
	// icmGiveUpAfter is the age at which a pending message gets the status given_up.
	icmGiveUpAfter = 7 * 24 * time.Hour
	// icmForgetAfter is the age at which a message that was given up is no longer expected.
	icmForgetAfter = 8 * icmGiveUpAfter
	// icmMaxRecent is the maximum number of stored messages. If there are more, the oldest are closed, pending messages last. They
	// take most of the space of a stored value.
	icmMaxRecent = 4_000
	// icmMaxLanes is the maximum number of lanes. All further messages are in one lane, whose source and destination
	// are other. A limit is needed, because anybody may create a chain and send messages from it.
	icmMaxLanes = 100
)

// read reads the list of messages down to the beginning of the pass. The list has no parameter for that. It may be ordered by the
// time of sending or by the last change. So once an hour, and if a page is not in order, reading ends only after a page without a message
// that changed since then.
func (t *icmTotals) read(ctx context.Context, ups *collector.Upstreams, address string, out *metric.Batch) error {
	now := time.Now()
	if t.Recent == nil {
		t.Recent = map[string]icmMessage{}
	}
	t.Lanes = slices.DeleteFunc(t.Lanes, func(l icmLane) bool { return l.Counts == nil }) // only an edited file has such a lane
	if t.Events.Start.IsZero() {
		t.Events.Start = now.Add(-icmFirstRead)
	}
	p := t.Events.begin(now, 0)
	t.listed = map[string]bool{}
	ended, err := readPass(ctx, &t.Events, data.ListICMMessages.Op(), out, func(ctx context.Context, p *pass) (data.Page[data.ICMMessage], error) {
		return ups.Data.ICMMessages(ctx, ups.Data.NetworkName(), address, p.Token)
	}, func(messages []data.ICMMessage) bool {
		return t.add(messages, p, now)
	})
	if ended {
		t.readFrom = p.From
	}
	if ended && p.Rescan { // later runs do not read messages before this pass
		for id, m := range t.Recent {
			if !m.worthRereading() && m.changed().Unix() < p.From {
				t.addToSums(id)
			}
		}
	}
	t.giveUp(now)
	t.limit()
	return err
}

// add stores the messages of a page that the pass needs. It returns true if no later page has one.
func (t *icmTotals) add(messages []data.ICMMessage, p *pass, now time.Time) (done bool) {
	older, fresh, sorted := 0, 0, true
	for _, message := range messages {
		m := icmMessageOf(message)
		if m.At.IsZero() || len(message.MessageID) > metric.MaxValue {
			continue // the message has no transaction, or its ID is too long
		}
		_, known := t.Recent[message.MessageID]
		if known {
			p.Again++
		}
		changed := m.changed()
		switch {
		case t.Events.notePosition(changed.Unix(), now.Unix()):
		case changed.Unix() < p.From:
			older++
		default:
			fresh++
			sorted = sorted && older == 0
		}
		if known || changed.Unix() >= p.From {
			t.listed[message.MessageID], t.Recent[message.MessageID] = true, m
		}
	}
	return older > 0 && (fresh == 0 || sorted && !p.Rescan)
}

// readPending requests messages by ID that this run has not read and whose status may change, those first that were not read for the
// longest time.
func (t *icmTotals) readPending(ctx context.Context, ups *collector.Upstreams, out *metric.Batch) {
	var ids []string
	for id, m := range t.Recent {
		if m.mayChange() && !t.listed[id] {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(t.Recent[a].Seen.Compare(t.Recent[b].Seen), cmp.Compare(a, b))
	})
	for _, id := range ids[:min(len(ids), icmMaxAsked)] {
		message, err := ups.Data.ICMMessage(ctx, id)
		m := t.Recent[id]
		switch {
		case err == nil && message.MessageID == id:
			t.Answered = true
			if answer := icmMessageOf(message); !answer.At.IsZero() {
				m = answer
			}
		case scrape.OutcomeOf(err) == scrape.NotFound && (t.Answered || t.readFrom > 0 && m.At.Unix() >= t.readFrom):
			delete(t.Recent, id) // the service no longer has the message
			continue
		case scrape.OutcomeOf(err) == scrape.RateLimited, scrape.OutcomeOf(err) == scrape.Timeout:
			return // the next run continues
		case err != nil:
			out.Note("pending message not read again: %v", err)
			m.Unclear = m.Unclear || scrape.OutcomeOf(err) == scrape.Malformed
		}
		m.Seen = time.Now()
		t.Recent[id] = m
	}
}

// giveUp gives up messages that are too old.
func (t *icmTotals) giveUp(now time.Time) {
	for id, m := range t.Recent {
		switch age := now.Sub(m.At); {
		case m.Status == icmGivenUp && age >= icmForgetAfter, m.Status == icmExecutionFailed && age >= icmGiveUpAfter:
			t.addToSums(id)
		case m.Status == data.ICMPending && age >= icmGiveUpAfter:
			m.Status = icmGivenUp
			t.Recent[id] = m
		}
	}
}

// limit closes the oldest messages if there are too many.
func (t *icmTotals) limit() {
	beyond := len(t.Recent) - icmMaxRecent
	if beyond <= 0 {
		return
	}
	ids := slices.Collect(maps.Keys(t.Recent))
	rank := func(id string) int {
		if t.Recent[id].Status == data.ICMPending {
			return 1
		}
		return 0
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), t.Recent[a].changed().Compare(t.Recent[b].changed()))
	})
	for _, id := range ids[:beyond] {
		t.Events.LowWater = max(t.Events.LowWater, t.Recent[id].changed().Unix()+1) // a later pass must not count it again
		t.addToSums(id)
	}
}

// Statuses that the exporter adds to the statuses of the service.
const (
	icmGivenUp         = "given_up"
	icmExecutionFailed = "execution_failed"
)

// mayChange reports whether the status may change. A pending message may be delivered, and a failed execution may be
// repeated.
func (m icmMessage) mayChange() bool {
	return m.Status == data.ICMPending || m.Status == icmExecutionFailed
}

// changed returns the time of the last change.
func (m icmMessage) changed() time.Time { return later(m.At, m.Arrived) }

// worthRereading reports whether a later answer may have another status: the message may change, or was given up.
func (m icmMessage) worthRereading() bool { return m.mayChange() || m.Status == icmGivenUp }

func icmMessageOf(m data.ICMMessage) icmMessage {
	k := icmMessage{Seen: time.Now(), Source: m.SourceBlockchainID, Destination: m.DestinationBlockchainID, Status: m.Status, Receipt: m.ReceiptDelivered}
	if (m.Status == data.ICMDelivered || m.Status == data.ICMDeliveredSourceNotIndexed) && !m.MessageExecuted {
		k.Status = icmExecutionFailed
	}
	for _, chain := range []*string{&k.Source, &k.Destination} {
		if len(*chain) > metric.MaxValue {
			*chain = collector.Other
		}
	}
	if m.DestinationTransaction != nil {
		k.Deliverer = m.DestinationTransaction.DelivererAddress
		k.Arrived = m.DestinationTransaction.Timestamp.Time
		k.At = k.Arrived
	}
	if m.SourceTransaction != nil {
		k.At = m.SourceTransaction.Timestamp.Time
	}
	return k
}

// addToSums moves a message from Recent to the sums.
func (t *icmTotals) addToSums(id string) {
	m := t.Recent[id]
	if m.Status == data.ICMPending {
		m.Status = icmGivenUp
	}
	t.Lanes, _ = addMessage(t.Lanes, m)
	delete(t.Recent, id)
}

// addMessage adds a message to the sums of its lane, and returns that lane.
func addMessage(lanes []icmLane, m icmMessage) ([]icmLane, *icmLane) {
	i := 0
	for i < len(lanes) && (lanes[i].Source != m.Source || lanes[i].Destination != m.Destination) {
		i++
	}
	if i == len(lanes) && i >= icmMaxLanes && (m.Source != collector.Other || m.Destination != collector.Other) {
		m.Source, m.Destination = collector.Other, collector.Other
		return addMessage(lanes, m)
	}
	if i == len(lanes) {
		lanes = append(lanes, icmLane{Source: m.Source, Destination: m.Destination, Counts: map[string]int{}})
	}
	l := &lanes[i]
	if m.Status != "" { // only a receipt was read
		l.Counts[collector.KindOrOther(l.Counts, m.Status)]++
	}
	if l.Deliverers == nil {
		l.Deliverers = map[string]int{}
	}
	if m.Deliverer != "" {
		l.Deliverers[collector.KindOrOther(l.Deliverers, m.Deliverer)]++
	}
	if m.Receipt {
		l.Receipts++
	}
	if m.Status == data.ICMDelivered && m.Arrived.After(l.LastArrived) {
		l.LastArrived, l.LastTook = m.Arrived, m.Arrived.Sub(m.At)
	}
	if m.Status == data.ICMDelivered {
		l.LastSent = max(l.LastSent, m.position())
	}
	return lanes, l
}

// icmShownAfter is how long a message is pending before its ID is exported.
const icmShownAfter = 5 * time.Minute

// icmPair is a pair of chains.
type icmPair struct{ source, destination string }

func (m icmMessage) pair() icmPair { return icmPair{m.Source, m.Destination} }

// icmWait is a reason to wait.
type icmWait struct {
	icmPair
	status, why string
}

// longest returns the ID of the message that has waited longest, for each reason.
func (t *icmTotals) longest() map[icmWait]string {
	lastSent := map[icmPair]int64{}
	for _, l := range t.Lanes {
		lastSent[icmPair{l.Source, l.Destination}] = l.LastSent
	}
	for _, m := range t.Recent {
		if m.Status == data.ICMDelivered {
			lastSent[m.pair()] = max(lastSent[m.pair()], m.position())
		}
	}
	longest := map[icmWait]string{}
	for id, m := range t.Recent {
		if !m.mayChange() || m.Unclear || t.unsure[m.Destination] {
			continue
		}
		w := icmWait{m.pair(), m.Status, ""}
		switch {
		case m.Status != data.ICMPending:
		case m.position() >= lastSent[w.icmPair]:
			w.why = "waiting"
		case m.Events != nil && m.Events.Later != nil && *m.Events.Later > m.Events.Fee:
			w.why = "fee"
		default:
			w.why = "overtaken"
		}
		if first, found := longest[w]; !found || t.compare(id, first) < 0 {
			longest[w] = id
		}
	}
	return longest
}

// set exports the messages. of returns the label address of a lane; names are the names of the monitored chains, by blockchain ID.
func (t *icmTotals) set(out *metric.Batch, of func(icmLane) string, names map[string]string) {
	var lanes []icmLane
	for _, l := range t.Lanes {
		l.Counts, l.Deliverers = maps.Clone(l.Counts), maps.Clone(l.Deliverers)
		lanes = append(lanes, l)
	}
	for _, m := range t.Recent {
		var l *icmLane
		lanes, l = addMessage(lanes, m)
		if m.Status == data.ICMPending && !m.Unclear && !t.unsure[m.Destination] && (l.oldest.IsZero() || m.At.Before(l.oldest)) {
			l.oldest = m.At
		}
	}
	longest := t.longest()
	for _, l := range lanes {
		address, from, to := of(l), cmp.Or(names[l.Source], l.Source), cmp.Or(names[l.Destination], l.Destination)
		for _, status := range []string{data.ICMPending, icmGivenUp, data.ICMDelivered, data.ICMDeliveredSourceNotIndexed, icmExecutionFailed} {
			l.Counts[status] += 0
		}
		for status, n := range l.Counts { // the service may report other statuses too
			out.Set(icmMessages, float64(n), address, from, to, status)
		}
		for deliverer, n := range l.Deliverers {
			out.Set(icmDeliveries, float64(n), address, from, to, deliverer)
		}
		out.Set(icmReceipts, float64(l.Receipts), address, from, to)
		for w, id := range longest {
			m, block := t.Recent[id], ""
			if w.icmPair != (icmPair{l.Source, l.Destination}) || w.status == data.ICMPending && time.Since(m.At) < icmShownAfter {
				continue
			}
			if m.Events != nil {
				block = strconv.FormatUint(cmp.Or(m.Events.Blocks[icmFailed], m.Events.Blocks[icmSent]), 10)
			}
			out.SetTime(icmOldestMessage, m.At, address, from, to, w.status, w.why, id, block)
		}
		if !l.oldest.IsZero() {
			out.SetTime(icmOldestPending, l.oldest, address, from, to)
		}
		if !l.LastArrived.IsZero() {
			out.Set(icmLastDelivery, l.LastTook.Seconds(), address, from, to)
		}
	}
}

// compare orders two messages of a lane by the time of sending.
func (t *icmTotals) compare(a, b string) int {
	return cmp.Or(cmp.Compare(t.Recent[a].position(), t.Recent[b].position()), t.Recent[a].At.Compare(t.Recent[b].At), cmp.Compare(a, b))
}
