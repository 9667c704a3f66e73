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
		"Messages between chains that a monitored address sent or received, by status, from a day before it was first monitored. Status pending: not delivered. Status given_up: pending for a week, no longer followed. Status delivered: delivered and executed. Status delivered_source_not_indexed: delivered, but the Data service does not know the sending. Status execution_failed: delivered, but its call failed. Chains have their configured names or their blockchain IDs. Beyond 100 pairs of chains, the rest is other.",
		"address", "source", "destination", "status")
	icmOldestPending = metric.New("avax_icm_oldest_pending_timestamp_seconds",
		"Time at which the oldest pending message was sent, in Unix seconds. Absent if none is pending. A message is given up after a week.", "address", "source", "destination")
	icmDeliveries = metric.New("avax_icm_deliveries",
		"Messages delivered, by the address that delivered them, if the Data service knows it. Beyond 20 addresses per pair of chains, the rest is other.",
		"address", "source", "destination", "deliverer")
	icmReceipts = metric.New("avax_icm_receipts",
		"Messages delivered whose receipt was back at the source when they were last read, about an hour after sending.",
		"address", "source", "destination")
	icmLastDelivery = metric.New("avax_icm_last_delivery_seconds",
		"Duration of the last delivery, from sending to delivery.", "address", "source", "destination")
)

var icm = &Spec{
	Name:     "icm",
	Help:     "Messages between chains of the monitored EVM addresses.",
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
	query := data.ICMQuery{Network: ups.Data.networkName(), Paging: data.Paging{PageSize: icmPage, MaxPages: maxNewPages}}
	truncated, err := totals.read(readable(out, ups.Data.ICMMessages(ctx, address, query)))
	if err != nil {
		return ifRejected(err, SettingAddresses)
	}
	if truncated {
		out.Note("of %s there are more messages than are read in one run: not all of them are counted", address)
	}
	ups.Data.Ledger.save(out, name, totals)

	names := map[string]string{}
	for _, c := range ups.Chains() {
		switch b, err := ups.knownBlockchain(ctx, c); {
		case err == nil:
			names[b.ID] = c.Name
		case scrape.OutcomeOf(err) != scrape.NotFound:
			return err // the ID would be another label value for the same chain
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

// icmTotals holds the counts of an address' messages since it is monitored.
type icmTotals struct {
	Newest time.Time             // of the newest message
	Deep   time.Time             // time of the last read down to the oldest pending message
	Recent map[string]icmMessage // messages that may be returned again, by ID
	Lanes  []icmLane             // sums over the others
}

// icmMessage is the stored part of a message.
type icmMessage struct {
	Source, Destination string
	Status              string
	Deliverer           string    // empty if unknown
	Receipt             bool      // the receipt has arrived
	At                  time.Time // time of sending, or of arrival if that is unknown
	Arrived             time.Time // zero if it has not arrived or the time is unknown
}

// icmLane is a pair of source and destination chain.
type icmLane struct {
	Source, Destination string
	Counts              map[string]int // by status
	Deliverers          map[string]int // deliveries by address
	Receipts            int
	LastArrived         time.Time
	LastTook            time.Duration

	oldest time.Time // of the pending messages; zero without any
}

const (
	// icmBegins is how far back the first run reads.
	icmBegins = 24 * time.Hour
	// icmRecent is the maximum delay until the service lists a message and the time at which it was sent.
	icmRecent = time.Hour
	// icmPage is the number of messages per call.
	icmPage = 100
	// icmDeepEvery is the time between extra calls for pending messages. Some stay pending forever, below all
	// newer messages.
	icmDeepEvery = time.Hour
	// icmGivesUp is the time after which a pending message is given up.
	icmGivesUp = 7 * 24 * time.Hour
	// icmMostPending is the maximum number of pending messages; beyond it the oldest are given up.
	icmMostPending = 10_000
	// icmMostLanes is the maximum number of lanes with sums of their own. Anybody may create a chain and send a
	// message from it.
	icmMostLanes = 100
)

// read reads from the newest message down to where no message can have changed. It updates the
// pending messages that it finds there. Once per icmDeepEvery it reads on, down to the oldest pending message.
func (b *icmTotals) read(newest iter.Seq2[data.ICMMessage, error]) (truncated bool, err error) {
	now := time.Now()
	if b.Newest.IsZero() {
		b.Newest = now.Add(icmRecent - icmBegins)
	}
	if b.Recent == nil {
		b.Recent = map[string]icmMessage{}
	}
	b.Lanes = slices.DeleteFunc(b.Lanes, func(l icmLane) bool { return l.Counts == nil }) // the file was edited
	from := b.Newest.Add(-icmRecent)                                                      // older messages were read before
	down := from
	for _, m := range b.Recent {
		down = earlier(down, m.At)
	}
	deep := now.Sub(b.Deep) >= icmDeepEvery
	if deep {
		b.Deep = now
	}

	listed := map[string]bool{}
	var reached time.Time // all later messages have been read
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
		if m.At.IsZero() || len(message.MessageID) > metric.MostValue {
			continue // it has no transaction, or its ID is too long
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
			delete(b.Recent, id) // the service has removed it
		}
	}
	b.settle(now)
	return truncated, nil
}

// Statuses that the exporter adds to those of the service.
const (
	icmGivenUp         = "given_up"
	icmExecutionFailed = "execution_failed"
)

// mayChange reports whether a message may change: it may be delivered, and a failed execution may be repeated.
func (m icmMessage) mayChange() bool {
	return m.Status == data.ICMPending || m.Status == icmExecutionFailed
}

func icmMessageOf(m data.ICMMessage) icmMessage {
	k := icmMessage{Source: m.SourceBlockchainID, Destination: m.DestinationBlockchainID, Status: m.Status, Receipt: m.ReceiptDelivered}
	if (m.Status == data.ICMDelivered || m.Status == data.ICMDeliveredSourceNotIndexed) && !m.MessageExecuted {
		k.Status = icmExecutionFailed
	}
	for _, chain := range []*string{&k.Source, &k.Destination} {
		if len(*chain) > metric.MostValue {
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

// settle adds messages that are not read again to the sums.
func (b *icmTotals) settle(now time.Time) {
	var waiting []string
	for id, m := range b.Recent {
		switch {
		case !m.At.Before(b.Newest.Add(-icmRecent)):
		case m.mayChange() && now.Sub(m.At) < icmGivesUp:
			waiting = append(waiting, id)
		default:
			b.close(id)
		}
	}
	if beyond := len(waiting) - icmMostPending; beyond > 0 {
		slices.SortFunc(waiting, func(a, c string) int { return b.Recent[a].At.Compare(b.Recent[c].At) })
		for _, id := range waiting[:beyond] {
			b.close(id)
		}
	}
}

// close adds a message to the sums and stops tracking it.
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
	if i == len(lanes) && i >= icmMostLanes && m.Source != other {
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
		for status, n := range l.Counts { // further statuses may appear
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
