package collectors

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

var (
	icmMessages = metric.New("avax_icm_messages",
		"Messages between chains that a monitored address sent or received, by status. Counted from one day before the address was first monitored. Status pending: not delivered. Status given_up: pending for a week, no longer tracked. Status delivered: delivered and executed. Status delivered_source_not_indexed: delivered, but the Data service does not know the source transaction. Status execution_failed: delivered, but the call on the destination chain failed. The labels source and destination are names of AVAX_CHAINS, or blockchain IDs. Only 100 pairs of chains have series of their own. The series source=other, destination=other is the sum of the others.",
		"address", "source", "destination", "status")
	icmOldestPending = metric.New("avax_icm_oldest_pending_timestamp_seconds",
		"Time at which the oldest pending message was sent, in Unix seconds. Absent if no message is pending. After a week, a pending message gets the status given_up and no longer counts.", "address", "source", "destination")
	icmDeliveries = metric.New("avax_icm_deliveries",
		"Delivered messages by the address that delivered them. A message counts only if the Data service knows that address. Only 20 addresses per pair of chains have series of their own. The series deliverer=other is the sum of the others.",
		"address", "source", "destination", "deliverer")
	icmReceipts = metric.New("avax_icm_receipts",
		"Delivered messages whose receipt has arrived at the source chain. The exporter requests each message for about an hour after it was sent: a later receipt does not count.",
		"address", "source", "destination")
	icmLastDelivery = metric.New("avax_icm_last_delivery_seconds",
		"Time in seconds between the sending and the delivery of the message that was delivered last.", "address", "source", "destination")
)

var icm = &Spec{
	Name:     "icm",
	Help:     "Cross-chain messages that the monitored EVM addresses sent or received.",
	Calls:    []string{opICMMessages, "platform.getBlockchains", "info.getBlockchainID", "info.getNetworkID"},
	Every:    2 * time.Minute,
	Families: []*metric.Family{icmMessages, icmOldestPending, icmLastDelivery, icmDeliveries, icmReceipts},
	Scope:    metric.ScopeItem,
	Bind:     withData(perItem(Watchlist.evm, collectICM)),
	Cost:     calls(opICMMessages, 1),
}

func collectICM(ctx context.Context, ups *Upstreams, address string, out *metric.Batch) error {
	name := ups.Data.entry("icm", address)
	totals := load[icmTotals](&ups.Data.Ledger, out, name)
	paging := data.Paging{PageSize: icmPage, MaxPages: maxNewPages}
	truncated, err := totals.read(readable(out, ups.Data.ICMMessages(ctx, ups.Data.networkName(), address, paging)))
	if err != nil {
		return ifRejected(err, "AVAX_WATCH_ADDRESSES")
	}
	if truncated {
		out.Note("%s has more messages than one run reads: some are not counted", address)
	}
	ups.Data.Ledger.save(out, name, totals)

	names := map[string]string{}
	for _, c := range ups.Chains() {
		switch b, err := ups.KnownBlockchain(ctx, c); {
		case err == nil:
			names[b.ID] = c.Name
		case scrape.OutcomeOf(err) != scrape.NotFound:
			return err // the label would change from the chain's name to its ID
		}
	}
	totals.set(out, address, func(blockchainID string) string {
		if name, monitored := names[blockchainID]; monitored {
			return name
		}
		return blockchainID
	})
	return nil
}

// icmTotals is the ledger entry for the messages of a monitored address.
type icmTotals struct {
	Newest time.Time             // time at which the newest message was sent
	Deep   time.Time             // time of the last run that read down to the oldest pending message
	Recent map[string]icmMessage // messages that a later run reads again, by ID
	Lanes  []icmLane             // sums of all other messages
}

// icmMessage is the stored part of a message.
type icmMessage struct {
	Source, Destination string
	Status              string
	Deliverer           string    // empty if unknown
	Receipt             bool      // true if the receipt has arrived at the source
	At                  time.Time // time of sending; if that is not known, the time of delivery
	Arrived             time.Time // time of delivery; zero if not delivered or not known
}

// icmLane is the sum of the messages from one source chain to one destination chain.
type icmLane struct {
	Source, Destination string
	Counts              map[string]int // messages by status
	Deliverers          map[string]int // deliveries by address
	Receipts            int
	LastArrived         time.Time     // time of the last delivery
	LastTook            time.Duration // time from sending to delivery of the message that was delivered last

	oldest time.Time // when the oldest pending message was sent; zero if no message is pending
}

const (
	// icmFirstRead is the age of the oldest messages that the first run reads.
	icmFirstRead = 24 * time.Hour
	// icmMaxDelay is the maximum time from the sending of a message until the service lists the message with its
	// source transaction.
	icmMaxDelay = time.Hour
	// icmPage is the number of messages per call.
	icmPage = 100
	// icmDeepEvery is the minimum time between two runs that read down to the oldest pending message. Such a run may
	// need many pages, because a message may stay pending for days.
	icmDeepEvery = time.Hour
	// icmGiveUpAfter is the age at which a pending message gets the status given_up.
	icmGiveUpAfter = 7 * 24 * time.Hour
	// icmMaxPending is the maximum number of pending messages. If there are more, the oldest get the status given_up.
	icmMaxPending = 10_000
	// icmMaxLanes is the maximum number of lanes. All further messages are in one lane, whose source and destination
	// are other. A limit is needed, because anybody may create a chain and send messages from it.
	icmMaxLanes = 100
)

// read reads the list of messages, newest first, and updates the totals. It reads at least down to icmMaxDelay before
// b.Newest, and then the rest of that page. Once per icmDeepEvery it continues to the oldest pending message. truncated
// is true if the list has more pages than one run reads.
func (b *icmTotals) read(newest iter.Seq2[data.ICMMessage, error]) (truncated bool, err error) {
	now := time.Now()
	if b.Newest.IsZero() {
		b.Newest = now.Add(icmMaxDelay - icmFirstRead)
	}
	if b.Recent == nil {
		b.Recent = map[string]icmMessage{}
	}
	b.Lanes = slices.DeleteFunc(b.Lanes, func(l icmLane) bool { return l.Counts == nil }) // only an edited file has such a lane
	from := b.Newest.Add(-icmMaxDelay)                                                    // an earlier run read older messages
	down := from
	for _, m := range b.Recent {
		down = earlier(down, m.At)
	}
	deep := now.Sub(b.Deep) >= icmDeepEvery
	if deep {
		b.Deep = now
	}

	listed := map[string]bool{}
	var reached time.Time // all messages that were sent after this time have been read
	read := 0
	for message, err := range newest {
		if data.IsTruncated(err) {
			truncated = true
			break
		}
		if err != nil {
			return false, err
		}
		m := icmMessageOf(message)
		if m.At.IsZero() || len(message.MessageID) > metric.MaxValue {
			continue // the message has no transaction, or its ID is too long
		}
		if reached = m.At; m.At.Before(down) {
			break
		}
		listed[message.MessageID] = true
		if _, open := b.Recent[message.MessageID]; open || !m.At.Before(from) {
			b.Recent[message.MessageID] = m
			b.Newest = later(b.Newest, m.At)
		}
		if read++; read%icmPage == 0 && !deep && m.At.Before(from) {
			break
		}
	}
	for id, m := range b.Recent {
		if m.Status == data.ICMPending && !listed[id] && m.At.After(reached) {
			delete(b.Recent, id) // the service no longer lists the message
		}
	}
	b.settle(now)
	return truncated, nil
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

func icmMessageOf(m data.ICMMessage) icmMessage {
	k := icmMessage{Source: m.SourceBlockchainID, Destination: m.DestinationBlockchainID, Status: m.Status, Receipt: m.ReceiptDelivered}
	if (m.Status == data.ICMDelivered || m.Status == data.ICMDeliveredSourceNotIndexed) && !m.MessageExecuted {
		k.Status = icmExecutionFailed
	}
	for _, chain := range []*string{&k.Source, &k.Destination} {
		if len(*chain) > metric.MaxValue {
			*chain = other
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

// settle moves messages from Recent to the sums. It moves a message if no later run reads the message again.
func (b *icmTotals) settle(now time.Time) {
	var waiting []string
	for id, m := range b.Recent {
		switch {
		case !m.At.Before(b.Newest.Add(-icmMaxDelay)):
		case m.mayChange() && now.Sub(m.At) < icmGiveUpAfter:
			waiting = append(waiting, id)
		default:
			b.close(id)
		}
	}
	if beyond := len(waiting) - icmMaxPending; beyond > 0 {
		slices.SortFunc(waiting, func(a, c string) int { return b.Recent[a].At.Compare(b.Recent[c].At) })
		for _, id := range waiting[:beyond] {
			b.close(id)
		}
	}
}

// close moves a message from Recent to the sums.
func (b *icmTotals) close(id string) {
	m := b.Recent[id]
	if m.Status == data.ICMPending {
		m.Status = icmGivenUp
	}
	b.Lanes, _ = addMessage(b.Lanes, m)
	delete(b.Recent, id)
}

// addMessage adds a message to the sums of its lane, and returns that lane.
func addMessage(lanes []icmLane, m icmMessage) ([]icmLane, *icmLane) {
	i := 0
	for i < len(lanes) && (lanes[i].Source != m.Source || lanes[i].Destination != m.Destination) {
		i++
	}
	if i == len(lanes) && i >= icmMaxLanes && m.Source != other {
		m.Source, m.Destination = other, other
		return addMessage(lanes, m)
	}
	if i == len(lanes) {
		lanes = append(lanes, icmLane{Source: m.Source, Destination: m.Destination, Counts: map[string]int{}})
	}
	l := &lanes[i]
	l.Counts[kindOrOther(l.Counts, m.Status)]++
	if l.Deliverers == nil {
		l.Deliverers = map[string]int{}
	}
	if m.Deliverer != "" {
		l.Deliverers[kindOrOther(l.Deliverers, m.Deliverer)]++
	}
	if m.Receipt {
		l.Receipts++
	}
	if m.Status == data.ICMDelivered && m.Arrived.After(l.LastArrived) {
		l.LastArrived, l.LastTook = m.Arrived, m.Arrived.Sub(m.At)
	}
	return lanes, l
}

func (b *icmTotals) set(out *metric.Batch, address string, named func(blockchainID string) string) {
	var lanes []icmLane
	for _, l := range b.Lanes {
		l.Counts, l.Deliverers = maps.Clone(l.Counts), maps.Clone(l.Deliverers)
		lanes = append(lanes, l)
	}
	for _, m := range b.Recent {
		var l *icmLane
		lanes, l = addMessage(lanes, m)
		if m.Status == data.ICMPending && (l.oldest.IsZero() || m.At.Before(l.oldest)) {
			l.oldest = m.At
		}
	}
	for _, l := range lanes {
		from, to := named(l.Source), named(l.Destination)
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
		if !l.oldest.IsZero() {
			out.SetTime(icmOldestPending, l.oldest, address, from, to)
		}
		if !l.LastArrived.IsZero() {
			out.Set(icmLastDelivery, l.LastTook.Seconds(), address, from, to)
		}
	}
}
