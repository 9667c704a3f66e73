package simnet

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// validatorsService is the service of a Subnet-EVM chain about its validators. Weights and times are numbers here, and strings
// in platform.
func validatorsService(c *chain) service {
	type params struct{ NodeIDs []nodeIDParam }
	return service{"validators", map[string]method{
		"getCurrentValidators": on(func(v *view, p params) (any, error) { return v.chainValidators(c, p.NodeIDs) }),
	}}
}

type chainValidator struct {
	ValidationID     string  `json:"validationID"`
	NodeID           string  `json:"nodeID"`
	Weight           uint64  `json:"weight"`
	StartTimestamp   int64   `json:"startTimestamp"`
	IsActive         bool    `json:"isActive"`
	IsL1Validator    bool    `json:"isL1Validator"`
	IsConnected      bool    `json:"isConnected"`
	UptimePercentage float32 `json:"uptimePercentage"`
	UptimeSeconds    int64   `json:"uptimeSeconds"`
}

// trackerPeriod is the interval at which a node applies changes of the validator set to its uptime tracker.
const trackerPeriod = time.Minute

func (v *view) chainValidators(c *chain, ids []nodeIDParam) (any, error) {
	tracked := v.lastRun(trackerPeriod)
	list := []chainValidator{}
	// inactive and added are for an L1 validator; a permissioned one is always active.
	add := func(r chainValidator, m *member, start time.Time, inactive spans, added time.Time) error {
		if len(ids) > 0 && !slices.Contains(ids, nodeIDParam(m.id)) {
			return nil
		}
		if added.After(tracked) {
			return fmt.Errorf("failed to get uptime for validation ID %s: %w", r.ValidationID, errors.New("validationID not found"))
		}
		fresh := added.After(tracked.Add(-trackerPeriod))
		whole := v.now.Sub(start)
		up := whole - v.lost(m, v.me, start, v.now, inactive)
		r.NodeID, r.StartTimestamp = m.id, start.Unix()
		r.UptimeSeconds, r.UptimePercentage = int64(up.Seconds()), 100
		if !fresh && whole > 0 {
			r.UptimePercentage = float32(100 * up.Seconds() / whole.Seconds())
		}
		r.IsConnected = (m == v.me || v.reaches(m, c.subnet) && len(v.node.benched[m]) == 0) && !fresh && !inactive.covers(tracked)
		list = append(list, r)
		return nil
	}
	for _, s := range c.subnet.stakers {
		r := chainValidator{ValidationID: s.txID, Weight: s.weight, IsActive: true}
		if err := add(r, s.member, s.start, nil, s.added); err != nil {
			return nil, err
		}
	}
	for _, l := range c.subnet.l1 {
		r := chainValidator{ValidationID: l.validationID, Weight: l.weight, IsActive: l.active(), IsL1Validator: true}
		if err := add(r, l.member, l.start, l.inactive, l.added); err != nil {
			return nil, err
		}
	}
	shuffle(v.net.rng, list)
	return struct {
		Validators []chainValidator `json:"validators"`
	}{list}, nil
}
