package collectors

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	payoutExpected = metric.New("avax_payout_expected_avax",
		"Expected reward in AVAX of a staking period that ended within the last 30 days. For a monitored validator it includes its share of its delegators' "+
			"rewards. For a delegation of a monitored address it is the reward after the validator's fee. The label name is the name of the address, and empty for a "+
			"validator. Absent for an auto-renewed validator. If only the Data service lists a delegation, this is its estimate, and absent after a payment.",
		"node_id", "name", "tx_id")
	payoutPaid = metric.New("avax_payout_paid_avax",
		"Reward in AVAX that was paid for this period. 0 if nothing was paid.", "node_id", "name", "tx_id")
	payoutEnd = metric.New("avax_payout_end_timestamp_seconds",
		"End of this period, in Unix seconds.", "node_id", "name", "tx_id")
	payoutUptime = metric.New("avax_payout_uptime_ratio",
		"Uptime of the validator (0 to 1) that was known last before the end of this period. Absent if none was known.", "node_id", "name", "tx_id")
	validatorNextReward = metric.New("avax_validator_next_reward_avax",
		"Reward in AVAX of the validator's own stake for a period that starts now. The period is as long as the current one. For an auto-renewed validator, it is "+
			"as long as the next one.", "node_id")
)

var payouts = &collector.Spec{
	Name: "payouts",
	Help: "Whether staking periods that ended were paid as expected, and the reward of a new period at the present rate.",
	Calls: []string{"platform.getCurrentValidators", "platform.getRewardUTXOs", "platform.getCurrentSupply", "info.upgrades", "info.getNodeID",
		"info.getNetworkID", data.ListRewards.Op(), data.ListPendingRewards.Op(),
		data.ListTransactions.Op()},
	Every:    10 * time.Minute,
	Families: []*metric.Family{payoutExpected, payoutPaid, payoutEnd, payoutUptime, validatorNextReward},
	Bind:     collector.Per(collector.Network, collectPayouts),
	Cost: func(w collector.Watchlist, _ int) map[string]int {
		return map[string]int{data.ListRewards.Op(): pagesOf(w.Delegators), data.ListPendingRewards.Op(): pagesOf(w.Delegators),
			data.ListTransactions.Op(): min(1, len(w.Delegators))}
	},
}

// payoutsKept is the time after its end for which a period is exported.
const payoutsKept = 30 * 24 * time.Hour

// payout is a staking period, as it was known last before its end.
type payout struct {
	NodeID    string
	End       time.Time
	Stake     wire.NanoAVAX // of a delegation
	Expected  wire.NanoAVAX
	Estimated bool     // Expected is the Data service's estimate
	Uptime    *float64 // of the validator
}

// expectPayouts stores the current periods of a delegator, by the transaction that staked. An empty name means the monitored validators.
func expectPayouts(ups *collector.Upstreams, out *metric.Batch, name string, current map[string]payout) {
	all := map[string]payout{}
	maps.Copy(all, payoutsOf(ups, name))
	for tx, p := range current {
		if known, there := all[tx]; there && p.Estimated && !known.Estimated { // after the end, only the service lists the delegation
			known.End = p.End
			p = known
		}
		all[tx] = p
	}
	maps.DeleteFunc(all, func(_ string, p payout) bool { return time.Since(p.End) > payoutsKept })
	ups.Save(out, "payouts "+name, all)
}

func payoutsOf(ups *collector.Upstreams, name string) map[string]payout {
	return collector.Load[map[string]payout](ups, "payouts "+name)
}

func collectPayouts(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
	var names []string
	for _, d := range ups.Watched().Delegators {
		names = append(names, d.Name)
	}
	if !ups.IsEmpty() {
		if err := expectRewards(ctx, ups, out); err != nil {
			return err
		}
		names = append([]string{""}, names...) // without nodes, nobody reports what the validators were paid
	}
	ended := endedPayouts{}
	for _, name := range names {
		ended[name] = maps.Clone(payoutsOf(ups, name))
		maps.DeleteFunc(ended[name], func(_ string, p payout) bool { return p.End.After(time.Now()) })
	}
	r := payoutReader{ups: ups, ended: ended, settled: map[string]wire.NanoAVAX{}}
	maps.Copy(r.settled, collector.Load[map[string]wire.NanoAVAX](ups, settledEntry))
	if ups.Data != nil {
		r.service = &serviceReader{ups: ups, ended: ended}
	}
	defer r.save(out) // a run that fails has also read some
	for _, name := range names {
		for tx, p := range ended[name] {
			paid, known, err := r.paid(ctx, name, tx)
			if err != nil {
				return err
			}
			if !p.Estimated || paid == 0 {
				out.Set(payoutExpected, p.Expected.AVAX(), p.NodeID, name, tx)
			}
			if known {
				out.Set(payoutPaid, paid.AVAX(), p.NodeID, name, tx)
			} else if r.service != nil {
				out.Note("the Data service does not list the reward of %s yet, which has ended", tx)
			}
			out.SetTime(payoutEnd, p.End, p.NodeID, name, tx)
			if p.Uptime != nil {
				out.Set(payoutUptime, *p.Uptime, p.NodeID, name, tx)
			}
		}
	}
	return nil
}

// payoutReader finds what was paid for periods that have ended. What nodes report does not change: it is stored, so that they are not asked for
// a month for the rewards of what may be all validators of the network.
type payoutReader struct {
	ups     *collector.Upstreams
	ended   endedPayouts
	service *serviceReader           // nil without the Data service
	settled map[string]wire.NanoAVAX // what nodes reported, by transaction
}

const settledEntry = "payouts settled"

func (r *payoutReader) save(out *metric.Batch) {
	maps.DeleteFunc(r.settled, func(tx string, _ wire.NanoAVAX) bool { return !r.ended.has(tx) })
	r.ups.Save(out, settledEntry, r.settled)
	if r.service != nil {
		r.service.save(out)
	}
}

// endedPayouts are the periods that have ended, by name and transaction.
type endedPayouts map[string]map[string]payout

func (e endedPayouts) has(tx string) bool {
	for _, of := range e {
		if _, there := of[tx]; there {
			return true
		}
	}
	return false
}

// paid returns the reward that was paid for a period, and whether it is known: as a node or an observer reports it, or else as the Data
// service lists the rewards.
func (r *payoutReader) paid(ctx context.Context, name, tx string) (sum wire.NanoAVAX, known bool, err error) {
	if sum, known := r.settled[tx]; known {
		return sum, true, nil
	}
	if !r.ups.IsEmpty() {
		sum, err := nodes.Agreed(ctx, r.ups.Pool, nodes.FactRewards, exactly, func(ctx context.Context, n *nodes.Node) (sum wire.NanoAVAX, err error) {
			outputs, err := nodes.Optional(n.PlatformRewardUTXOs(ctx, tx))
			for _, u := range outputs {
				sum += wire.NanoAVAX(u.Amount)
			}
			return sum, err
		})
		if err == nil && (sum > 0 || time.Since(r.ended[name][tx].End) > 24*time.Hour) {
			r.settled[tx] = sum
		}
		if err == nil || r.service == nil || !nodes.NotServed(err) {
			return sum, err == nil, err
		}
	}
	if r.service == nil { // neither a node nor a service can say it
		return 0, false, nil
	}
	r.service.validators = r.service.validators || name == ""
	return r.service.paid(ctx, tx)
}

// serviceReader finds the rewards of delegations that have ended in the Data service.
type serviceReader struct {
	ups   *collector.Upstreams
	ended endedPayouts
	found map[string]reading // by transaction; nil: not loaded yet
	read  bool               // in this run

	validators bool // no node reports the rewards of the monitored validators
}

// reading is what the Data service listed about the reward of a delegation.
type reading struct {
	Paid   wire.NanoAVAX
	At     time.Time // of the last reading
	Absent int       // readings in succession without a payment, each to the end of the list, when the service had indexed the end of the stake
}

// The service's list may be late, in any order, or corrected. Its readings decide only after absentTwice of them found no payment, and are
// repeated: in each run for readOften after the end and until they decide, then every readRarely.
const (
	absentTwice  = 2
	readOften    = 3 * time.Hour
	readRarely   = 6 * time.Hour
	readingEntry = "payouts read"
)

// paid returns the reward of a delegation or validator. It is not known while the service lists the delegation as pending or
// has not indexed its end, and until two successive
// readings of the whole list have no payment.
func (s *serviceReader) paid(ctx context.Context, tx string) (sum wire.NanoAVAX, known bool, err error) {
	if s.found == nil {
		s.found = map[string]reading{}
		maps.Copy(s.found, collector.Load[map[string]reading](s.ups, readingEntry))
	}
	if !s.read {
		s.read = true
		if err := s.readDue(ctx); err != nil {
			return 0, false, err
		}
	}
	r := s.found[tx]
	return r.Paid, r.Paid > 0 || r.Absent >= absentTwice, nil
}

// readDue reads what is due. One list has the rewards of all addresses that the validators of these delegations paid. Another one has the rewards of
// the monitored validators, if no node reports them.
func (s *serviceReader) readDue(ctx context.Context) error {
	d := s.due()
	if len(d.ends) == 0 {
		return nil
	}
	network, err := s.ups.FindNetwork(ctx)
	if err != nil {
		return err
	}
	for of := range slices.Chunk(d.addresses, data.MaxAddresses) {
		for by := range slices.Chunk(d.validators, data.MaxAddresses) {
			if err := s.readPaid(ctx, network, of, by, d); err != nil {
				return err
			}
		}
	}
	pending, err := pendingDelegations(ctx, s.ups, d.addresses)
	if err != nil {
		return err
	}
	for by := range slices.Chunk(d.monitored, data.MaxAddresses) {
		if err := s.readPaid(ctx, network, nil, by, d); err != nil {
			return err
		}
		for p, err := range s.ups.Data.PendingRewards(ctx, network, nil, by) {
			if err != nil {
				return err
			}
			pending = append(pending, p)
		}
	}
	indexed, err := s.ups.Data.IndexedUntil(ctx, network)
	if err != nil && scrape.OutcomeOf(err) != scrape.NotFound {
		return err
	}
	for tx, end := range d.ends {
		r := reading{Paid: d.paid[tx], At: time.Now()}
		isPending := slices.ContainsFunc(pending, func(d data.PendingReward) bool { return d.TxHash == tx })
		if r.Paid == 0 && !isPending && (indexed.IsZero() || indexed.After(end)) {
			r.Absent = s.found[tx].Absent + 1
		}
		s.found[tx] = r
	}
	return nil
}

// dueRewards are the rewards to read in this run.
type dueRewards struct {
	ends                             map[string]time.Time     // of the stakes, by transaction
	paid                             map[string]wire.NanoAVAX // what is listed, by transaction
	validators, addresses, monitored []string                 // validators and owners of delegations, and monitored validators
}

// due returns what has no decided reading yet, or not one of the last hours.
func (s *serviceReader) due() dueRewards {
	d := dueRewards{ends: map[string]time.Time{}, paid: map[string]wire.NanoAVAX{}}
	for name, ended := range s.ended {
		for tx, p := range ended {
			r := s.found[tx]
			decided := r.Paid > 0 || r.Absent >= absentTwice
			switch {
			case decided && time.Since(p.End) >= readOften && time.Since(r.At) < readRarely:
				continue
			case name != "":
				d.validators = append(d.validators, p.NodeID)
				d.addresses = append(d.addresses, s.ups.Watched().Delegator(name))
			case s.validators:
				d.monitored = append(d.monitored, p.NodeID)
			default:
				continue
			}
			d.ends[tx] = p.End
		}
	}
	for _, list := range []*[]string{&d.validators, &d.addresses, &d.monitored} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	d.addresses = slices.DeleteFunc(d.addresses, func(a string) bool { return a == "" })
	return d
}

// readPaid adds up the rewards that validators paid to addresses; without addresses, to all.
func (s *serviceReader) readPaid(ctx context.Context, network string, addresses, validators []string, d dueRewards) error {
	for r, err := range s.ups.Data.Rewards(ctx, network, addresses, validators) {
		if err != nil {
			return err
		}
		tx := r.TxHash
		if r.RewardType == data.RewardValidatorFee { // which may be listed under the transaction of a delegation
			tx = s.endedAt(r.NodeID, r.EndTimestamp.Time, tx)
		}
		if _, is := d.ends[tx]; is {
			d.paid[tx] += wire.NanoAVAX(r.Reward.Amount.Uint64())
		}
	}
	return nil
}

// endedAt returns the transaction of a monitored validator that ended at a time; otherwise tx.
func (s *serviceReader) endedAt(nodeID string, at time.Time, tx string) string {
	for known, p := range s.ended[""] {
		if p.NodeID == nodeID && p.End.Equal(at) {
			return known
		}
	}
	return tx
}

// save stores what was found, of the delegations that are still exported.
func (s *serviceReader) save(out *metric.Batch) {
	if !s.read {
		return
	}
	maps.DeleteFunc(s.found, func(tx string, _ reading) bool { return !s.ended.has(tx) })
	s.ups.Save(out, readingEntry, s.found)
}

// expectRewards stores the current periods of the monitored validators, and exports what a new period would earn.
func expectRewards(ctx context.Context, ups *collector.Upstreams, out *metric.Batch) error {
	entries, reporter, err := monitoredEntries(ctx, ups)
	if err != nil {
		return err
	}
	supply, err := currentSupply(scrape.MaxAge(ctx, collector.FullSetEvery), ups)
	if err != nil {
		return err
	}
	helicon, err := heliconTime(ctx, ups)
	if err != nil {
		return err
	}
	current, downtimes := map[string]payout{}, collector.Load[map[string]staking.Downtime](ups, downtimeEntry)
	for _, v := range entries {
		if v.EndTime == nil || v.PotentialReward == nil {
			continue
		}
		length := v.EndTime.Sub(v.StartTime.Time)
		if v.NextPeriod != nil && v.NextPeriod.Duration > 0 {
			length = v.NextPeriod.Duration
		}
		out.Set(validatorNextReward, wire.NanoAVAX(staking.Reward(uint64(v.Weight), uint64(supply.Supply), length, time.Now(), helicon)).AVAX(), v.NodeID)
		if v.TxID == "" || v.NextPeriod != nil { // a node lists the rewards of an auto-renewed validator under another transaction
			continue
		}
		p := payout{NodeID: v.NodeID, End: v.EndTime.Time, Expected: *v.PotentialReward, Uptime: uptimeOf(v, reporter)}
		if v.AccruedDelegateeReward != nil {
			p.Expected += *v.AccruedDelegateeReward
		}
		if d, there := downtimes[v.NodeID]; there && d.At.After(d.Start) {
			up := 1 - d.Used.Seconds()/d.At.Sub(d.Start).Seconds()
			p.Uptime = &up
		}
		current[v.TxID] = p
	}
	expectPayouts(ups, out, "", current)
	return nil
}

// uptimeOf returns the uptime of a validator that another node reports; nil if none does. A node reports 100 % for itself.
func uptimeOf(v node.Validator, reporter string) *float64 {
	if v.Uptime == nil || v.NodeID == reporter {
		return nil
	}
	ratio := v.Uptime.Ratio()
	return &ratio
}

// uptimeIn returns the median of the uptimes of a validator that other nodes report; nil if none does.
func uptimeIn(views []reported, id string) *float64 {
	var all []float64
	for _, view := range views {
		for _, v := range view.entries {
			if uptime := uptimeOf(v, view.by); v.NodeID == id && uptime != nil {
				all = append(all, *uptime)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &all[(len(all)-1)/2]
}
