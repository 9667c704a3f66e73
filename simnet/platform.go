package simnet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var platformService = service{"platform", map[string]method{
	"getBalance":           on((*view).platformBalance),
	"getBlock":             on((*view).platformBlock),
	"getBlockByHeight":     on((*view).platformBlockByHeight),
	"getBlockchainStatus":  on((*view).platformBlockchainStatus),
	"getBlockchains":       on((*view).platformBlockchains),
	"getCurrentSupply":     on((*view).platformCurrentSupply),
	"getCurrentValidators": on((*view).platformCurrentValidators),
	"getFeeState":          on((*view).platformFeeState),
	"getHeight":            on((*view).platformHeight),
	"getRewardUTXOs":       on((*view).platformRewardUTXOs),
	"getSubnet":            on((*view).platformSubnet),
	"getStakingAssetID":    on((*view).platformStakingAssetID),
	"getTimestamp":         on((*view).platformTimestamp),
	"getTx":                on((*view).platformTxByID),
	"getUTXOs":             on((*view).platformUTXOs),
	"getValidatorsAt":      on((*view).platformValidatorsAt),
	"getValidatorFeeState": on((*view).platformValidatorFeeState),
}}

type owner struct {
	Locktime  string   `json:"locktime"`
	Threshold string   `json:"threshold"`
	Addresses []string `json:"addresses"`
}

var theOwner = owner{"0", "1", []string{"P-" + Owner}}

// permissioned is a validator of a permissioned subnet; a validator of the primary network has more fields.
type permissioned struct {
	TxID      string `json:"txID"`
	StartTime string `json:"startTime"`
	EndTime   string `json:"endTime"`
	Weight    string `json:"weight"`
	NodeID    string `json:"nodeID"`
}

type primaryValidator struct {
	permissioned
	ValidationRewardOwner  owner                `json:"validationRewardOwner"`
	DelegationRewardOwner  owner                `json:"delegationRewardOwner"`
	PotentialReward        string               `json:"potentialReward"`
	AccruedDelegateeReward string               `json:"accruedDelegateeReward"`
	DelegationFee          string               `json:"delegationFee"`
	Uptime                 string               `json:"uptime"`
	Connected              bool                 `json:"connected"`
	Signer                 possession           `json:"signer"`
	ValidatorAuthority     *owner               `json:"validatorAuthority,omitempty"`
	NextPeriod             string               `json:"nextPeriod,omitempty"`
	AutoCompoundShares     string               `json:"autoCompoundRewardShares,omitempty"`
	RestakedValidation     string               `json:"restakedValidationRewards,omitempty"`
	RestakedDelegatee      string               `json:"restakedDelegateeRewards,omitempty"`
	DelegatorCount         string               `json:"delegatorCount"`
	DelegatorWeight        string               `json:"delegatorWeight"`
	Delegators             *[]platformDelegator `json:"delegators,omitempty"`
}

type platformDelegator struct {
	permissioned
	RewardOwner     owner  `json:"rewardOwner"`
	PotentialReward string `json:"potentialReward"`
}

type platformL1Validator struct {
	NodeID                string `json:"nodeID"`
	Weight                string `json:"weight"`
	StartTime             string `json:"startTime"`
	ValidationID          string `json:"validationID"`
	PublicKey             string `json:"publicKey"`
	RemainingBalanceOwner owner  `json:"remainingBalanceOwner"`
	DeactivationOwner     owner  `json:"deactivationOwner"`
	MinNonce              string `json:"minNonce"`
	Balance               string `json:"balance"`
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

func renderPermissioned(v *staker) permissioned {
	return permissioned{v.txID, unix(v.start), unix(v.end), u64(v.weight), v.member.id}
}

// renderPrimary renders a primary validator in this node's view; the node itself is always connected.
func (v *view) renderPrimary(s *staker, delegators bool) primaryValidator {
	p := primaryValidator{
		permissioned:           renderPermissioned(s),
		ValidationRewardOwner:  theOwner,
		DelegationRewardOwner:  theOwner,
		PotentialReward:        u64(s.reward),
		AccruedDelegateeReward: u64(s.accrued),
		DelegationFee:          fmt.Sprintf("%.4f", s.fee),
		Uptime:                 fmt.Sprintf("%.4f", 100*v.stakerUptime(s, v.me, v.now)),
		Connected:              s.member == v.me || v.connected(s.member) && len(v.node.benched[s.member]) == 0,
		Signer:                 possession{s.member.publicKey, s.member.possession},
		DelegatorCount:         strconv.Itoa(len(s.delegators)),
		DelegatorWeight:        u64(s.delegated()),
	}
	if s.renewal != nil {
		p.ValidatorAuthority = &theOwner
		p.NextPeriod = strconv.Itoa(int(s.renewal.period.Seconds()))
		p.AutoCompoundShares = u64(s.renewal.shares)
		if v.me.version > "1.15.0" {
			p.RestakedValidation, p.RestakedDelegatee = u64(s.restaked), "0"
		}
	}
	if delegators {
		list := []platformDelegator{}
		for _, d := range s.delegators {
			list = append(list, platformDelegator{
				permissioned{d.txID, unix(d.start), unix(d.end), u64(d.weight), s.member.id},
				owner{"0", "1", []string{"P-" + d.owner}},
				u64(d.reward),
			})
		}
		p.Delegators = &list
	}
	return p
}

// renderL1 has the balance at the node's newest block: it changes only when a block is accepted.
func (v *view) renderL1(l *l1Validator) platformL1Validator {
	return platformL1Validator{
		NodeID:                l.member.id,
		Weight:                u64(l.weight),
		StartTime:             unix(l.start),
		ValidationID:          l.validationID,
		PublicKey:             l.member.publicKey,
		RemainingBalanceOwner: theOwner,
		DeactivationOwner:     theOwner,
		MinNonce:              "0",
		Balance:               u64(l.balanceAt(v.head(v.pChain()).time, v.feePrice)),
	}
}

func (v *view) subnet(id idParam) *subnet {
	if id == "" {
		return v.primary
	}
	for _, s := range v.subnets {
		if s.id == string(id) {
			return s
		}
	}
	return nil
}

type platformSubnet struct {
	IsPermissioned   bool     `json:"isPermissioned"`
	ControlKeys      []string `json:"controlKeys"`
	Threshold        string   `json:"threshold"`
	Locktime         string   `json:"locktime"`
	TransformationTx string   `json:"subnetTransformationTxID"`
	ConversionID     string   `json:"conversionID"`
	ManagerChainID   string   `json:"managerChainID"`
	ManagerAddress   *string  `json:"managerAddress"`
}

func (v *view) platformSubnet(p struct{ SubnetID idParam }) (any, error) {
	s := v.subnet(p.SubnetID)
	switch {
	case s == v.primary:
		return nil, errors.New("the primary network isn't a subnet")
	case s == nil:
		return nil, fmt.Errorf("%q is not a subnet", p.SubnetID)
	}
	none := v.primary.id
	answer := platformSubnet{s.conversion == "", []string{}, strconv.Itoa(s.owner.threshold), "0", none, none, none, nil}
	for _, address := range s.owner.addresses {
		answer.ControlKeys = append(answer.ControlKeys, "P-"+address)
	}
	if s.conversion != "" {
		manager := strings.ToLower(s.manager)
		answer.ConversionID, answer.ManagerChainID, answer.ManagerAddress = s.conversion, s.managerChain.id, &manager
	}
	return answer, nil
}

type validatorList struct {
	Validators []any `json:"validators"`
}

// platformCurrentValidators returns an empty list for an unknown subnet. It lists delegators only if exactly one validator of
// the primary network was requested.
func (v *view) platformCurrentValidators(p struct {
	SubnetID idParam
	NodeIDs  []nodeIDParam
}) (any, error) {
	list := validatorList{[]any{}}
	s := v.subnet(p.SubnetID)
	if s == nil {
		return list, nil
	}
	asked := func(m *member) bool {
		return len(p.NodeIDs) == 0 || slices.Contains(p.NodeIDs, nodeIDParam(m.id))
	}
	for _, st := range s.stakers {
		switch {
		case !asked(st.member):
		case s == v.primary:
			list.Validators = append(list.Validators, v.renderPrimary(st, len(p.NodeIDs) == 1))
		default:
			list.Validators = append(list.Validators, renderPermissioned(st))
		}
	}
	shuffle(v.net.rng, list.Validators)
	legacy := len(list.Validators) // permissioned validators come before L1 validators
	for _, l := range s.l1 {
		if asked(l.member) {
			list.Validators = append(list.Validators, v.renderL1(l))
		}
	}
	shuffle(v.net.rng, list.Validators[legacy:])
	return list, nil
}

type heightResult struct {
	Height string `json:"height"`
}

func (v *view) platformHeight(noParams) (any, error) {
	return heightResult{u64(v.head(v.pChain()).height)}, nil
}

func (v *view) platformTimestamp(noParams) (any, error) {
	return struct {
		Timestamp time.Time `json:"timestamp"`
	}{v.head(v.pChain()).time}, nil
}

func (v *view) platformValidatorFeeState(noParams) (any, error) {
	return struct {
		Excess    uint64    `json:"excess"`
		Price     uint64    `json:"price"`
		Timestamp time.Time `json:"timestamp"`
	}{0, v.feePrice, v.head(v.pChain()).time}, nil
}

// platformFeeState returns the state of a nearly unused chain.
func (v *view) platformFeeState(noParams) (any, error) {
	return struct {
		Capacity  uint64    `json:"capacity"`
		Excess    uint64    `json:"excess"`
		Price     uint64    `json:"price"`
		Timestamp time.Time `json:"timestamp"`
	}{991_701, 8_299, 1, v.head(v.pChain()).time}, nil
}

type platformBlockchain struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	SubnetID string `json:"subnetID"`
	VMID     string `json:"vmID"`
}

func (v *view) platformBlockchains(noParams) (any, error) {
	list := []platformBlockchain{}
	for _, c := range v.chains[1:] {
		list = append(list, platformBlockchain{c.id, c.name, c.subnet.id, c.vm})
	}
	shuffle(v.net.rng, list)
	return struct {
		Blockchains []platformBlockchain `json:"blockchains"`
	}{list}, nil
}

func (v *view) platformBlockchainStatus(p struct{ BlockchainID string }) (any, error) {
	if p.BlockchainID == "" {
		return nil, errors.New("argument 'blockchainID' not given")
	}
	c := v.aliased(p.BlockchainID)
	if c == nil {
		if _, err := parseCB58(p.BlockchainID, 32); err != nil {
			return nil, fmt.Errorf("problem parsing blockchainID %q: %w", p.BlockchainID, err)
		}
		c = v.chain(p.BlockchainID)
	}
	status := "Unknown"
	switch {
	case c == nil:
	case v.chainState(c) == leftOut && p.BlockchainID != c.id:
		status = "Syncing"
	case !v.runs(c):
		status = "Created"
	case c != v.pChain() && c.subnet.validatedBy(v.me):
		status = "Validating"
	default:
		status = "Syncing"
	}
	return struct {
		Status string `json:"status"`
	}{status}, nil
}

// platformRewardUTXOs lists the rewards under the transaction that staked. Those of an auto-renewed validator, whose transaction stays
// the same, are under the transaction that paid.
func (v *view) platformRewardUTXOs(p struct {
	TxID     idParam
	Encoding string
}) (any, error) {
	list := []string{}
	for _, w := range v.ledger.rewards {
		tx := w.tx
		if w.renewed {
			tx = v.paidBy(w)
		}
		if tx == string(p.TxID) && !w.end.After(v.head(v.pChain()).time) {
			list = append(list, utxo{tx: tx, index: w.output(), asset: v.avaxAsset(), amount: w.amount}.hex())
		}
	}
	return struct {
		NumFetched string   `json:"numFetched"`
		UTXOs      []string `json:"utxos"`
		Encoding   string   `json:"encoding"`
	}{strconv.Itoa(len(list)), list, "hex"}, nil
}

func (v *view) platformCurrentSupply(p struct{ SubnetID idParam }) (any, error) {
	if v.subnet(p.SubnetID) != v.primary {
		return nil, errors.New("fetching current supply failed: not found")
	}
	return struct {
		Supply string `json:"supply"`
		Height string `json:"height"`
	}{u64(361_177_296 * avax), u64(v.head(v.pChain()).height)}, nil
}
