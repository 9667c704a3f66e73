package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// Health is the result of a node's health checks. They run every 30 seconds.
type Health struct {
	Healthy bool                   `json:"healthy"`
	Checks  map[string]HealthCheck `json:"checks"` // by name, such as network, or by alias or ID of the chain

	lost Lacking // checks
}

// HealthCheck is the last result of one check.
type HealthCheck struct {
	Message   healthMessage `json:"message,omitzero"`   // of a chain, or of the check named diskspace
	Failures  *wire.Uint64  `json:"contiguousFailures"` // absent while healthy
	Error     string        `json:"error,omitzero"`     // empty while healthy; "not yet run" for up to half a minute after the start
	Timestamp wire.PastTime `json:"timestamp"`          // time of the run; year 1 before the first run
}

// Failure returns the error text of a failing check in one line, and an empty text if the check is healthy. The engine of a chain joins what fails
// by line breaks, seen with AvalancheGo 1.14.2.
func (c HealthCheck) Failure() string {
	if c.Error == "" && c.Failures != nil && *c.Failures > 0 {
		return "no text"
	}
	return strings.Join(strings.Fields(c.Error), " ")
}

// healthMessage holds the facts in the message of a check. A message of another form is not an error, unless it is that of a chain or of the disk.
type healthMessage struct {
	consensus
	present         bool
	incomplete      error
	DiskFreeBytes   *wire.Uint64 // free bytes of the volume that holds the database; nil unless the check is diskspace
	DiskFreePercent *wire.Uint64 // the same in percent of the volume, rounded down

	Networking *Networking  // of a chain
	Upgrade    upgradeVotes // of the check futureupgrade
	Network    traffic      // of the check network
}

// Networking is the share of the weight that the engine of a chain is connected to, and the validators that it is not connected to.
type Networking struct {
	Disconnected   wire.List[string] `json:"disconnectedValidators"` // node IDs; inactive L1 validators count, as one ID
	ShareConnected wire.Amount       `json:"percentConnected"`       // 0 to 1, by weight
}

// upgradeVotes is what the connected validators say about the newest upgrade that they know.
type upgradeVotes struct {
	At     *wire.Time    `json:"modeUpgradeTime"`             // of the upgrade that most of the stake knows
	Weight *wire.Percent `json:"modeUpgradeWeightPercentage"` // of all stake
}

// traffic is about the messages to and from all peers.
type traffic struct {
	Peers        *wire.Uint64     `json:"connectedPeers"`
	SendFailures *wire.Amount     `json:"sendFailRate"`             // share of the messages
	SinceLast    *wire.GoDuration `json:"timeSinceLastMsgReceived"` // absent without peers
}

// consensus holds the facts about a chain. All are nil unless the check is about a bootstrapped chain.
type consensus struct {
	LastAcceptedHeight     *wire.Uint64     `json:"lastAcceptedHeight"`     // of the newest accepted block; the VM may not have executed it
	ProcessingBlocks       *wire.Uint64     `json:"processingBlocks"`       // blocks in voting
	LongestProcessingBlock *wire.GoDuration `json:"longestProcessingBlock"` // how long the oldest of these blocks has been in voting
}

// UnmarshalJSONFrom reads the next value of d of any type.
func (m *healthMessage) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	var of struct {
		Bytes      *wire.Uint64 `json:"availableDiskBytes"`
		Percent    *wire.Uint64 `json:"availableDiskPercentage"`
		Networking *Networking  `json:"networking"`
		Engine     *struct {
			Consensus *consensus `json:"consensus"`
		} `json:"engine"`
		upgradeVotes
		traffic
	}
	err = wire.DecodeBytes(text, &of)
	m.present = true
	switch {
	case text.Kind() != jsontext.KindBeginObject:
		return nil
	case err != nil:
		m.incomplete = err
		return nil
	case of.Engine != nil && of.Engine.Consensus != nil && of.Networking != nil:
		m.consensus = *of.Engine.Consensus
	case of.Engine != nil || of.Networking != nil:
		m.incomplete = errors.New("engine.consensus or networking is missing")
	}
	m.Networking, m.Upgrade, m.Network = of.Networking, of.upgradeVotes, of.traffic
	if m.DiskFreeBytes, m.DiskFreePercent = of.Bytes, of.Percent; (of.Bytes == nil) != (of.Percent == nil) {
		m.incomplete = errors.New("one of availableDiskBytes and availableDiskPercentage is missing")
	}
	if c := m.consensus; c != (consensus{}) && (c.LastAcceptedHeight == nil || c.ProcessingBlocks == nil || c.LongestProcessingBlock == nil) {
		m.incomplete = errors.New("one of lastAcceptedHeight, processingBlocks and longestProcessingBlock is missing")
	}
	return nil
}

// checksOfNode are the checks of each node, beside those of its disk and its chains.
var checksOfNode = []string{"bls", "bootstrapped", "database", "futureupgrade", "network", "router"}

// noValidators is a part of the error text of a node that has just started, and has no votes about upgrades yet.
const noValidators = "no validators"

// Incomplete returns what the answer lacks that the answers of all known releases have.
func (h Health) Incomplete() error {
	errs := []error{h.lost.Incomplete()}
	for name, check := range h.Checks {
		if err := check.Message.incomplete; err != nil {
			errs = append(errs, fmt.Errorf("check %s: %w", name, err))
		}
	}
	for _, name := range []string{"P", "diskspace"} {
		if _, there := h.Checks[name]; !there {
			errs = append(errs, fmt.Errorf("check %s is missing", name))
		}
	}
	if disk, there := h.Checks["diskspace"]; there && !disk.Timestamp.IsZero() && disk.Message.DiskFreeBytes == nil && disk.Message.incomplete == nil {
		errs = append(errs, errors.New("check diskspace: availableDiskBytes is missing"))
	}
	if check := h.Checks["network"]; check.Message.present {
		if m := check.Message.Network; m.Peers == nil || m.SendFailures == nil || *m.Peers > 0 && m.SinceLast == nil {
			errs = append(errs, errors.New("check network: one of connectedPeers, sendFailRate and timeSinceLastMsgReceived is missing"))
		}
	}
	if check := h.Checks["futureupgrade"]; check.Message.present && (check.Message.Upgrade.At == nil || check.Message.Upgrade.Weight == nil) {
		errs = append(errs, errors.New("check futureupgrade: one of modeUpgradeTime and modeUpgradeWeightPercentage is missing"))
	}
	for name, check := range h.Checks {
		hasNone := name == "database" || check.Failure() != "" && name != "futureupgrade" || strings.Contains(check.Error, noValidators)
		if ran := !check.Timestamp.IsZero(); ran && !check.Message.present && !hasNone {
			errs = append(errs, fmt.Errorf("check %s: the message is missing", name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &scrape.Error{Op: getHealth.Op(), Outcome: scrape.Malformed, Err: err}
	}
	return nil
}

// Health calls GET /ext/health for all checks. The answer of an unhealthy node is not an error. Shortly after its start, a node
// may delay the answer.
func (c *Client) Health(ctx context.Context) (Health, error) {
	answer, err := call(ctx, c, getHealth, "", nil)
	if err == nil {
		has := map[string]bool{}
		for _, name := range checksOfNode {
			_, has["check "+name] = answer.Checks[name]
		}
		answer.lost = c.compare(getHealth.Method, "", has)
	}
	return answer, err
}
