package simnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var infoService = service{"info", map[string]method{
	"acps":            on((*view).infoACPs),
	"getBlockchainID": on((*view).infoBlockchainID),
	"getNetworkID":    on((*view).infoNetworkID),
	"getNetworkName":  on((*view).infoNetworkName),
	"getNodeID":       on((*view).infoNodeID),
	"getNodeIP":       on((*view).infoNodeIP),
	"getNodeVersion":  on((*view).infoNodeVersion),
	"getTxFee":        on((*view).infoTxFee),
	"getVMs":          on((*view).infoVMs),
	"isBootstrapped":  on((*view).infoIsBootstrapped),
	"peers":           on((*view).infoPeers),
	"upgrades":        on((*view).infoUpgrades),
	"uptime":          on((*view).infoUptime),
}}

// networkID is the ID of a network unless SetNetworkID changes it.
const networkID = 1337

func (v *view) infoNetworkID(noParams) (any, error) {
	return struct {
		NetworkID string `json:"networkID"`
	}{strconv.Itoa(v.net.id)}, nil
}

func (v *view) infoNetworkName(noParams) (any, error) {
	return struct {
		NetworkName string `json:"networkName"`
	}{fmt.Sprintf("network-%d", v.net.id)}, nil
}

// possession is a BLS key with its proof of possession.
type possession struct {
	PublicKey         string `json:"publicKey"`
	ProofOfPossession string `json:"proofOfPossession"`
}

func (v *view) infoNodeID(noParams) (any, error) {
	return struct {
		NodeID  string     `json:"nodeID"`
		NodePOP possession `json:"nodePOP"`
	}{v.me.id, possession{v.me.publicKey, v.me.possession}}, nil
}

func (v *view) infoNodeIP(noParams) (any, error) {
	return struct {
		IP string `json:"ip"`
	}{v.me.ip}, nil
}

func (v *view) infoNodeVersion(noParams) (any, error) {
	version, protocol := "avalanchego/"+v.me.version, "46"
	if v.me.version >= "1.15.2" {
		protocol = "47"
	}
	vms := map[string]string{"avm": version, "evm": "v" + v.me.version, "platform": version}
	for _, c := range v.chains {
		if c.isL1() && v.runs(c) { // a plugin is loaded when a chain has started it
			vms[c.vm] = "v" + v.me.version
		}
	}
	for vm, version := range v.node.vmVersions {
		if _, loaded := vms[vm]; loaded {
			vms[vm] = version
		}
	}
	return struct {
		Version         string            `json:"version"`
		DatabaseVersion string            `json:"databaseVersion"`
		RPCProtocol     string            `json:"rpcProtocolVersion"`
		GitCommit       string            `json:"gitCommit"`
		VMVersions      map[string]string `json:"vmVersions"`
	}{version, "v1.4.5", protocol, v.hex(20, "commit", v.me.version)[2:], vms}, nil
}

func (v *view) infoTxFee(noParams) (any, error) {
	return struct {
		TxFee                         string `json:"txFee"`
		CreateAssetTxFee              string `json:"createAssetTxFee"`
		CreateSubnetTxFee             string `json:"createSubnetTxFee"`
		TransformSubnetTxFee          string `json:"transformSubnetTxFee"`
		CreateBlockchainTxFee         string `json:"createBlockchainTxFee"`
		AddPrimaryNetworkValidatorFee string `json:"addPrimaryNetworkValidatorFee"`
		AddPrimaryNetworkDelegatorFee string `json:"addPrimaryNetworkDelegatorFee"`
		AddSubnetValidatorFee         string `json:"addSubnetValidatorFee"`
		AddSubnetDelegatorFee         string `json:"addSubnetDelegatorFee"`
	}{xTxFee, xTxFee, "100000000", "100000000", "100000000", "0", "0", "1000000", "1000000"}, nil
}

func (v *view) infoVMs(noParams) (any, error) {
	return struct {
		VMs map[string][]string `json:"vms"`
		Fxs map[string]string   `json:"fxs"`
	}{
		map[string][]string{assetVM: {"avm"}, cChainVM: {"evm"}, platformVM: {"platform"}, subnetEVM: {}},
		map[string]string{
			"qd2U4HDWUvMrVUeTcCHp6xH3Qpnn1XbU5MDdnBoiifFqvgXwT": "nftfx",
			"rXJsCSEYXg2TehWxCEEGj6JU2PWKTkd6cBdNLjoe2SpsKD9cy": "propertyfx",
			secpFx: "secp256k1fx",
		},
	}, nil
}

// aliased returns the chain that a node knows by an alias or, if it runs it, by its ID; or nil.
func (v *view) aliased(alias string) *chain {
	if c, ok := v.node.aliases[alias]; ok {
		return c
	}
	c := v.chain(alias)
	if c == nil || !slices.Contains(c.aliases, alias) && (c.id != alias || !v.runs(c)) {
		return nil
	}
	return c
}

func (v *view) infoBlockchainID(p struct{ Alias string }) (any, error) {
	c := v.aliased(p.Alias)
	if c == nil {
		return nil, fmt.Errorf("there is no ID with alias: %s", p.Alias)
	}
	return struct {
		BlockchainID string `json:"blockchainID"`
	}{c.id}, nil
}

func (v *view) infoIsBootstrapped(p struct{ Chain string }) (any, error) {
	if p.Chain == "" {
		return nil, errors.New("argument 'chain' not given")
	}
	c := v.aliased(p.Chain)
	if c == nil || !v.runs(c) && (v.chainState(c) != leftOut || p.Chain == c.id) {
		return nil, fmt.Errorf("there is no chain with alias/ID '%s'", p.Chain)
	}
	return struct {
		IsBootstrapped bool `json:"isBootstrapped"`
	}{v.chainState(c) == Running}, nil
}

type infoPeer struct {
	IP             string    `json:"ip"`
	PublicIP       string    `json:"publicIP"`
	NodeID         string    `json:"nodeID"`
	Version        string    `json:"version"`
	UpgradeTime    int64     `json:"upgradeTime"`
	LastSent       time.Time `json:"lastSent"`
	LastReceived   time.Time `json:"lastReceived"`
	ObservedUptime string    `json:"observedUptime"`
	TrackedSubnets []string  `json:"trackedSubnets"`
	SupportedACPs  []uint32  `json:"supportedACPs"`
	ObjectedACPs   []uint32  `json:"objectedACPs"`
	Benched        []string  `json:"benched"`
}

func (v *view) infoPeers(p struct{ NodeIDs []nodeIDParam }) (any, error) {
	peers := []infoPeer{}
	for _, m := range v.peers() {
		if len(p.NodeIDs) > 0 && !slices.Contains(p.NodeIDs, nodeIDParam(m.id)) {
			continue
		}
		second := v.now.Truncate(time.Second)
		peer := infoPeer{
			IP:             m.ip,
			PublicIP:       m.ip,
			NodeID:         m.id,
			Version:        "avalanchego/" + m.version,
			UpgradeTime:    m.upgradeTime.Unix(),
			LastSent:       second,
			LastReceived:   second,
			ObservedUptime: strconv.Itoa(v.toldBy(m)),
			TrackedSubnets: []string{primaryNetworkID},
			SupportedACPs:  append([]uint32{}, m.supports...),
			ObjectedACPs:   append([]uint32{}, m.objects...),
			Benched:        append([]string{}, v.node.benched[m]...),
		}
		if m.inbound {
			host, _, _ := strings.Cut(m.ip, ":")
			peer.IP = fmt.Sprintf("%s:%d", host, 32768+int(20000*v.chance("port", v.me.id, m.id)))
		}
		if m.silent.covers(v.now) {
			peer.LastReceived = m.silent[len(m.silent)-1].from.Truncate(time.Second)
		}
		for _, s := range m.subnets {
			if m.tracks(s) {
				peer.TrackedSubnets = append(peer.TrackedSubnets, s.id)
			}
		}
		peers = append(peers, peer)
	}
	return struct {
		NumPeers string     `json:"numPeers"`
		Peers    []infoPeer `json:"peers"`
	}{strconv.Itoa(len(peers)), peers}, nil
}

// infoUptime weighs the uptimes that connected validators observe; the node itself counts with 100 %. It ignores a subnet ID.
func (v *view) infoUptime(noParams) (any, error) {
	mine := v.primary.staker(v.me)
	if mine == nil {
		return nil, errors.New("couldn't get node uptime: node is not a validator")
	}
	if v.chainState(v.pChain()) != Running {
		return nil, errors.New("couldn't get node uptime: error while fetching local validator start time still bootstrapping")
	}
	requirement := 80
	if !mine.start.Before(v.helicon) {
		requirement = 90
	}
	own := float64(mine.total())
	whole, rewarding, weighted := own, own, 100*own
	for _, s := range v.primary.stakers {
		if s.member == v.me {
			continue
		}
		w := float64(s.total())
		whole += w
		if !v.connected(s.member) {
			continue
		}
		told := v.toldBy(s.member)
		weighted += float64(told) * w
		if told >= requirement {
			rewarding += w
		}
	}
	return struct {
		Rewarding string `json:"rewardingStakePercentage"`
		Weighted  string `json:"weightedAveragePercentage"`
	}{fmt.Sprintf("%.4f", 100*rewarding/whole), fmt.Sprintf("%.4f", weighted/whole)}, nil
}

// currentACPs are the ACPs that a node of this version counts.
var currentACPs = []uint32{194, 224, 236, 247, 267, 273, 283, 285}

type acp struct {
	SupportWeight string   `json:"supportWeight"`
	Supporters    []string `json:"supporters"`
	ObjectWeight  string   `json:"objectWeight"`
	Objectors     []string `json:"objectors"`
	AbstainWeight string   `json:"abstainWeight"`
}

// infoACPs counts the connected validators. The node itself is not counted and so abstains.
func (v *view) infoACPs(noParams) (any, error) {
	acps := make(map[string]acp)
	for _, number := range currentACPs {
		a := acp{Supporters: []string{}, Objectors: []string{}}
		var support, object, whole uint64
		for _, s := range v.primary.stakers {
			w := s.total()
			whole += w
			switch m := s.member; {
			case !v.connected(m):
			case slices.Contains(m.supports, number):
				support += w
				a.Supporters = append(a.Supporters, m.id)
			case slices.Contains(m.objects, number):
				object += w
				a.Objectors = append(a.Objectors, m.id)
			}
		}
		slices.Sort(a.Supporters)
		slices.Sort(a.Objectors)
		a.SupportWeight, a.ObjectWeight, a.AbstainWeight = u64(support), u64(object), u64(whole-support-object)
		acps[strconv.Itoa(int(number))] = a
	}
	return struct {
		ACPs map[string]acp `json:"acps"`
	}{acps}, nil
}

// infoUpgrades returns the upgrades by activation time, and three fields that are not times.
func (v *view) infoUpgrades(noParams) (any, error) {
	var fields orderedFields
	for _, u := range v.upgrades {
		at := u.at
		if at.IsZero() {
			at = time.Date(9999, 12, 1, 0, 0, 0, 0, time.UTC)
		}
		fields.add(u.name+"Time", at)
		switch u.name {
		case "apricotPhase4":
			fields.add("apricotPhase4MinPChainHeight", 0)
		case "cortina":
			fields.add("cortinaXChainStopVertexID", primaryNetworkID)
		case "granite":
			fields.add("graniteEpochDuration", epochLength)
		}
	}
	return fields, nil
}

func u64(n uint64) string { return strconv.FormatUint(n, 10) }

// orderedFields is a JSON object that keeps the order of its fields.
type orderedFields []byte

func (o *orderedFields) add(name string, value any) {
	if len(*o) > 0 {
		*o = append(*o, ',')
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("simnet: field %s does not encode: %v", name, err))
	}
	*o = append(append(strconv.AppendQuote(*o, name), ':'), b...)
}

// MarshalJSON writes the object.
func (o orderedFields) MarshalJSON() ([]byte, error) {
	return append(append([]byte{'{'}, o...), '}'), nil
}
