package simnet

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// healthPeriod is the interval of health checks. Between them the API returns the last results.
const healthPeriod = 30 * time.Second

type healthResult struct {
	Checks  map[string]healthCheck `json:"checks"`
	Healthy bool                   `json:"healthy"`
}

type healthCheck struct {
	Message            any        `json:"message,omitempty"`
	Error              string     `json:"error,omitempty"`
	Timestamp          time.Time  `json:"timestamp"`
	Duration           int64      `json:"duration"` // nanoseconds
	ContiguousFailures int64      `json:"contiguousFailures,omitempty"`
	TimeOfFirstFailure *time.Time `json:"timeOfFirstFailure,omitempty"`
}

// healthReply answers a GET: 503 while a check fails.
func (v *view) healthReply(q *query) reply {
	if q.Method != http.MethodGet {
		return newReply(http.StatusMethodNotAllowed, "text/plain; charset=utf-8", []byte("rpc: POST method required, received "+q.Method))
	}
	r := v.healthChecks(q.URL.Query()["tag"])
	status := http.StatusOK
	if !r.Healthy {
		status = http.StatusServiceUnavailable
	}
	return newReply(status, "application/json", encode(r))
}

// healthChecks runs all checks or, with tags, those of the node itself and of the named subnets.
func (v *view) healthChecks(tags []string) healthResult {
	checks := map[string]check{
		"bls":           (*view).checkBLS,
		"bootstrapped":  (*view).checkBootstrapped,
		"database":      func(*view) (any, string) { return nil, "" },
		"diskspace":     (*view).checkDisk,
		"futureupgrade": (*view).checkFutureUpgrade,
		"network":       (*view).checkNetwork,
		"router":        (*view).checkRouter,
	}
	if v.node.partial {
		checks["validation"] = func(v *view) (any, string) {
			if v.primary.staker(v.me) != nil {
				return nil, "node is a primary network validator"
			}
			return "node is not a primary network validator", ""
		}
	}
	for _, c := range v.chains {
		if len(tags) > 0 && !slices.Contains(tags, c.subnet.id) {
			continue
		}
		switch v.chainState(c) {
		case Running, Bootstrapping:
			checks[c.label()] = func(v *view) (any, string) { return v.checkChain(c) }
		case Failed:
			checks[c.label()] = func(*view) (any, string) {
				return nil, fmt.Sprintf("failed to create chain on subnet %s: error while creating new snowman vm rpc error: code = Unknown "+
					"desc = failed to verify genesis: invalid precompile upgrades: warp cannot be activated before Durango", c.subnet.id)
			}
		}
	}
	return v.run(checks)
}

// check returns a message and, if it fails, an error.
type check func(v *view) (any, string)

// run returns the results of the last run of the checks. Checks of chains first run one period after the start of the process.
func (v *view) run(checks map[string]check) healthResult {
	ran := v.lastRun(healthPeriod)
	for _, fate := range v.node.chains { // one check that hangs stops all
		if fate.state == Dead && fate.since.Before(ran) {
			ran = v.at(fate.since).lastRun(healthPeriod)
		}
	}
	early := !v.node.started.IsZero() && ran.Before(v.node.started.Add(v.net.opts.Startup.Listen+healthPeriod))
	ofNode := []string{"bls", "database", "diskspace", "futureupgrade", "network", "router"}
	r := healthResult{make(map[string]healthCheck), true}
	for name, f := range checks {
		if early && !slices.Contains(ofNode, name) {
			r.Checks[name], r.Healthy = healthCheck{Error: "not yet run"}, false
			continue
		}
		took := int64(2_000 + 40_000*v.chance("health", name, v.me.id))
		c := healthCheck{Timestamp: ran.Add(time.Duration(took)), Duration: took}
		c.Message, c.Error = f(v.at(ran))
		if c.Error != "" {
			r.Healthy = false
			c.ContiguousFailures, c.TimeOfFirstFailure = 1, &c.Timestamp
		}
		r.Checks[name] = c
	}
	return r
}

// fresh reports whether the process has just opened its port, and has not read the validator set yet.
func (v *view) fresh() bool { return v.age() <= v.net.opts.Startup.Listen }

func (v *view) checkBLS() (any, string) {
	if v.primary.staker(v.me) == nil || v.fresh() {
		return "node is not a validator", ""
	}
	return "node has the correct BLS key", ""
}

// checkBootstrapped names the subnets that are not bootstrapped.
func (v *view) checkBootstrapped() (any, string) {
	missing := []string{}
	for _, s := range v.subnets {
		if slices.ContainsFunc(s.chains, func(c *chain) bool {
			state := v.chainState(c)
			return state == Bootstrapping || state == Failed || state == notCreated && !c.isL1()
		}) {
			missing = append(missing, s.id)
		}
	}
	if len(missing) > 0 {
		return missing, "subnets not bootstrapped"
	}
	return missing, ""
}

func (v *view) checkDisk() (any, string) {
	free := v.node.disk.at(v.now)
	m := struct {
		Bytes      uint64 `json:"availableDiskBytes"`
		Percentage int    `json:"availableDiskPercentage"`
	}{uint64(free), int(100 * free / diskSize)}
	if m.Percentage < 10 {
		return m, fmt.Sprintf("remaining available disk space percentage (%d%%) is below the warning threshold of disk space (10%%)", m.Percentage)
	}
	return m, ""
}

// checkFutureUpgrade compares the upgrade that most of the connected stake announces with this node's own.
func (v *view) checkFutureUpgrade() (any, string) {
	weights := make(map[int64]uint64)
	var whole, largest uint64
	mode := int64(0)
	for _, s := range v.primary.stakers {
		whole += s.total()
		if !v.connected(s.member) {
			continue
		}
		at := s.member.upgradeTime.Unix()
		weights[at] += s.total()
		if weights[at] > largest {
			mode, largest = at, weights[at]
		}
	}
	if whole == 0 || v.fresh() {
		return nil, "no validators in the current validator set"
	}
	m := struct {
		Local  time.Time `json:"localUpgradeTime"`
		Mode   time.Time `json:"modeUpgradeTime"`
		Weight float64   `json:"modeUpgradeWeightPercentage"`
		Number int       `json:"numUpgradeTimes"`
		Until  string    `json:"timeUntilUpgrade,omitempty"`
	}{v.me.upgradeTime, time.Unix(mode, 0).UTC(), 100 * float64(largest) / float64(whole), len(weights), ""}
	if !m.Mode.After(m.Local) || m.Weight < 50 {
		return m, ""
	}
	until := m.Mode.Sub(v.now)
	m.Until = until.String()
	if until > 3*day {
		return m, ""
	}
	return m, "unknown network upgrade detected - update as soon as possible"
}

func (v *view) checkNetwork() (any, string) {
	peers := 0
	for _, m := range v.members {
		if v.connected(m) {
			peers++
		}
	}
	m := struct {
		Peers    int    `json:"connectedPeers"`
		SendFail int    `json:"sendFailRate"`
		Received string `json:"timeSinceLastMsgReceived,omitempty"`
		Sent     string `json:"timeSinceLastMsgSent,omitempty"`
	}{Peers: peers}
	if peers == 0 {
		return m, "network layer is unhealthy reason: not connected to a minimum of 1 peer(s) only 0, no messages received from network, no messages sent to network"
	}
	m.Received, m.Sent = "846.332348ms", "846.332348ms"
	return m, ""
}

// checkRouter fails while the node polls an L1 that lacks a large part of its weight: it asks for that part too, and waits for answers. Below the quorum
// a node does not poll. Seen with four validators of AvalancheGo 1.14.2 and a transaction every four seconds.
func (v *view) checkRouter() (any, string) {
	message := struct {
		Longest     string `json:"longestRunningRequest"`
		Outstanding int    `json:"outstandingRequests"`
	}{"0s", 0}
	for _, c := range v.chains {
		if share, _ := v.connectedShare(c); c.isL1() && v.chainState(c) == Running && share >= 0.75 && share < 0.8 {
			message.Longest, message.Outstanding = "1.998766821s", 1420
			return message, "the router is not healthy reason: number of outstanding requests 1420 > 1024"
		}
	}
	return message, ""
}

// connectedShare returns the share of the subnet's weight that is connected, and the IDs of the validators that are not. Inactive L1 validators
// count as disconnected.
func (v *view) connectedShare(c *chain) (share float64, away []string) {
	var whole, connected uint64
	away = []string{}
	add := func(m *member, weight uint64, active bool) {
		whole += weight
		if active && (m == v.me || v.reaches(m, c.subnet)) {
			connected += weight
		} else {
			away = append(away, m.id)
		}
	}
	for _, s := range c.subnet.stakers {
		add(s.member, s.total(), true)
	}
	for _, l := range c.subnet.l1 {
		add(l.member, l.weight, !l.inactive.covers(v.now))
	}
	slices.Sort(away)
	if whole == 0 {
		return 1, away
	}
	return float64(connected) / float64(whole), away
}

// checkChain fails while less than 80 % of the subnet's weight is connected.
func (v *view) checkChain(c *chain) (any, string) {
	share, away := v.connectedShare(c)
	consensus := map[string]any{}
	if v.chainState(c) == Running {
		h := v.head(c)
		if v.node.unexecuted[c] {
			h = c.heads.at(v.now)
		}
		consensus = map[string]any{
			"lastAcceptedHeight":     h.height,
			"lastAcceptedID":         v.newID("block", c.id, h.height),
			"longestProcessingBlock": "0s",
			"processingBlocks":       0,
		}
	}
	vm := json.RawMessage("null")
	if c.isL1() {
		vm = json.RawMessage(`{"database":null,"health":null}`)
	}
	message := map[string]any{
		"engine":     map[string]any{"consensus": consensus, "vm": vm},
		"networking": map[string]any{"disconnectedValidators": away, "percentConnected": share},
	}
	if share < 0.8 {
		return message, fmt.Sprintf("not connected to enough stake: connected to %f%%; required at least %f%%", 100*share, 80.0)
	}
	return message, ""
}
