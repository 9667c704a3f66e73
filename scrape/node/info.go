package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// ACP holds the votes on one Avalanche Community Proposal. Only validators that are connected to this node are counted. The
// node's own stake counts as abstaining.
type ACP struct {
	SupportWeight wire.NanoAVAX `json:"supportWeight"`
	Supporters    []string      `json:"supporters"` // node IDs
	ObjectWeight  wire.NanoAVAX `json:"objectWeight"`
	Objectors     []string      `json:"objectors"` // node IDs
	AbstainWeight wire.NanoAVAX `json:"abstainWeight"`
}

// ACPs calls info.acps: the current ACPs by number. The result is empty if the node's release has no ACPs to vote on.
func (c *Client) ACPs(ctx context.Context) (map[uint32]ACP, error) {
	return call(ctx, c, getACPs, "", nil)
}

// IsBootstrapped calls info.isBootstrapped for a chain by alias or blockchain ID. A chain that the node does not run is an
// error: see IsNoSuchChain.
func (c *Client) IsBootstrapped(ctx context.Context, chain string) (bool, error) {
	return call(ctx, c, isBootstrapped, "", map[string]string{"chain": chain})
}

// BlockchainID calls info.getBlockchainID. An alias that the node does not know is an error: see IsNoSuchChain.
func (c *Client) BlockchainID(ctx context.Context, alias string) (string, error) {
	return call(ctx, c, getBlockchainID, "", map[string]string{"alias": alias})
}

// NetworkID calls info.getNetworkID: 1 is mainnet, 5 is fuji.
func (c *Client) NetworkID(ctx context.Context) (uint64, error) {
	id, err := call(ctx, c, getNetworkID, "", nil)
	return uint64(id), err
}

// NetworkName calls info.getNetworkName: mainnet, fuji, or a name such as network-1337.
func (c *Client) NetworkName(ctx context.Context) (string, error) {
	return call(ctx, c, getNetworkName, "", nil)
}

// Identity is the node ID and BLS key of a node.
type Identity struct {
	Lacking `json:"-"`

	NodeID string `json:"nodeID"`
	POP    *struct {
		PublicKey string `json:"publicKey"` // 48 bytes, hex after 0x
	} `json:"nodePOP"`
}

// NodeID calls info.getNodeID.
func (c *Client) NodeID(ctx context.Context) (Identity, error) {
	answer, err := call(ctx, c, getNodeID, "", nil)
	if err == nil {
		answer.Lacking = c.compare(getNodeID.Method, "", wire.Optional(answer))
	}
	return answer, err
}

// NodeIP calls info.getNodeIP: the address and port that the node announces to its peers.
func (c *Client) NodeIP(ctx context.Context) (string, error) {
	return call(ctx, c, getNodeIP, "", nil)
}

// Version is the software of a node.
type Version struct {
	Lacking `json:"-"`

	Version            string            `json:"version"` // such as avalanchego/1.15.0
	DatabaseVersion    string            `json:"databaseVersion,omitzero"`
	RPCProtocolVersion *wire.Uint64      `json:"rpcProtocolVersion"` // of the protocol for VM plugins
	GitCommit          string            `json:"gitCommit,omitzero"`
	VMVersions         map[string]string `json:"vmVersions,omitzero"` // by VM name, or by VM ID for a VM without name; a VM that failed is missing
}

// NodeVersion calls info.getNodeVersion with scrape.Unlimited: the call decides whether the node is up, and measures its latency.
func (c *Client) NodeVersion(ctx context.Context) (Version, error) {
	answer, err := call(scrape.Unlimited(ctx), c, getNodeVersion, "", nil)
	if err == nil {
		answer.Lacking = c.compare(getNodeVersion.Method, "", wire.Optional(answer))
	}
	return answer, err
}

// Peers are the connected peers of a node, without the node itself, in random order.
type Peers struct {
	NumPeers wire.Uint64    `json:"numPeers"`
	Peers    distinct[Peer] `json:"peers"`
}

// Peer is one connected peer.
type Peer struct {
	NodeID         string            `json:"nodeID"`
	IP             string            `json:"ip"`       // of the connection; the port is ephemeral if the peer opened the connection
	PublicIP       string            `json:"publicIP"` // announced by the peer
	Version        string            `json:"version"`
	UpgradeTime    *wire.UnixTime    `json:"upgradeTime"` // of the newest upgrade that the peer knows
	LastSent       wire.PastTime     `json:"lastSent"`
	LastReceived   wire.PastTime     `json:"lastReceived"`
	ObservedUptime *wire.Percent     `json:"observedUptime"` // of this node, as the peer observes it; 0 until the first ping after a reconnect
	TrackedSubnets []string          `json:"trackedSubnets,omitzero"`
	SupportedACPs  []uint32          `json:"supportedACPs,omitzero"`
	ObjectedACPs   []uint32          `json:"objectedACPs,omitzero"`
	Benched        wire.List[string] `json:"benched"` // aliases or IDs of chains on which this node benched the peer
}

func (p Peer) id() string { return p.NodeID }

// PeersOf calls info.peers for these node IDs: it returns those of them that are connected. Without node IDs it returns all peers.
func (c *Client) PeersOf(ctx context.Context, ids ...string) (Peers, error) {
	var params any
	if len(ids) > 0 {
		params = map[string]any{"nodeIDs": ids}
	}
	answer, err := call(ctx, c, getPeers, "", params)
	if err == nil && int(answer.NumPeers) != len(answer.Peers) { // such as a list that is null
		err = &scrape.Error{Op: getPeers.Name, Outcome: scrape.Malformed,
			Err: fmt.Errorf("numPeers is %d, but the answer lists %d peers", answer.NumPeers, len(answer.Peers))}
	}
	return answer, err
}

// Peers calls info.peers.
func (c *Client) Peers(ctx context.Context) (Peers, error) {
	answer, err := c.PeersOf(ctx)
	if err == nil && len(answer.Peers) > 0 {
		err = c.compare(getPeers.Method, "", map[string]bool{
			"trackedSubnets": slices.ContainsFunc(answer.Peers, func(p Peer) bool { return p.TrackedSubnets != nil }),
			"upgradeTime":    slices.ContainsFunc(answer.Peers, func(p Peer) bool { return p.UpgradeTime != nil }),
		}).Incomplete()
	}
	return answer, err
}

// Uptime is the uptime of this node as the connected validators of the primary network observe it.
type Uptime struct {
	RewardingStakePercentage  wire.Percent `json:"rewardingStakePercentage"`  // share of the stake that observes an uptime above the requirement
	WeightedAveragePercentage wire.Percent `json:"weightedAveragePercentage"` // average of the observed uptimes, weighted by stake
}

// Uptime calls info.uptime for the primary network, because a node ignores the parameter subnetID. A node that does not
// validate, or does not validate yet, returns an error: see IsNotValidator, IsStartTimeNotFound and IsStillBootstrapping. For
// half a minute after a node's start, the values are too low. At first they include only the node's own stake.
func (c *Client) Uptime(ctx context.Context) (Uptime, error) {
	return call(ctx, c, getUptime, "", nil)
}

// IsNotValidator reports whether the node has no uptime because it does not validate the primary network.
func IsNotValidator(err error) bool { return refused(err, "node is not a validator") }

// IsStartTimeNotFound reports whether the node has no uptime because it runs without sybil protection.
func IsStartTimeNotFound(err error) bool { return refused(err, "start time not found") }

// IsStillBootstrapping reports whether the node cannot answer yet because the node or the chain is bootstrapping.
func IsStillBootstrapping(err error) bool {
	return scrape.OutcomeOf(err) == scrape.Bootstrapping || refused(err, "still bootstrapping")
}

// Upgrades is the upgrade schedule of a node's release.
type Upgrades struct {
	Times map[string]time.Time // by upgrade, such as helicon for heliconTime; releases add upgrades
}

// Scheduled returns Times without the upgrades that have no date. A node reports the year 9999 for these.
func (u Upgrades) Scheduled() map[string]time.Time {
	scheduled := make(map[string]time.Time, len(u.Times))
	for name, at := range u.Times {
		if at.Year() < 9999 {
			scheduled[name] = at
		}
	}
	return scheduled
}

// UnmarshalJSONFrom stores every member whose name ends in Time as an upgrade.
func (u *Upgrades) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	u.Times = make(map[string]time.Time)
	err := wire.Members(d, func(name string) error {
		upgrade, dated := strings.CutSuffix(name, "Time")
		if !dated {
			return d.SkipValue()
		}
		var at wire.Time
		err := wire.Decode(d, &at)
		u.Times[upgrade] = at.Time
		return err
	})
	if err == nil && len(u.Times) == 0 {
		err = errors.New("the upgrades have no times")
	}
	return err
}

// Upgrades calls info.upgrades.
func (c *Client) Upgrades(ctx context.Context) (Upgrades, error) {
	answer, err := call(ctx, c, getUpgrades, "", nil)
	if err == nil {
		_, has := answer.Times["helicon"]
		err = c.compare(getUpgrades.Method, "", map[string]bool{"heliconTime": has}).Incomplete()
	}
	return answer, err
}
